"""What stores are given and give back: rows of runs, events to write, and how a write ended."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agents.costs.usage import NO_USAGE, Usage
from crew.journal.events import CancelReason, RunStatus
from crew.journal.query import DEFAULT_PRIORITY, SourceKind
from crew.journal.records.audit import AuditEntry
from crew.journal.records.exchanges import ExchangeEnd, ExchangeStart, Refused
from crew.journal.records.spent.costs import CallRow

# of a run that was not claimed since its start
FIRST_EPOCH = 1
# of a run's changes, what others are told
NoticeKind = Literal[
    "pause", "failed", "done", "deadline", "missed", "budget", "changed", "storage"
]


# of one page of events, unless its first event alone is larger
MAX_PAGE_BYTES = 1 << 20
# events in one read
PAGE = 500


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as lists and results show it. Times are RFC 3339, UTC."""

    run_id: str
    crew: str
    status: RunStatus
    query: str
    started_at: str
    request_id: str
    # of the configuration that the run was started with
    revision: str = ""
    # the provider that replaces every agent's own, if one was given
    provider: str | None = None
    reason: str | None = None
    answer: str | None = None
    agent_id: str | None = None
    paused_agent_id: str | None = None
    rounds: int = 0
    handoffs: int = 0
    usage: Usage = NO_USAGE
    duration_seconds: float = 0.0
    ended_at: str | None = None
    # when a pause is over even without an answer
    paused_until: str | None = None
    # what a pause asks about calls, in short; "" where the agent's words are the question
    asks: str = ""
    # the number of the `pause` event, while the run is paused
    pause_seq: int | None = None
    # the number of the newest event when the run last ended or paused
    last_seq: int = 0
    # whose it is: owners take turns; "" for those without a name
    owner: str = ""
    # 0 to 9; higher ones go first
    priority: int = DEFAULT_PRIORITY
    # of its events, until it last ended or paused
    stored_bytes: int = 0
    # the person it is for; "" for none
    user_id: str = ""
    # the conversation that it is an exchange of, and its number there; "" and 0 for none
    conversation_id: str = ""
    exchange: int = 0
    # what has started it; "" in rows of earlier versions
    source: SourceKind | Literal[""] = ""
    # of the schedule or the hook; of a fork, the run that was copied
    source_name: str = ""
    # the tools that it has called until it last ended or paused; none in rows of earlier versions
    tools: tuple[str, ...] = ()
    # it was at work in a state of the store that is the present one again: when that was; it
    # pauses before it goes on. "": it was not
    held_at: str = ""

    def resumed(self, request_id: str, held_at: str = "") -> "RunRow":
        """Return the row of the run's next segment; `held_at`: see there."""
        return RunRow(
            self.run_id,
            self.crew,
            "running",
            self.query,
            self.started_at,
            request_id,
            self.revision,
            self.provider,
            usage=self.usage,
            duration_seconds=self.duration_seconds,
            owner=self.owner,
            priority=self.priority,
            stored_bytes=self.stored_bytes,
            user_id=self.user_id,
            conversation_id=self.conversation_id,
            exchange=self.exchange,
            source=self.source,
            source_name=self.source_name,
            tools=self.tools,
            held_at=held_at,
        )


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many runs are at work at the same time, in all processes; None: as many as there are."""

    # of all owners, and of each
    runs: int | None = None
    runs_per_owner: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One stored event: its number, its form for clients, and its form for resuming (both JSON)."""

    seq: int
    public: str
    event: str

    @property
    def size(self) -> int:
        """About how many bytes it is."""
        return len(self.public) + len(self.event)


class Page(list[Record]):
    """Some events of a run, in order."""

    def __init__(self, records: Iterable[Record] = (), *, is_last: bool) -> None:
        """`is_last`: the store had none behind them."""
        super().__init__(records)
        self.is_last = is_last


