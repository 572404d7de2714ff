"""What the events of calls have, and what all events have."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from tools.approval import Remember
from tools.calls import CallStatus


class Metadata(TypedDict):
    """Of every stored event."""

    run_id: str
    seq: int
    agent_id: str | None
    # of a plan
    task: NotRequired[str]
    # of an agent as a tool
    call: NotRequired[str]


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
    # the tools that gave text of others before, where it is asked about since then
    untrusted: NotRequired[list[str]]


class FormDocument(TypedDict):
    """What a tool asks a person."""

    call_id: str
    message: str
    # of what is filled in, as the arguments of an approval
    schema: dict[str, Any]
    # a page on which the person does it instead
    url: NotRequired[str]


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


class ShowDocument(TypedDict):
    """An output that a component shows to people."""

    component: str
    tool: str
    call_id: str
    # the output, as JSON
    data: Any


class ShowMetadata(ShowDocument, Metadata):
    """The output of a tool is shown to people."""

    group: str | None


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
    # an earlier result was used
    cached: NotRequired[bool]
    # its turn has made the same call too often
    repeated: NotRequired[bool]
    # why nothing may be sent there
    denied: NotRequired[str]
    # how much of the output models are shown, where its tool says so
    shown_chars: NotRequired[int]
    # the names of the tools that tool_search has found
    found: NotRequired[str]


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
    task: NotRequired[str]
    call: NotRequired[str]
