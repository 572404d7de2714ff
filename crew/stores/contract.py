"""What every store promises: events in order and without holes, a run's row changed only with them, the first answer wins."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agents.model import Usage
from crew.state import Status


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists and answers show it. Times are RFC 3339, UTC."""

    run_id: str
    crew: str
    status: Status
    query: str
    started_at: str
    request_id: str
    reason: str | None = None
    answer: str | None = None
    agent_id: str | None = None
    paused_agent_id: str | None = None
    rounds: int = 0
    handoffs: int = 0
    usage: Usage = field(default_factory=Usage)
    duration_seconds: float = 0.0
    ended_at: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One stored event: its number in the run, what clients are told (JSON), what the runtime goes on from (JSON)."""

    seq: int
    public: str
    event: str


class RunStore(Protocol):
    """Keeps runs. All methods raise StoreError when the store fails; what was not written then is not there."""

    def append(
        self, run_id: str, records: Sequence[Record], row: RunRow | None = None, expected: Status | None = None
    ) -> Awaitable[bool]:
        """Add events, and set the run's row, in one transaction; what was asked for is done even if nobody waits for it.

        Gives False, with nothing written, when `expected` is given and is not the run's status.
        """
        ...

    async def row(self, run_id: str) -> RunRow | None:
        """A run's row."""
        ...

    async def rows(self, status: Status | None = None, limit: int = 50, after: str | None = None) -> list[RunRow]:
        """Rows, newest first (run ids begin with their time); `after` is the run_id of the last one seen."""
        ...

    async def count(self, status: Status) -> int:
        """How many runs have a status."""
        ...

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """Events with a number above `after`, in order."""
        ...

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        ...