@dataclass(frozen=True, slots=True)
class Opened:
    """A run as it was found at one moment."""

    row: RunRow
    # its first events
    page: Page


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What a request with an idempotency key has started."""

    key: str
    # of what was asked
    fingerprint: str
    run_id: str
    # the number of the event before the segment that it started
    before: int


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to one channel of an event, a schedule or a budget. Times are RFC 3339, UTC."""

    # RUN_ID:SEQ:CHANNEL, schedule:NAME:TIME:CHANNEL or budget:NAME:POT:PERIOD:PART:CHANNEL; the
    # same each time it is sent
    id: str
    channel: str
    kind: NoticeKind | Literal["test"]
    at: str
    crew: str
    # "" where no run was started
    run_id: str
    # the number of the event
    seq: int
    # None where there is no run
    status: RunStatus | None
    reason: str | None
    agent_id: str | None
    query: str
    # the answer, what is asked, or why the run failed
    text: str
    # when a pause is over even without an answer
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Events to add to a run, and its row where that changes; all of it or nothing."""

    run_id: str
    records: Sequence[Record]
    row: RunRow | None = None
    # the status that the run must have; the one that changes it becomes the run's writer
    expected: RunStatus | None = None
    # its key must be new
    idempotency: IdempotencyRecord | None = None
    # since when the writer writes the run; None for the first write of a segment, with its row
    epoch: int | None = None
    # what others are told of it
    notices: Sequence[Notice] = ()
    # what it changes in the run's conversation
    exchange: ExchangeStart | ExchangeEnd | None = None
    # who began the segment
    entry: AuditEntry | None = None
    # requests to models that have ended
    calls: Sequence[CallRow] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """A write is stored; `epoch` goes with the segment's further writes."""

    epoch: int
    # the run waits for another one of its conversation
    waits: bool = False
    # the run of the same conversation that goes on now
    next_run: str | None = None


@dataclass(frozen=True, slots=True)
class StatusDiffers:
    """Nothing was written: the run has another status than expected (None: there is no run)."""

    status: RunStatus | None


@dataclass(frozen=True, slots=True)
class KeyTaken:
    """Nothing was written: the idempotency key has started something already."""

    record: IdempotencyRecord


AppendResult = Appended | StatusDiffers | KeyTaken | Refused


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding for the operator of a store."""

    level: Literal["ok", "note", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True)
class HeldWork:
    """How much of an old state does not act by itself."""

    # runs that were at work
    runs: int = 0
    # pauses that would have ended by their deadline
    pauses: int = 0
    # notices that were not sent yet
    notices: int = 0
    # schedules that had a time
    schedules: int = 0


@dataclass(frozen=True, slots=True)
class Newest:
    """Where a run is: its status, and the number of its newest event, deleted or not."""

    status: RunStatus
    seq: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this process writes from now on; `epoch` goes with its writes."""

    row: RunRow
    epoch: int
    # how often the run was claimed since its newest event, this time included
    claims: int


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A run that is to be ended, and with which reason."""

    row: RunRow
    reason: CancelReason


@dataclass(frozen=True, slots=True)
class PurgeAges:
    """What is old. Times are RFC 3339, UTC; runs that go on or are paused are never old."""

    # runs that ended before this time lose their events
    events_before: str
    # ended runs keep no more than their newest so many events
    max_events: int
    # runs that ended before this time are deleted, with their idempotency records
    runs_before: str
    # revisions are kept at least since this time, whether or not a run needs them
    revisions_before: str
    # by status: what has ended since this time keeps its events all the same
    kept_since: Mapping[str, str] = field(default_factory=dict)
    # and is no run that is deleted
    keeps_runs: bool = False

    @property
    def runs_kept_since(self) -> Mapping[str, str]:
        """By status: what has ended since this time is not deleted."""
        return self.kept_since if self.keeps_runs else {}


NOTHING_OLD = PurgeAges("", 10**12, "", "")


@dataclass(frozen=True, slots=True)
class StoredReach:
    """How much a store has, and how far back. Times are RFC 3339, UTC; None: it has none."""

    # of SQLite all that is in use; of PostgreSQL about what runs have stored
    bytes: int
    # when the oldest ended run has ended: of those that have events, and of all
    events_since: str | None = None
    runs_since: str | None = None
    # when the conversation that was not used for longest was used, and the oldest entry was made
    conversations_since: str | None = None
    audit_since: str | None = None
