"""What every store promises: events in order and without holes.

A run's row changed only with them, the first answer wins.
"""

from collections.abc import Awaitable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from agents.model import Usage
from crew.journal.state import Status
from crew.journal.watch import Watch


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
    """One stored event: its number in the run, what clients are told (JSON).

    What the runtime goes on from (JSON).
    """

    seq: int
    public: str
    event: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a request with a key of its own has begun.

    So that the same request again begins nothing.
    """

    key: str
    # of what was asked
    fingerprint: str
    run_id: str
    # the number of the event before the stretch that it began
    before: int


# of a run that nobody has taken over since its start
FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Write:
    """Events to add to a run, and its row where that changes; all of it or nothing."""

    run_id: str
    records: Sequence[Record]
    row: RunRow | None = None
    # the status that the run must have; who changes it from that becomes the one who writes the run
    expected: Status | None = None
    # its key must be new
    receipt: Receipt | None = None
    # since when the writer writes the run; None for the first write of a stretch, which has the row
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A run that this process writes from now on; `epoch` goes with its writes."""

    row: RunRow
    epoch: int


class RunStore(Protocol):
    """Keeps runs. All methods raise StoreError when the store fails.

    What was not written then is not there.
    """

    # several processes play its runs, and a queue says which run is whose
    shared: bool

    @property
    def failing(self) -> str | None:
        """Why the newest write failed; None if it did not."""
        ...

    def append(self, write: Write) -> Awaitable[int]:
        """Write something in one transaction.

        What was asked for is done even if nobody waits for it.

        Returns:
            The epoch that later writes of the stretch need; 0, with nothing written, when the
            status is not the expected one, or
            when there is a receipt of the same key already.

        Raises:
            LostRun: the write's epoch is over, since another process has taken the run.
        """
        ...

    async def take(self, run_id: str, epoch: int | None = None) -> Taken | None:
        """Become the one who writes a run that is `running`.

        Those who wrote it before can no longer.

        Args:
            run_id: the run.
            epoch: take it only from that one; None takes it from anybody.
        """
        ...

    async def ask_to_cancel(self, run_id: str) -> None:
        """Ask whichever process has the run to end it."""
        ...

    async def to_cancel(self, limit: int = 500) -> list[RunRow]:
        """Runs that somebody has asked to end, and that have not ended; newest first."""
        ...

    async def receipt(self, key: str) -> Receipt | None:
        """What a key stands for."""
        ...

    async def row(self, run_id: str) -> RunRow | None:
        """A run's row."""
        ...

    async def rows(
        self, status: Status | None = None, limit: int = 50, after: str | None = None
    ) -> list[RunRow]:
        """Rows, newest first (run ids begin with their time).

        `after` is the run_id of the last one seen.
        """
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

    async def sweep(
        self, events_before: str, most_events: int, runs_before: str, limit: int = 200
    ) -> int:
        """Forget some of what nobody will ask for.

        Gives how many runs it touched, 0 when nothing is left to do.

        Args:
            events_before: runs that ended before this time lose their events.
            most_events: ended runs keep no more than their newest so many.
            runs_before: runs that ended before this time are forgotten wholly, with their receipts.
            limit: of runs in one go.
        """
        ...

    def claim(self, *, serves: bool) -> bool:
        """Say that this process has runs, until it ends, however it ends.

        Args:
            serves: this process wants to take up what is `running` in the store.

        Returns:
            For one that serves, whether it may, since no other process has runs.

        Raises:
            StoreError: another process serves, and the store is for one.
        """
        ...

    def alone(self) -> bool:
        """Whether no other process has runs in it now.

        So that a run which nobody here has is nobody's.
        """
        ...

    def watching(self, run_id: str) -> AbstractContextManager[Watch]:
        """Hear of what others write; it may be late or be lost.

        So look by yourself from time to time.
        """
        ...

    def pass_on(self, run_id: str, public: str) -> None:
        """Let those who watch the run in other processes have what is not kept.

        If they can be reached.
        """
        ...

    async def attend(self, place: str, run_ids: Sequence[str], seconds: float) -> None:
        """Say that a process has listeners of some runs, for so long.

        For those that share the store.
        """
        ...

    async def attended(self, run_id: str, place: str) -> bool:
        """Whether another process than that of `place` has listeners of a run."""
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
