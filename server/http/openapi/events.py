"""The shapes of the events that streams send, by their types."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from crew.journal.events import DoneReason, ErrorReason
from crew.journal.query import Decision
from server.http.openapi.answers import ResultAnswer, Time, UsageAnswer
from tools.approval import Remember
from tools.calls import CallStatus


class Metadata(TypedDict):
    """Of every stored event."""

    run_id: str
    seq: int
    agent_id: str | None


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


class AgentStartMetadata(Metadata):
    """An agent is about to speak."""

    round: int
    model: str
    group: str | None


class CallDocument(TypedDict):
    """A tool call."""

    call_id: str
    tool: str
    arguments: dict[str, Any]


class AskedCall(CallDocument):
    """A call that a person decides on."""

    agent_id: str
    effect: str
    # method and URL, or argv, filled in
    where: str
    # the kind of the tool's entry
    source: str
    schema: dict[str, Any]
    hash: str
    may: list[str]
    remember: list[Remember]


class FormDocument(TypedDict):
    """What a tool asks a person."""

    call_id: str
    message: str
    # of what is filled in, as the arguments of an approval
    schema: dict[str, Any]
    # a page on which the person does it instead
    url: NotRequired[str]


class ResponseMetadata(Metadata):
    """An agent has spoken."""

    round: int
    duration_seconds: float
    usage: UsageAnswer
    model: str
    tool_calls: list[CallDocument]
    group: str | None
    # which has answered
    provider: NotRequired[str]
    # a typed answer, checked
    output: NotRequired[dict[str, Any]]
    # what is wrong with one
    invalid: NotRequired[list[str]]
    # its texts that no vocabulary has
    output_unknown: NotRequired[list[str]]


class ToolStartMetadata(Metadata):
    """A tool is called."""

    tool: str
    call_id: str
    arguments: dict[str, Any]
    timeout_seconds: float
    group: str | None
    # who has approved it, and whether with other arguments
    approved_by: NotRequired[str]
    edited: NotRequired[bool]
    # by which grant, where nobody was asked
    grant: NotRequired[str]


class ToolResultMetadata(Metadata):
    """A call has its result."""

    tool: str
    call_id: str
    status: CallStatus
    attempts: int
    duration_seconds: float
    output: str
    group: str | None
    # whether anything went out
    sent: NotRequired[bool]
    exit_code: NotRequired[int]
    http_status: NotRequired[int]
    # a part of the output is left out
    truncated: NotRequired[bool]
    # by a limit or a breaker, before it was made
    refused: NotRequired[bool]
    # its turn has made the same call too often
    repeated: NotRequired[bool]
    # why nothing may be sent there
    denied: NotRequired[str]
    # the names of the tools that tool_search has found
    found: NotRequired[str]


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


class PauseMetadata(Metadata):
    """The run waits for a person."""

    paused_agent_id: str
    question: NotRequired[str]
    calls: NotRequired[list[AskedCall]]
    # where a tool asks before it goes on
    form: NotRequired[FormDocument]
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


class DoneMetadata(Metadata):
    """The segment has ended."""

    reason: DoneReason
    answer: str
    rounds: int
    handoffs: int
    usage: UsageAnswer
    duration_seconds: float
    # of it, in seconds: context, models, tools, other
    stages: dict[str, float]
    conversation_id: NotRequired[str]
    exchange: NotRequired[int]


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
    snapshot: ResultAnswer


class DeltaMetadata(TypedDict):
    """A piece of an answer; not stored."""

    run_id: str
    agent_id: str
    group: str | None


class ToolProgressMetadata(TypedDict):
    """How far a call is; not stored."""

    run_id: str
    agent_id: str
    tool: str
    call_id: str
    progress: float
    total: float | None
    message: str
    group: str | None


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
    "agent_response": ResponseMetadata,
    "tool_start": ToolStartMetadata,
    "tool_progress": ToolProgressMetadata,
    "tool_result": ToolResultMetadata,
    "handoff": HandoffMetadata,
    "parallel_start": GroupMetadata,
    "parallel_end": GroupMetadata,
    "pause": PauseMetadata,
    "answered": AnsweredMetadata,
    "context": ContextMetadata,
    "compacted": CompactedMetadata,
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
