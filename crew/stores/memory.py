"""A store that ends with its process."""

from collections.abc import Sequence

from crew.errors import StoreError
from crew.state import Status
from crew.stores.contract import Receipt, Record, RunRow


class MemoryStore:
    """Keeps runs in dictionaries."""

    def __init__(self) -> None:
        self.failing: str | None = None
        self._rows: dict[str, RunRow] = {}
        self._records: dict[str, list[Record]] = {}
        self._revisions: dict[str, str] = {}
        self._receipts: dict[str, Receipt] = {}
        # how many of a run's first events are gone
        self._swept: dict[str, int] = {}

    async def append(
        self,
        run_id: str,
        records: Sequence[Record],
        row: RunRow | None = None,
        expected: Status | None = None,
        receipt: Receipt | None = None,
    ) -> bool:
        """See RunStore."""
        known = self._rows.get(run_id)
        if expected is not None and (known is None or known.status != expected):
            return False
        if receipt is not None and receipt.key in self._receipts:
            return False
        kept = self._records.setdefault(run_id, [])
        newest = self._swept.get(run_id, 0) + len(kept)
        if any(record.seq != number for number, record in enumerate(records, newest + 1)):
            raise StoreError(f"run {run_id}: event {records[0].seq} does not follow {newest}")
        kept.extend(records)
        if row is not None:
            self._rows[run_id] = row
        if receipt is not None:
            self._receipts[receipt.key] = receipt
        return True

    async def receipt(self, key: str) -> Receipt | None:
        """See RunStore."""
        return self._receipts.get(key)

    async def row(self, run_id: str) -> RunRow | None:
        """See RunStore."""
        return self._rows.get(run_id)

    async def rows(self, status: Status | None = None, limit: int = 50, after: str | None = None) -> list[RunRow]:
        """See RunStore."""
        newest_first = (self._rows[run_id] for run_id in sorted(self._rows, reverse=True) if after is None or run_id < after)
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
        due = [(row.paused_until, row) for row in self._rows.values() if row.paused_until is not None and row.paused_until <= now]
        return [row for _, row in sorted(due, key=lambda pair: pair[0])[:limit]]

    async def sweep(self, events_before: str, most_events: int, runs_before: str, limit: int = 200) -> int:
        """See RunStore."""
        touched = 0
        for run_id, row in [(run_id, row) for run_id, row in self._rows.items() if row.ended_at is not None]:
            assert row.ended_at is not None, "selected for it"
            kept = self._records[run_id]
            if row.ended_at < runs_before:
                del self._rows[run_id], self._records[run_id]
                self._swept.pop(run_id, None)
                self._receipts = {key: receipt for key, receipt in self._receipts.items() if receipt.run_id != run_id}
            elif gone := len(kept) if row.ended_at < events_before else max(0, len(kept) - most_events):
                del kept[:gone]
                self._swept[run_id] = self._swept.get(run_id, 0) + gone
            else:
                continue
            touched += 1
            if touched == limit:
                break
        return touched

    def alone(self) -> bool:
        """See RunStore."""
        return True

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
