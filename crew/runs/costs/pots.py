"""The pots of a crew's budgets: how full they are, and whether a run may begin."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents.agent import Agent
from agents.costs.usage import NANOS
from crew.budgets.estimates import Estimate
from crew.budgets.periods import period_of
from crew.budgets.room import full_pots, share_of, with_limits
from crew.budgets.rules import PEOPLE_SCOPES, Budget, Payer, Pot, Reserve
from crew.crew import Crew
from crew.engine.spending.next_calls import NextCall, know_lengths, least_of_call
from crew.engine.spending.warnings import notify_full
from crew.journal.errors import StoreError
from crew.journal.query import IdempotencyKey
from crew.journal.records.rows import RunRow
from crew.journal.records.spent.budgets import PotKey, PotState, Share
from crew.journal.store import RunStore
from crew.runs.errors import BudgetSpent, key_taken

# of one budget that are shown
MAX_POTS = 1000


@dataclass(frozen=True, slots=True)
class ShownPot:
    """A pot of a budget, in its present period."""

    pot: Pot
    state: PotState
    # how far the period is, from 0 to 1; None: it has no end
    passed: float | None

    @property
    def used(self) -> float:
        """The largest part of its limits that is used, from 0 on."""
        return _closed(self.pot).used_thousandths(self.state) / 1000

    def document(self) -> dict[str, Any]:
        """Return it as programs get it."""
        state, budget = self.state, self.pot.budget
        limits = budget.limits
        more_usd = state.more_nanos / NANOS
        limit = {
            "usd": None if limits.nanos is None else limits.nanos / NANOS + more_usd,
            "tokens": None if limits.tokens is None else limits.tokens + state.more_tokens,
            "calls": limits.calls,
        }
        return {
            "budget": budget.name,
            "scope": budget.scope,
            "per": budget.per,
            "pot": state.key.value,
            "period": state.key.period or None,
            "resets_at": self.pot.resets_at or None,
            "used": _amounts(state.nanos, state.tokens, state.calls),
            "reserved": _amounts(state.held_nanos, state.held_tokens, state.held_calls),
            "limit": limit,
            "ratio": round(self.used, 6),
            "forecast": self._forecast(),
            "then": budget.then if budget.then != "model" else {"model": budget.model},
            "source": budget.source,
        }

    def _forecast(self) -> dict[str, float] | None:
        """Return what is used at the end of the period, if it goes on so; None: none is known."""
        if not self.passed:
            return None
        state, part = self.state, self.passed
        return {
            "usd": round(state.nanos / NANOS / part, 9),
            "tokens": round(state.tokens / part),
            "calls": round(state.calls / part),
        }


def _amounts(nanos: int, tokens: int, calls: int) -> dict[str, float]:
    return {"usd": nanos / NANOS, "tokens": tokens, "calls": calls}


def _closed(pot: Pot) -> Share:
    return with_limits(pot, Share(pot.key, pot.resets_at, 0, 0))


async def present_pots(store: RunStore, crew: Crew, value: str | None = None) -> list[ShownPot]:
    """Return the pots of the present periods, the fullest first; raises StoreError.

    A budget of the crew has one even where nothing was used.

    Args:
        store: has them.
        crew: has the budgets.
        value: only pots of this one: a user, a token, an agent; None: of each budget the fullest.
    """
    now, found = store.now(), []
    states = None
    if value is not None:
        states = await store.budgets.pots([one.name for one in crew.budgets], value)
    for budget in crew.budgets:
        start, end = period_of(budget.per, now, crew.zone)
        empty = Pot(budget, PotKey(budget.name, "", start), end)
        if states is None:
            of = await store.budgets.fullest(_closed(empty), MAX_POTS)
        else:
            key = budget.name, start
            of = [one for one in states if (one.key.budget, one.key.period) == key]
        # agents with limits of their own have budgets of the same name
        is_own = budget.scope == "agent" and budget.agents
        known = [one for one in of if not is_own or one.key.value in budget.agents]
        if not known and budget.scope == "crew":
            known = [PotState(empty.key, end)]
        passed = _passed(start, end, now)
        found += [ShownPot(Pot(budget, one.key, end), one, passed) for one in known]
    return sorted(found, key=lambda one: (-one.used, one.state.key))


def _passed(start: str, end: str, now: datetime) -> float | None:
    if not end:
        return None
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    return (now - first) / (last - first)


async def show_pots(store: RunStore, crew: Crew, row: RunRow) -> None:
    """Give the pots of a run's person their names again: who was erased may come again.

    What they have used before is used. Raises StoreError.
    """
    if of_people := [one.name for one in crew.budgets if one.scope in PEOPLE_SCOPES]:
        await store.budgets.show(Payer.of(row).of_people, of_people)


async def admit_run(
    store: RunStore, crew: Crew, row: RunRow, call: NextCall | None, key: IdempotencyKey | None
) -> None:
    """Let a run begin, or go on, if budgets have room for it; see `require_room`."""
    await show_pots(store, crew, row)
    await require_room(store, crew, row, call, key)


async def require_room(
    store: RunStore, crew: Crew, row: RunRow, call: NextCall | None, key: IdempotencyKey | None
) -> None:
    """Refuse a run that would fail at once: a budget that blocks has no room for its next call.

    Args:
        store: has the pots.
        crew: has the budgets.
        row: of the run.
        call: the next one; None: nothing is refused.
        key: of the request; one that has started a run is not refused as another one.

    Raises:
        BudgetSpent: that is so.
        AlreadyStarted: the request has started a run before.
        KeyReused: another request has the key.
        StoreError: the store failed.
    """
    if call is None:
        return
    agent = crew.agents[call.agent_id].with_model(call.model)
    if agent.kept is not None:
        # the answer may be there already, and costs nothing then
        return
    known: dict[Reserve, Estimate] = {}
    for budget in crew.present_budgets:
        pot = _pot_of_next_call(budget, Payer.of(row), agent.id, store.now(), crew)
        state = await store.budgets.pot(pot.key) if pot is not None else None
        if pot is None or state is None:
            continue
        if budget.reserve not in known:
            known[budget.reserve] = await _least(store, crew, budget, agent, call.text)
        full = full_pots([pot], [share_of(pot, known[budget.reserve])], [state])
        if not full or full[0].is_held:
            continue
        if key is not None and (record := await store.idempotency_record(key.key)):
            raise key_taken(key, record)
        crew.recipe.budget_refusals[budget.name, budget.then] += 1
        with contextlib.suppress(StoreError):
            await notify_full(store, crew, row, full[0], is_begun=False)
        raise BudgetSpent(full[0].text, pot.resets_at)


async def _least(store: RunStore, crew: Crew, budget: Budget, agent: Agent, text: str) -> Estimate:
    lengths = crew.recipe.answer_lengths
    if budget.reserve != "worst":
        for endpoint in agent.model.endpoints:
            await know_lengths(store, lengths, (agent.id, *endpoint))
    return least_of_call(agent, text, budget, lengths)


def _pot_of_next_call(
    budget: Budget, payer: Payer, agent_id: str, now: datetime, crew: Crew
) -> Pot | None:
    """Return the pot that a run's next call is paid from; None: it is empty, or not known."""
    if budget.then != "block" or budget.scope == "run" or budget.models or budget.is_lenient:
        # an agent's own limits of a day end runs, as they always did
        return None
    value = payer.value(budget.scope, agent_id)
    if value is None or not budget.counts(agent_id, ""):
        return None
    start, end = period_of(budget.per, now, crew.zone)
    return Pot(budget, PotKey(budget.name, value, start), end)


async def fullest_ratios(store: RunStore, crew: Crew) -> Mapping[str, tuple[float, float]]:
    """Return by budget how full its fullest pot is, and the USD that are reserved in all.

    Raises:
        StoreError: the store failed.
    """
    if not crew.budgets:
        return {}
    # in a new period nothing is used, until there is a pot
    ratios = {one.name: 0.0 for one in crew.budgets}
    for pot in await present_pots(store, crew):
        name = pot.pot.budget.name
        ratios[name] = max(ratios[name], pot.used)
    periods = [period_of(one.per, store.now(), crew.zone)[0] for one in crew.budgets]
    held = await store.budgets.held(list(ratios), periods)
    return {name: (ratio, held.get(name, 0) / NANOS) for name, ratio in ratios.items()}
