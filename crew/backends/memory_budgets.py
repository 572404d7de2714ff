"""The pots of budgets, of a store that ends with its process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crew.backends.memory_costs import MemoryCosts
from crew.backends.memory_logs import MemoryOutbox
from crew.journal.records.rows import IdempotencyRecord, Notice, RunRow
from crew.journal.records.spent.budgets import (
    HIDDEN,
    NO_ROOM,
    PotKey,
    PotState,
    Reservation,
    Reserved,
    Share,
    hidden_value,
)
from crew.journal.records.spent.costs import CALL, CallRow


class MemoryBudgets:
    """See BudgetLog."""

    def __init__(
        self, costs: MemoryCosts, outbox: MemoryOutbox, rows: Mapping[str, RunRow]
    ) -> None:
        """Of a store.

        Args:
            costs: of the store; it has each call that is new.
            outbox: of the store.
            rows: of its runs, by their ids.
        """
        self._costs, self._outbox, self._rows = costs, outbox, rows
        # keys of what was added once
        self._added: set[str] = set()
        self._pots: dict[PotKey, PotState] = {}
        self._warned: dict[PotKey, int] = {}
        self._held: dict[str, Reservation] = {}
        costs.on_new = self._settle

    async def reserve(self, wanted: Reservation) -> Reserved:
        """See BudgetLog."""
        pots = [
            self._pots.setdefault(one.key, PotState(one.key, one.resets_at))
            for one in wanted.shares
        ]
        if not all(one.fits(pot) for one, pot in zip(wanted.shares, pots, strict=True)):
            return Reserved(False, pots)
        for one, pot in zip(wanted.shares, pots, strict=True):
            self._pots[one.key] = replace(
                pot,
                held_nanos=pot.held_nanos + one.nanos,
                held_tokens=pot.held_tokens + one.tokens,
                held_calls=pot.held_calls + 1,
            )
        self._held[wanted.id] = wanted
        return Reserved(True, pots)

    def _settle(self, call: CallRow) -> None:
        wanted = self._held.pop(call.id, None)
        for one in wanted.shares if wanted is not None else ():
            # of a user who was erased meanwhile there is none
            if (pot := self._pots.get(one.key)) is None:
                continue
            self._pots[one.key] = replace(
                pot,
                nanos=pot.nanos + (call.nanos or 0),
                tokens=pot.tokens + call.input + call.output,
                calls=pot.calls + 1,
                held_nanos=pot.held_nanos - one.nanos,
                held_tokens=pot.held_tokens - one.tokens,
                held_calls=pot.held_calls - 1,
            )

    async def pots(self, budgets: Sequence[str], value: str | None = None) -> list[PotState]:
        """See BudgetLog."""
        return [
            pot
            for key, pot in sorted(self._pots.items())
            if key.budget in budgets and value in (None, key.value)
        ]

    async def fullest(self, like: Share, limit: int) -> list[PotState]:
        """See BudgetLog."""
        found = [
            pot
            for key, pot in sorted(self._pots.items())
            if (key.budget, key.period) == (like.key.budget, like.key.period)
            and not self._has_ended(key.value)
        ]
        return sorted(found, key=lambda one: -like.used_thousandths(one))[:limit]

    async def held(self, budgets: Sequence[str], periods: Sequence[str]) -> dict[str, int]:
        """See BudgetLog."""
        found: dict[str, int] = {}
        for key, pot in self._pots.items():
            if pot.held_calls and key.budget in budgets and key.period in periods:
                found[key.budget] = found.get(key.budget, 0) + pot.held_nanos
        return found

    def _has_ended(self, run_id: str) -> bool:
        row = self._rows.get(run_id)
        return row is not None and row.status not in ("running", "paused")

    def forget_run(self, run_id: str) -> None:
        """Drop the pots of a run that is deleted."""
        for key in [one for one in self._pots if one.value == run_id]:
            del self._pots[key]

    async def pot(self, key: PotKey) -> PotState | None:
        """See BudgetLog."""
        return self._pots.get(key)

    async def add(
        self,
        key: PotKey,
        resets_at: str,
        nanos: int,
        tokens: int,
        once: IdempotencyRecord | None = None,
    ) -> None:
        """See BudgetLog."""
        if once is not None:
            if once.key in self._added:
                return
            self._added.add(once.key)
        pot = self._pots.get(key, PotState(key, resets_at))
        more_nanos, more_tokens = pot.more_nanos + nanos, pot.more_tokens + tokens
        self._pots[key] = replace(pot, more_nanos=more_nanos, more_tokens=more_tokens)

    async def warn(self, key: PotKey, thousandths: int, notices: Sequence[Notice] = ()) -> bool:
        """See BudgetLog."""
        known = self._warned.get(key, 0)
        if thousandths < NO_ROOM:
            is_news, after = known % NO_ROOM < thousandths, known - known % NO_ROOM + thousandths
        else:
            is_news, after = known < NO_ROOM, known + NO_ROOM
        if key not in self._pots or not is_news:
            return False
        self._warned[key] = after
        self._outbox.insert(notices)
        return True

    async def settle_lost(self, run_id: str) -> int:
        """See BudgetLog."""
        return self._lose([one for one in self._held.values() if one.run_id == run_id])

    async def expire(self, now: str, limit: int = 100) -> int:
        """See BudgetLog."""
        return self._lose([one for one in self._held.values() if one.until < now][:limit])

    def _lose(self, found: Sequence[Reservation]) -> int:
        self._costs.add([CALL.validate_json(one.call) for one in found])
        return len(found)

    async def hide(self, value: str, but: Sequence[str], *, begins: bool = False) -> None:
        """See BudgetLog."""
        for key, pot in [*self._pots.items()]:
            is_meant = key.value.startswith(value) if begins else key.value == value
            is_other = key.budget in but or key.value.startswith(HIDDEN)
            if is_meant and not is_other and not pot.held_calls:
                self._rename(key, hidden_value(key.value))

    async def show(self, values: Sequence[str], budgets: Sequence[str]) -> None:
        """See BudgetLog."""
        names = {hidden_value(value): value for value in values}
        for key in [*self._pots]:
            if key.value in names and key.budget in budgets:
                self._rename(key, names[key.value])

    def _rename(self, key: PotKey, value: str) -> None:
        made, pot = key._replace(value=value), self._pots.pop(key)
        known = self._pots.get(made, PotState(made, pot.resets_at))
        self._pots[made] = replace(
            known,
            nanos=known.nanos + pot.nanos,
            tokens=known.tokens + pot.tokens,
            calls=known.calls + pot.calls,
            more_nanos=known.more_nanos + pot.more_nanos,
            more_tokens=known.more_tokens + pot.more_tokens,
        )
        warned = self._warned.pop(key, 0)
        self._warned[made] = max(warned, self._warned.get(made, 0))

    async def purge(self, before: str) -> None:
        """See BudgetLog."""
        old = [key for key, pot in self._pots.items() if "" < pot.resets_at < before]
        for key in old:
            if not self._pots[key].held_calls:
                del self._pots[key]
