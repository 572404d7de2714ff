"""Warnings of the budgets of a run, and notices of them to channels."""

from collections.abc import Callable, Sequence

from agents.events import Warned
from crew.budgets.room import FullPot, full_pots, with_limits
from crew.budgets.rules import Pot
from crew.crew import Crew
from crew.journal.records.notices import budget_notices
from crew.journal.records.rows import Notice, RunRow
from crew.journal.records.spent.budgets import PotKey, PotState, Share
from crew.journal.store import RunStore
from tools.clock import rfc3339

# of a pot, beside the parts of its limit: that it has none left
ALL_USED = 1001


class BudgetWarnings:
    """Warns of parts of limits that are used, each once a pot."""

    def __init__(
        self, crew: Crew, row: RunRow, store: RunStore, record: Callable[[Warned], None]
    ) -> None:
        """Of a run; `record`: records warnings."""
        self._crew, self._row, self._store, self._record = crew, row, store, record
        self._told: set[tuple[PotKey, int]] = set()

    def warn(
        self, agent_id: str, code: str, text: str, source: str | None = None, model: str = ""
    ) -> None:
        """Record a warning of an agent.

        Args:
            agent_id: of the agent.
            code: of the warning.
            text: in words.
            source: the budget, as `file:line`.
            model: that answers from now on.
        """
        name = self._crew.name_of(agent_id)
        self._record(Warned(code, text, agent_id, name, model=model, source=source))

    async def tell(
        self,
        agent_id: str,
        pots: Sequence[Pot],
        shares: Sequence[Share],
        states: Sequence[PotState],
        *,
        is_over: bool = True,
    ) -> None:
        """Tell of parts of limits that are used, each once a pot.

        `is_over`: a call is made for which an open pot has no room.
        """
        for pot, share, state in zip(pots, shares, states, strict=True):
            closed = with_limits(pot, share)
            used = closed.used_thousandths(state)
            passed = [one for one in pot.budget.warn if used >= one]
            is_refused = is_over and pot.budget.then == "warn" and not closed.fits(state)
            if is_refused:
                self._crew.recipe.budget_refusals[pot.budget.name, "warn"] += 1
            part = ALL_USED if is_refused else max(passed, default=0)
            if not part or (pot.key, part) in self._told:
                continue
            self._told.add((pot.key, part))
            if is_refused:
                text = full_pots([pot], [closed], [state])[0].text
            else:
                name, source = pot.budget.name, pot.budget.source
                of = f" of {pot.key.value}" if pot.key.value else ""
                text = f"budget {name}{of}: {used / 10:.0f} % of its limit is used ({source})"
            if await self._store.budgets.warn(pot.key, part, self._notices(pot, part, text)):
                self.warn(agent_id, "budget", text, pot.budget.source)

    def _notices(self, pot: Pot, part: int, text: str) -> Sequence[Notice]:
        """Return what channels are sent of it."""
        channels, at = _channels(self._crew, pot), rfc3339(self._store.now())
        return budget_notices(channels, self._row, pot.key, part, at, text)


async def notify_full(
    store: RunStore, crew: Crew, row: RunRow, full: FullPot, *, is_begun: bool = True
) -> None:
    """Send once that a pot has no room; raises StoreError.

    Args:
        store: has the pot.
        crew: has the channels.
        row: of the run that there is no room for.
        full: the pot.
        is_begun: that the run has begun; else it is refused.
    """
    key, at = full.pot.key, rfc3339(store.now())
    channels = _channels(crew, full.pot)
    if channels:
        notices = budget_notices(channels, row, key, ALL_USED, at, full.text, is_begun=is_begun)
        await store.budgets.warn(key, ALL_USED, notices)


def _channels(crew: Crew, pot: Pot) -> Sequence[str]:
    told = crew.config.told
    return [name for name in told if name in pot.budget.notify or "budget" in told[name]]
