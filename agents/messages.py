"""What a conversation is made of; `history` decides who is shown it in which form."""

from dataclasses import dataclass, field
from typing import Any

from tools.calls import CallStatus, ToolCall


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the person."""

    content: str


@dataclass(frozen=True, slots=True)
class CrewMessage:
    """Words of the crew itself: the joined results of a group."""

    content: str


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A system message of the client; sent only with `allow_client_system`."""

    content: str


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """One answer of an agent, with the calls it makes."""

    agent_id: str
    # display name, by which the other agents know it
    name: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    # the calls came through the provider's own mechanism, not as text
    native: bool = True
    # what else the provider sent with the message and wants back unchanged
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's result as models are shown it: cut to the limits of its sequence."""

    call_id: str
    tool: str
    status: CallStatus
    output: str


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of one answer's calls, in the order of the calls."""

    agent_id: str
    results: tuple[ToolOutput, ...]
    native: bool = True


Message = UserMessage | CrewMessage | SystemMessage | AgentMessage | ToolMessage
