"""The events of an agent's turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agents.model import RequestEnded, Usage
from tools.calls import CallAsked, CallProgressed, CallRetried, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """An agent is about to speak: one model call follows."""

    agent_id: str
    agent: str
    # the group it speaks in, if any
    group: str | None
    # counts the model calls of the main loop; in a group, those of the member
    round: int
    model: str


@dataclass(frozen=True, slots=True)
class AgentDelta:
    """A piece of an answer as it is written; published, never stored."""

    agent_id: str
    agent: str
    group: str | None
    text: str


@dataclass(frozen=True, slots=True)
class AgentResponded:
    """An agent has spoken: the whole answer, and the calls it makes."""

    agent_id: str
    agent: str
    group: str | None
    round: int
    content: str
    duration_seconds: float
    usage: Usage
    model: str
    calls: tuple[ToolCall, ...] = ()
    native: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentFailed:
    """A model call has failed for good; published, never stored.

    The run's error, or a member's warning, is stored.
    """

    agent_id: str
    agent: str
    code: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool's handler is about to be called."""

    agent_id: str
    agent: str
    group: str | None
    call: ToolCall
    timeout_seconds: float
    once: bool
    # who has approved it; None: nobody was asked
    approved_by: str | None = None
    # that person has changed its arguments
    edited: bool = False
    # the id of the grant by which nobody was asked; "" where there is none
    grant: str = ""


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A call has its result."""

    agent_id: str
    agent: str
    group: str | None
    result: ToolResult


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """A tool asks a person before it goes on; neither stored nor published: a pause follows."""

    agent_id: str
    agent: str
    group: str | None
    asked: CallAsked


@dataclass(frozen=True, slots=True)
class ToolRetried:
    """A tool is called again after a failed attempt; published, never stored."""

    agent_id: str
    agent: str
    retried: CallRetried


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A tool tells how far it is; published, never stored."""

    agent_id: str
    agent: str
    group: str | None
    progressed: CallProgressed


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """One request to a provider has ended; published, never stored."""

    agent_id: str
    agent: str
    request: RequestEnded


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went wrong and the run goes on."""

    code: str
    message: str
    agent_id: str | None = None
    # "system" for the crew's own
    agent: str = "system"
    group: str | None = None
    retryable: bool = False


AgentEvent = (
    AgentStarted
    | AgentDelta
    | AgentResponded
    | AgentFailed
    | ToolStarted
    | ToolReturned
    | ToolAsked
    | ToolRetried
    | ToolProgressed
    | ModelCalled
    | Warned
)
EmitAgentEvent = Callable[[AgentEvent], Awaitable[None]]
