"""A store that ends with its process."""

from collections.abc import Sequence

from crew.errors import StoreError
from crew.state import Status
from crew.stores.contract import Record, RunRow


class MemoryStore:
    """Keeps runs in dictionaries."""

    def __init__(self) -> None:
        self._rows: dict[str, RunRow] = {}
        self._records: dict[str, list[Record]] = {}

    async def append(
        self, run_id: str, records: Sequence[Record], row: RunRow | None = None, expected: Status | None = None
    ) -> bool:
        """See RunStore."""
        known = self._rows.get(run_id)
        if expected is not None and (known is None or known.status != expected):
            return False
        kept = self._records.setdefault(run_id, [])
        if any(record.seq != number for number, record in enumerate(records, len(kept) + 1)):
            raise StoreError(f"run {run_id}: event {records[0].seq} does not follow {len(kept)}")
        kept.extend(records)
        if row is not None:
            self._rows[run_id] = row
        return True

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
        return self._records.get(run_id, [])[after : after + limit]

    async def aclose(self) -> None:
        """Nothing to close."""
