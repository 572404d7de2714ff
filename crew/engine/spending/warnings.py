"""Warnings of the budgets of a run, and notices of them to channels."""

from collections.abc import Callable, Sequence

from agents.events import Warned
from crew.budgets.room import FullPot, full_pots, with_limits
from crew.budgets.rules import Pot
from crew.crew import Crew
from crew.journal.records.notices import budget_notices
from crew.journal.records.rows import Notice, RunRow
from crew.journal.records.spent.budgets import NO_ROOM, PotKey, PotState, Share
from crew.journal.store import RunStore
from tools.clock import rfc3339


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
        """Record parts of limits that are used, each once a pot; and pots that only warn.

        `is_over`: a call is made, for which such a pot may have no room.
        """
        for pot, share, state in zip(pots, shares, states, strict=True):
            closed = with_limits(pot, share)
            used = closed.used_thousandths(state)
            part = max((one for one in pot.budget.warn if used >= one), default=0)
            if part and self._is_news(pot, part):
                name, source = pot.budget.name, pot.budget.source
                of = f" of {pot.key.value}" if pot.key.value else ""
                text = f"budget {name}{of}: {used / 10:.0f} % of its limit is used ({source})"
                if await self._store.budgets.warn(pot.key, part, self._notices(pot, part, text)):
                    self.warn(agent_id, "budget", text, source)
            # what others have reserved would have been waited for
            if is_over and pot.budget.then == "warn" and not closed.fits(state, held=False):
                self._crew.recipe.budget_refusals[pot.budget.name, "warn"] += 1
                if self._is_news(pot, NO_ROOM):
                    text = full_pots([pot], [closed], [state])[0].text
                    self.warn(agent_id, "budget", text, pot.budget.source)
                    notices = self._notices(pot, NO_ROOM, text)
                    await self._store.budgets.warn(pot.key, NO_ROOM, notices)

    def _is_news(self, pot: Pot, part: int) -> bool:
        """Return whether this run has not said it; from now on it has."""
        is_news = (pot.key, part) not in self._told
        self._told.add((pot.key, part))
        return is_news

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
        notices = budget_notices(channels, row, key, NO_ROOM, at, full.text, is_begun=is_begun)
        await store.budgets.warn(key, NO_ROOM, notices)


def _channels(crew: Crew, pot: Pot) -> Sequence[str]:
    told = crew.config.told
    return [name for name in told if name in pot.budget.notify or "budget" in told[name]]
