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
    # of the configuration that the run was started with
    revision: str = ""
    reason: str | None = None
    answer: str | None = None
    agent_id: str | None = None
    paused_agent_id: str | None = None
    rounds: int = 0
    handoffs: int = 0
    usage: Usage = field(default_factory=Usage)
    duration_seconds: float = 0.0
    ended_at: str | None = None
    # when a pause is over even without an answer
    paused_until: str | None = None
    # the number of the newest event when it last ended or paused
    events: int = 0

    def going_on(self, request_id: str) -> "RunRow":
        """The row of the run's next stretch."""
        return RunRow(
            self.run_id,
            self.crew,
            "running",
            self.query,
            self.started_at,
            request_id,
            self.revision,
            usage=self.usage,
            duration_seconds=self.duration_seconds,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One stored event: its number in the run, what clients are told (JSON), what the runtime goes on from (JSON)."""

    seq: int
    public: str
    event: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a request with a key of its own has begun, so that the same request again begins nothing."""

    key: str
    # of what was asked
    fingerprint: str
    run_id: str
    # the number of the event before the stretch that it began
    before: int


class RunStore(Protocol):
    """Keeps runs. All methods raise StoreError when the store fails; what was not written then is not there."""

    # why the newest write failed; None if it did not
    failing: str | None

    def append(
        self,
        run_id: str,
        records: Sequence[Record],
        row: RunRow | None = None,
        expected: Status | None = None,
        receipt: Receipt | None = None,
    ) -> Awaitable[bool]:
        """Add events, and set the run's row, in one transaction; what was asked for is done even if nobody waits for it.

        Gives False, with nothing written, when `expected` is given and is not the run's status, or when there is a receipt
        of the same key already.
        """
        ...

    async def receipt(self, key: str) -> Receipt | None:
        """What a key stands for."""
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

    async def due(self, now: str, limit: int = 50) -> list[RunRow]:
        """Paused runs whose `paused_until` has passed, earliest first."""
        ...

    async def sweep(self, events_before: str, most_events: int, runs_before: str, limit: int = 200) -> int:
        """Forget some of what nobody will ask for; gives how many runs it touched, 0 when nothing is left to do.

        Args:
            events_before: runs that ended before this time lose their events.
            most_events: ended runs keep no more than their newest so many.
            runs_before: runs that ended before this time are forgotten wholly, with their receipts.
            limit: of runs in one go.
        """
        ...

    def alone(self) -> bool:
        """Whether no other process has runs in it now, so that a run which nobody here has is nobody's."""
        ...

    async def probe(self) -> None:
        """Write something that changes nothing, to see whether the store can be written."""
        ...

    async def keep_revision(self, revision: str, files: str) -> None:
        """Keep the files of a configuration, by its revision; once is enough."""
        ...

    async def revision(self, revision: str) -> str | None:
        """The files that were kept."""
        ...

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        ...
