"""The shapes of the events that streams send, by their types."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from crew.journal.events import DoneReason, ErrorReason
from crew.journal.planned.tasks import TaskStatus
from crew.journal.query import Decision
from server.http.openapi.answers import ResultAnswer, Time
from server.http.openapi.call_events import (
    AskedCall,
    CallDocument,
    FormDocument,
    Metadata,
    ShowDocument,
    ShowMetadata,
    ToolProgressMetadata,
    ToolResultMetadata,
    ToolStartMetadata,
)
from server.http.openapi.costs import CostAnswer, UsageAnswer
from server.http.openapi.documents import AttachmentAnswer
from server.http.openapi.memory_events import (
    MemoryMetadata,
    PassagesMetadata,
    SourceDocument,
    TaintedMetadata,
)
from tools.approval import Remember


class StartMetadata(Metadata):
    """A segment begins."""

    crew: str
    entry_agent: str
    request_id: str
    resumed: bool
    retried: NotRequired[bool]
    forked_from: NotRequired[str]
    expired: NotRequired[bool]
    conversation_id: NotRequired[str]
    exchange: NotRequired[int]
    attachments: NotRequired[list[AttachmentAnswer]]


class AgentStartMetadata(Metadata):
    """An agent is about to speak."""

    round: int
    model: str
    group: str | None


class ResponseMetadata(Metadata):
    """An agent has spoken."""

    round: int
    duration_seconds: float
    usage: UsageAnswer
    # where it is known, or not known, or estimated
    cost: NotRequired[CostAnswer]
    model: str
    tool_calls: list[CallDocument]
    group: str | None
    # which has answered
    provider: NotRequired[str]
    # an earlier answer to the same request was used
    cached: NotRequired[bool]
    # a typed answer, checked
    output: NotRequired[dict[str, Any]]
    # what is wrong with one
    invalid: NotRequired[list[str]]
    # its texts that no vocabulary has
    output_unknown: NotRequired[list[str]]
    # of a typed answer with `output_text`: what the agent says to others
    words: NotRequired[str]


class HandoffMetadata(TypedDict("HandoffMetadata", {"from": str})):
    """Another agent goes on."""

    run_id: str
    seq: int
    agent_id: str | None
    to: str
    why: str
    signal: str | None
    also_found: list[str]
    source: str | None
    # by output: the fields of the answer that decided
    matched: NotRequired[dict[str, Any]]


class GroupMetadata(Metadata):
    """A group begins or ends."""

    agents: list[str]
    failed: list[str]


class TaskDocument(TypedDict):
    """A task of a plan."""

    id: str
    agent: str
    ask: str
    needs: list[str]


class PlanMetadata(Metadata):
    """An agent has planned tasks, or further ones."""

    revision: int
    tasks: list[TaskDocument]


class TaskStartMetadata(Metadata):
    """Work on a task begins."""

    group: str


class TaskEndMetadata(Metadata):
    """A task has ended."""

    group: str
    status: TaskStatus


class PlanEndMetadata(Metadata):
    """A plan has ended; tasks of all its revisions."""

    revision: int
    done: list[str]
    failed: list[str]
    skipped: list[str]


class RestoredDocument(TypedDict):
    """The backup from which a run has come back."""

    taken_at: Time
    text: str


class PauseMetadata(Metadata):
    """The run waits for a person."""

    paused_agent_id: str
    question: NotRequired[str]
    calls: NotRequired[list[AskedCall]]
    # where a tool asks before it goes on
    form: NotRequired[FormDocument]
    # of a plan: how often words may still have it made anew
    words_left: NotRequired[int]
    # of a budget that has no room
    budget: NotRequired[dict[str, Any]]
    # of a run that was at work when the backup was taken that is the database now
    restored: NotRequired[RestoredDocument]
    answer_until: NotRequired[Time]


class DecisionDocument(TypedDict):
    """What a person decided on one call."""

    call_id: str
    decision: Decision
    agent_id: NotRequired[str]
    arguments: NotRequired[dict[str, Any]]
    reason: NotRequired[str]
    result: NotRequired[str]
    remember: NotRequired[Remember]
    patterns: NotRequired[dict[str, str]]


class AnsweredMetadata(Metadata):
    """A person has answered a pause."""

    pause_seq: int | None
    # the name of the token, or of who was signed in; "" where nobody has one
    by: str
    decision: NotRequired[Decision]
    decisions: NotRequired[list[DecisionDocument]]


class WarningMetadata(TypedDict("WarningMetadata", {"from": NotRequired[int]})):
    """Something went wrong, and the run goes on."""

    run_id: str
    seq: int
    agent_id: str | None
    code: str
    retryable: NotRequired[bool]
    group: NotRequired[str | None]
    until: NotRequired[Time]
    to: NotRequired[int]


class ErrorMetadata(Metadata):
    """The run has failed."""

    code: str
    retryable: bool
    reason: ErrorReason
    duration_seconds: float
    # of the whole run so far; not in events of earlier versions
    usage: NotRequired[UsageAnswer]
    cost: NotRequired[CostAnswer]


class DoneMetadata(Metadata):
    """The segment has ended."""

    reason: DoneReason
    answer: str
    rounds: int
    handoffs: int
    usage: UsageAnswer
    # not in events of earlier versions
    cost: NotRequired[CostAnswer]
    duration_seconds: float
    # of it, in seconds: context, models, tools, other
    stages: dict[str, float]
    conversation_id: NotRequired[str]
    exchange: NotRequired[int]
    # what was shown to people in the segment
    shows: NotRequired[list[ShowDocument]]
    # passages of documents that were shown in the run
    sources: NotRequired[list[SourceDocument]]


class ShownBlockDocument(TypedDict):
    """What of a block an agent is shown; no texts."""

    kind: str
    name: str | None
    ids: list[str]
    versions: list[int]
    # estimated
    tokens: int
    left_out: int
    load_millis: float


class ContextMetadata(Metadata):
    """What an agent is shown beside its prompt."""

    group: str | None
    task: NotRequired[str]
    call: NotRequired[str]
    window_tokens: int
    # of the request; estimated
    tokens: int
    blocks: list[ShownBlockDocument]


class CompactedMetadata(Metadata):
    """A helper has shortened the oldest messages of a run."""

    group: str | None
    # of the run's messages
    through: int
    tokens_before: int
    tokens_after: int


class GapMetadata(TypedDict("GapMetadata", {"from": int})):
    """Events that are no longer kept."""

    run_id: str
    seq: int
    agent_id: None
    to: int
    # of the run's newest event; not in those of earlier versions
    last: NotRequired[int]
    snapshot: ResultAnswer


class DeltaMetadata(TypedDict):
    """A piece of an answer; not stored."""

    run_id: str
    agent_id: str
    group: str | None
    # the first one of a request: what came before for the same answer is not part of it
    begins: NotRequired[Literal[True]]
    task: NotRequired[str]
    call: NotRequired[str]


class PingMetadata(TypedDict):
    """Keeps a silent stream open; not stored."""

    run_id: str


def _event(type_: str, metadata: Any) -> Any:
    name = "".join(part.title() for part in type_.split("_")) + "Event"
    fields = {
        "type": Literal[type_],
        "agent": str,
        "content": str,
        "timestamp": Time,
        "metadata": metadata,
    }
    return TypedDict(name, fields)  # type: ignore[operator] # mypy reads no names that are made


METADATA: dict[str, Any] = {
    "start": StartMetadata,
    "agent_start": AgentStartMetadata,
    "agent_delta": DeltaMetadata,
    "agent_thinking": DeltaMetadata,
    "agent_response": ResponseMetadata,
    "tool_start": ToolStartMetadata,
    "tool_progress": ToolProgressMetadata,
    "show": ShowMetadata,
    "tool_result": ToolResultMetadata,
    "handoff": HandoffMetadata,
    "parallel_start": GroupMetadata,
    "parallel_end": GroupMetadata,
    "plan": PlanMetadata,
    "task_start": TaskStartMetadata,
    "task_end": TaskEndMetadata,
    "plan_end": PlanEndMetadata,
    "pause": PauseMetadata,
    "answered": AnsweredMetadata,
    "context": ContextMetadata,
    "compacted": CompactedMetadata,
    "memory": MemoryMetadata,
    "tainted": TaintedMetadata,
    "passages": PassagesMetadata,
    "warning": WarningMetadata,
    "error": ErrorMetadata,
    "done": DoneMetadata,
    "gap": GapMetadata,
    "ping": PingMetadata,
}
EVENTS = tuple(_event(type_, metadata) for type_, metadata in METADATA.items())
_union: Any = EVENTS[0]
for _one in EVENTS[1:]:
    _union = _union | _one
# any of them, told apart by `type`
RunEventDocument = Annotated[_union, Field(discriminator="type")]
