"""A store that ends with its process."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from crew.errors import LostRun, StoreError
from crew.journal.state import Status
from crew.journal.store import FIRST_EPOCH, Receipt, Record, RunRow, Taken, Write
from crew.journal.watch import Watch


class MemoryStore:
    """Keeps runs in dictionaries."""

    shared = False
    failing: str | None = None

    def __init__(self) -> None:
        self._rows: dict[str, RunRow] = {}
        self._records: dict[str, list[Record]] = {}
        self._revisions: dict[str, str] = {}
        self._receipts: dict[str, Receipt] = {}
        self._epochs: dict[str, int] = {}
        self._to_cancel: set[str] = set()
        # how many of a run's first events are gone
        self._swept: dict[str, int] = {}

    async def append(self, write: Write) -> int:
        """See RunStore."""
        run_id, row = write.run_id, write.row
        known, epoch = self._rows.get(run_id), self._epochs.get(run_id, FIRST_EPOCH)
        if write.epoch is not None and write.epoch != epoch:
            raise LostRun
        if write.expected is not None and (known is None or known.status != write.expected):
            return 0
        if write.receipt is not None and write.receipt.key in self._receipts:
            return 0
        kept = self._records.setdefault(run_id, [])
        newest = self._swept.get(run_id, 0) + len(kept)
        if any(record.seq != number for number, record in enumerate(write.records, newest + 1)):
            raise StoreError(f"run {run_id}: event {write.records[0].seq} does not follow {newest}")
        kept.extend(write.records)
        self._epochs[run_id] = epoch + (write.expected is not None)
        if row is not None:
            self._rows[run_id] = row
        if write.receipt is not None:
            self._receipts[write.receipt.key] = write.receipt
        return self._epochs[run_id]

    async def take(self, run_id: str, epoch: int | None = None) -> Taken | None:
        """See RunStore."""
        row = self._rows.get(run_id)
        if row is None or row.status != "running" or epoch not in (None, self._epochs[run_id]):
            return None
        self._epochs[run_id] += 1
        return Taken(row, self._epochs[run_id])

    async def ask_to_cancel(self, run_id: str) -> None:
        """See RunStore."""
        self._to_cancel.add(run_id)

    async def to_cancel(self, limit: int = 500) -> list[RunRow]:
        """See RunStore."""
        rows = [
            row
            for run_id in sorted(self._to_cancel, reverse=True)
            if (row := self._rows.get(run_id)) is not None
        ]
        return [row for row in rows if row.ended_at is None][:limit]

    async def receipt(self, key: str) -> Receipt | None:
        """See RunStore."""
        return self._receipts.get(key)

    async def row(self, run_id: str) -> RunRow | None:
        """See RunStore."""
        return self._rows.get(run_id)

    async def rows(
        self, status: Status | None = None, limit: int = 50, after: str | None = None
    ) -> list[RunRow]:
        """See RunStore."""
        newest_first = (
            self._rows[run_id]
            for run_id in sorted(self._rows, reverse=True)
            if after is None or run_id < after
        )
        return [row for row in newest_first if status is None or row.status == status][:limit]

    async def count(self, status: Status) -> int:
        """See RunStore."""
        return sum(row.status == status for row in self._rows.values())

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunStore."""
        first = max(0, after - self._swept.get(run_id, 0))
        return self._records.get(run_id, [])[first : first + limit]

    async def due(self, now: str, limit: int = 50) -> list[RunRow]:
        """See RunStore."""
        due = [
            (row.paused_until, row)
            for row in self._rows.values()
            if row.paused_until is not None and row.paused_until <= now
        ]
        return [row for _, row in sorted(due, key=lambda pair: pair[0])[:limit]]

    async def sweep(
        self, events_before: str, most_events: int, runs_before: str, limit: int = 200
    ) -> int:
        """See RunStore."""
        touched = 0
        for run_id, row in [
            (run_id, row) for run_id, row in self._rows.items() if row.ended_at is not None
        ]:
            assert row.ended_at is not None, "selected for it"
            kept = self._records[run_id]
            if row.ended_at < runs_before:
                del self._rows[run_id], self._records[run_id]
                self._swept.pop(run_id, None)
                self._epochs.pop(run_id, None)
                self._to_cancel.discard(run_id)
                self._receipts = {
                    key: receipt
                    for key, receipt in self._receipts.items()
                    if receipt.run_id != run_id
                }
            elif (
                gone := len(kept)
                if row.ended_at < events_before
                else max(0, len(kept) - most_events)
            ):
                del kept[:gone]
                self._swept[run_id] = self._swept.get(run_id, 0) + gone
            else:
                continue
            touched += 1
            if touched == limit:
                break
        return touched

    def claim(self, *, serves: bool) -> bool:
        """See RunStore."""
        return True

    def alone(self) -> bool:
        """See RunStore."""
        return True

    def watching(self, run_id: str) -> AbstractContextManager[Watch]:
        """See RunStore."""
        return nullcontext(Watch())

    def pass_on(self, run_id: str, public: str) -> None:
        """See RunStore: to nobody."""

    async def attend(self, place: str, run_ids: Sequence[str], seconds: float) -> None:
        """See RunStore: to nobody."""

    async def attended(self, run_id: str, place: str) -> bool:
        """See RunStore."""
        return False

    async def probe(self) -> None:
        """See RunStore."""

    async def keep_revision(self, revision: str, files: str) -> None:
        """See RunStore."""
        self._revisions[revision] = files

    async def revision(self, revision: str) -> str | None:
        """See RunStore."""
        return self._revisions.get(revision)

    async def aclose(self) -> None:
        """Nothing to close."""
