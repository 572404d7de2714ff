"""The shapes of answers about stored runs: search, comparison, export, audit."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from crew.journal.events import RunStatus
from crew.journal.records.audit import AuditAction
from server.http.openapi.answers import RunAnswer, Time
from server.http.openapi.costs import CostAnswer, UsageAnswer


class HitAnswer(TypedDict):
    """A place where words were found."""

    run_id: str
    query: str
    status: RunStatus
    # of the event; null: in the question of the run, or in its answer
    seq: int | None
    kind: Literal["question", "answer", "agent", "call", "output", "person", "error"]
    # the agent, the tool, the person
    who: str
    at: Time
    # around the place, and where in it the words are
    text: str
    start: int
    end: int


class SearchAnswer(TypedDict):
    """Places, of the newest runs first."""

    hits: list[HitAnswer]
    # where to go on; null: all was looked at
    next: str | None
    # when the run was started that was looked at last
    reached: Time | None


class ComparedRun(TypedDict):
    """One of two runs."""

    run_id: str
    query: str
    status: RunStatus
    reason: str | None
    answer: str | None
    started_at: Time
    revision: str
    usage: UsageAnswer
    cost: CostAnswer
    duration_seconds: float


class ApartAnswer(TypedDict):
    """How much more the second run has taken."""

    tokens: int
    cost_usd: float
    duration_seconds: float


class StepAnswer(TypedDict):
    """Something that happened in a run."""

    seq: int
    at: Time
    what: str
    text: str
    # `file:line`
    source: str | None


class StepPair(TypedDict):
    """A step of both runs, or of one."""

    a: StepAnswer | None
    b: StepAnswer | None
    # the same was done, whatever was said
    same: bool
    # of the texts
    diff: NotRequired[str]


class ComparisonAnswer(TypedDict):
    """Two runs, step by step."""

    runs: list[ComparedRun]
    apart: ApartAnswer
    same_revision: bool
    # the number of the first step that differs, from 1
    first: int | None
    steps: list[StepPair]


class ChannelAnswer(TypedDict):
    """A channel of `notify`, and what came of its notices."""

    name: str
    kind: str
    on: list[str]
    sent: int
    sent_at: Time | None
    given_up: int
    given_up_at: Time | None
    # of the newest try that failed, and why
    failed_at: Time | None
    error: str | None
    # not sent yet, and when the oldest of them was made
    waiting: int
    waiting_since: Time | None


class ChannelsAnswer(TypedDict):
    """The channels of the crew."""

    channels: list[ChannelAnswer]


class TestAnswer(TypedDict):
    """Whether a test message was sent; else why not."""

    sent: bool
    error: str | None


class AuditEntryAnswer(TypedDict):
    """One act, or one that was refused."""

    at: Time
    action: AuditAction
    name: str
    address: str
    run_id: str | None
    request_id: str
    detail: str
    user_id: str


class AuditAnswer(TypedDict):
    """Who did what, newest first."""

    entries: list[AuditEntryAnswer]


class ExportedRun(TypedDict):
    """A run with all that is kept of it."""

    run: RunAnswer
    revision: str
    events: list[dict[str, Any]]
    # what people have said and decided, and who
    decisions: list[dict[str, Any]]
    audit: list[dict[str, Any]]


class DeletedAnswer(TypedDict):
    """Runs that matched, and that were deleted."""

    count: int
    deleted: int


class CancelledAnswer(TypedDict):
    """Runs that matched, and that were cancelled."""

    count: int
    cancelled: int


ScheduleAnswer = dict[str, Any]


class SchedulesAnswer(TypedDict):
    """Schedules: their keys of crew.yaml, when each is due next, and what it has started."""

    schedules: list[ScheduleAnswer]


class HooksAnswer(TypedDict):
    """Hooks: their keys of crew.yaml, the path of each, and what it has started."""

    hooks: list[dict[str, Any]]
