"""Where the events of all runs of a process go, and how far a run's are written."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from crew.journal.events import Event, StoredEvent
from crew.journal.records.audit import AuditEntry
from crew.journal.records.exchanges import ExchangeEnd
from crew.journal.records.notices import MakeNotices, make_no_notices
from crew.journal.records.rows import Notice, Record, RunRow, Write
from crew.journal.records.spent.costs import CallRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from tools.clock import Clock, Timer
from tools.tracing import TraceContext

# run_id and request_id of the run that something is done for; log lines have them
current_run: ContextVar[tuple[str, str] | None] = ContextVar("current_run", default=None)


class Listener(Protocol):
    """Gets the events of every run, but for text as it is written; must not raise nor wait."""

    def __call__(self, run_id: str, event: Event) -> None:
        """Handle an event."""
        ...


# of a run, behind the event of a number; None comes in place of an event, and says nothing
ReadEvents = Callable[[str, int], AsyncGenerator[RunEvent | None, None]]


class Tracing(Protocol):
    """Records what runs do as traces; must not raise nor wait."""

    def segment(self, run_id: str, seq: int, traceparent: str) -> TraceContext:
        """Return the trace of the segment that begins with an event, before its first span."""
        ...

    def attach(self, read: ReadEvents) -> None:
        """Read what runs publish by this."""
        ...

    def follow(self, run_id: str, after: int, revision: str) -> None:
        """Record what a run does here behind an event, until it ends or pauses."""
        ...

    async def aclose(self) -> None:
        """Report what is recorded; no run is at work any more."""
        ...


Publish = Callable[[RunEvent], None]


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where the events of all runs of a process go."""

    store: RunStore
    clock: Clock
    listeners: tuple[Listener, ...] = ()
    # what others are told of an event that changes a run's row
    notices: MakeNotices = make_no_notices
    # None: runs are not traced
    tracing: Tracing | None = None


@dataclass(slots=True)
class Batch:
    """Events that are stored in one transaction, and the run's row where it changes with them."""

    records: list[Record] = field(default_factory=list)
    # the same events, to be published when they are stored
    events: list[tuple[RunEvent, StoredEvent]] = field(default_factory=list)
    row: RunRow | None = None
    notices: Sequence[Notice] = ()
    exchange: ExchangeEnd | None = None
    entry: AuditEntry | None = None
    calls: list[CallRow] = field(default_factory=list)

    def write(self, run_id: str, epoch: int | None) -> Write:
        """Return what the store is to write of it."""
        return Write(
            run_id,
            self.records,
            self.row,
            epoch=epoch,
            notices=self.notices,
            exchange=self.exchange,
            entry=self.entry,
            calls=self.calls,
        )


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing waits to be stored."""


@dataclass(frozen=True, slots=True)
class Lingering:
    """What is recorded is not awaited: more may come until the timer writes it."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Writing:
    """A write is under way, or due at the next turn of the event loop."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The store could not be written; a timer tries again."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Failed:
    """The store failed for good, or refused this writer; nothing more is written."""

    error: BaseException


WriterState = Idle | Lingering | Writing | Waiting | Failed
