"""Budgets, and which of their pots a call is paid from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from urllib.parse import quote
from zoneinfo import ZoneInfo

from crew.budgets.periods import Per, period_of
from crew.journal.records.rows import RunRow
from crew.journal.records.spent.budgets import PotKey

Scope = Literal["run", "conversation", "user", "token", "agent", "crew", "schedule", "hook"]
Act = Literal["block", "end", "pause", "model", "warn"]
# of several the strictest acts
STRICTEST: tuple[Act, ...] = ("block", "end", "pause", "model", "warn")
Reserve = Literal["likely", "worst"]
# the budget that a request has with its own bound
OF_REQUEST = "max_usd"
# the budgets that agents' own limits of a day are
COST_LIMITS = "cost_limits"


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """How much there is, of each kind; None: as much as you like."""

    nanos: int | None = None
    tokens: int | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """What calls may cost together: of one value of its scope, in one period."""

    name: str
    scope: Scope
    per: Per
    limits: BudgetLimits
    # where the files say it, as `file:line`
    source: str
    # that count; empty: all
    agents: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    # parts of the limit at which a run is warned, in thousandths, ascending
    warn: Sequence[int] = (800,)
    # channels that get these warnings, too
    notify: Sequence[str] = ()
    then: Act = "block"
    # of `then: model`: its name
    model: str = ""
    reserve: Reserve = "likely"
    wait_seconds: float = 30.0
    # a call is made as long as anything is left: the last one may go over
    is_lenient: bool = False

    def counts(self, agent_id: str, model: str) -> bool:
        """Return whether calls of an agent by a model are paid from it."""
        is_agent = not self.agents or agent_id in self.agents
        return is_agent and (not self.models or model in self.models)


class NewestLimits:
    """The limits of budgets as they are now, which runs of earlier revisions have as well."""

    def __init__(self) -> None:
        """Of no crew yet."""
        self._known: dict[tuple[object, ...], BudgetLimits] = {}

    def note(self, budgets: Sequence[Budget]) -> None:
        """Take the ones of a crew in place of all before."""
        self._known = {_named(one): one.limits for one in budgets}

    def of(self, budget: Budget) -> Budget:
        """Return a budget with its limits of now; as it is where it is there no more."""
        limits = self._known.get(_named(budget), budget.limits)
        return budget if limits == budget.limits else replace(budget, limits=limits)


def _named(budget: Budget) -> tuple[object, ...]:
    # agents with limits of their own have budgets of the same name; of another period, or other
    # calls, it is another budget
    return budget.name, budget.scope, budget.per, budget.agents, budget.models


# by the names of these pots a person is known
PEOPLE_SCOPES: tuple[Scope, ...] = ("user", "token", "conversation")


def conversations_of(user_id: str) -> str:
    """Return how the values of a user's conversations begin."""
    return f"{quote(user_id, safe='')}:"


@dataclass(frozen=True, slots=True)
class Payer:
    """For what a call is made: the values of the scopes."""

    run: str = ""
    conversation: str = ""
    user: str = ""
    token: str = ""
    schedule: str = ""
    hook: str = ""

    @classmethod
    def of(cls, row: RunRow) -> "Payer":
        """Return that of a run."""
        schedule = row.source_name if row.source == "schedule" else ""
        hook = row.source_name if row.source == "hook" else ""
        return cls(row.run_id, row.conversation_id, row.user_id, row.owner, schedule, hook)

    @property
    def of_people(self) -> list[str]:
        """The values of the scopes of a person, which an erasure hides."""
        found = [self.value(scope, "") for scope in PEOPLE_SCOPES]
        return [one for one in found if one]

    def value(self, scope: Scope, agent_id: str) -> str | None:
        """Return its value of a scope; None: it has none, and no pot."""
        if scope == "crew":
            return ""
        if scope == "agent":
            return agent_id
        if scope == "conversation" and self.conversation and self.user:
            # ids are chosen by clients: of two users each may have the same
            return conversations_of(self.user) + self.conversation
        return getattr(self, scope) or None


@dataclass(frozen=True, slots=True)
class Pot:
    """One pot of a budget."""

    budget: Budget
    key: PotKey
    # when it is empty again, as RFC 3339; "": never
    resets_at: str


def pots_of(
    budgets: Sequence[Budget],
    payer: Payer,
    agent_id: str,
    model: str,
    moment: datetime,
    zone: ZoneInfo,
) -> list[Pot]:
    """Return the pots of a call, in the order in which all lock them.

    Args:
        budgets: of the crew.
        payer: for what it is made.
        agent_id: who makes it.
        model: the name by which the files know the model.
        moment: when it begins.
        zone: of the crew.
    """
    found = _pots(budgets, payer, agent_id, model, moment, zone)
    return sorted(found, key=lambda one: one.key)


def _pots(
    budgets: Sequence[Budget],
    payer: Payer,
    agent_id: str,
    model: str,
    moment: datetime,
    zone: ZoneInfo,
) -> Iterator[Pot]:
    for one in budgets:
        value = payer.value(one.scope, agent_id)
        if value is None or not one.counts(agent_id, model):
            continue
        start, end = period_of(one.per, moment, zone)
        yield Pot(one, PotKey(one.name, value, start), end)
