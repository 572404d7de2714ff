"""A database that is lost after it has stored the first event, and before it says so."""

import asyncio
from pathlib import Path

import pytest

from crew import MemoryStore, Query, Runs
from crew.journal.errors import StoreUnavailable
from crew.journal.query import IdempotencyKey
from crew.journal.records.rows import AppendResult, Capacity, Write
from crew.runs.errors import MayHaveBegun
from tests.support.crews import crew_of


class LosingStore(MemoryStore):
    """Stores, and loses the connection; shared, so that this may happen."""

    shared = True

    async def append(self, write: Write) -> AppendResult:
        """See RunLog."""
        await super().append(write)
        raise StoreUnavailable("the connection was lost")


class NoWorker:
    """A queue that nobody works on."""

    async def __aenter__(self) -> "NoWorker":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def limit(self, capacity: Capacity) -> None:
        """Nothing is at work."""

    async def put(
        self, run_id: str, epoch: int, in_seconds: float = 0.0, *, again: bool = False
    ) -> None:
        """Keep nothing."""

    async def waiting(self, owner: str, most: int) -> int:
        """None."""
        return 0

    async def take_place(self, name: str, limit: int, holder: str, seconds: float) -> bool:
        """There is none."""
        return False

    async def keep_place(self, name: str, holder: str, seconds: float) -> None:
        """There is none."""

    async def leave_place(self, holder: str) -> None:
        """There is none."""

    async def is_played(self, run_id: str) -> bool:
        """By nobody."""
        return False

    async def counts(self) -> tuple[int, int]:
        """None."""
        return 0, 0


async def test_it_may_have_begun(tmp_path: Path):
    """The remedy is told; with a key the same again is safe, and says only that it failed."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "x"}])
    async with asyncio.timeout(10), Runs(crew, LosingStore(), queue=NoWorker()) as runs:
        with pytest.raises(MayHaveBegun, match="with an Idempotency-Key the same request begins"):
            await runs.start(Query("go"))
        with pytest.raises(StoreUnavailable):
            await runs.start(Query("go"), key=IdempotencyKey("k", "f"))
        assert len(await runs.store.rows()) == 2
