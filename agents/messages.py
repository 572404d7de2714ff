"""What a conversation is made of; who sees it in which form is the matter of `history`."""

from dataclasses import dataclass, field
from typing import Any

from tools.calls import Status, ToolCall


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the person, or of the crew itself (the joined results of a group)."""

    content: str


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A system message of the client; sent only where `allow_client_system` says so."""

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
    # what else the provider sent with the message and wants back, to the letter
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """A tool's result as the models are shown it: cut to the limits of its sequence."""

    call_id: str
    tool: str
    status: Status
    output: str


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of one answer's calls, in the order of the calls."""

    agent_id: str
    results: tuple[Shown, ...]
    native: bool = True


Message = UserMessage | SystemMessage | AgentMessage | ToolMessage
