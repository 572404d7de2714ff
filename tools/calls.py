"""The nouns of a tool call: what is asked for, its result, and the events on the way."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

CallStatus = Literal["success", "error", "timeout", "denied"]

MAX_OUTPUT_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asked for."""

    id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # why the arguments could not be read, if they could not; the call's result says it
    argument_error: str | None = None
    # what else the provider sent with the call and wants back unchanged
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call; every call has exactly one."""

    call_id: str
    tool: str
    status: CallStatus
    # at most MAX_OUTPUT_BYTES of it
    output: str
    # handler calls that were started; 0 when none was
    attempts: int
    duration_seconds: float
    # characters of the whole output
    output_chars: int

    @classmethod
    def of(
        cls,
        call: "ToolCall",
        status: CallStatus,
        output: str,
        attempts: int = 0,
        duration_seconds: float = 0.0,
    ) -> "ToolResult":
        """The result of a call, with at most MAX_OUTPUT_BYTES of its output."""
        # a lone surrogate (of an undecodable file name, say) has no UTF-8 form and could be
        # neither stored nor sent
        output = output.encode("utf-8", "replace").decode("utf-8")
        kept = output
        if len(output) * 4 > MAX_OUTPUT_BYTES:
            kept = output.encode()[:MAX_OUTPUT_BYTES].decode(errors="ignore")
        return cls(call.id, call.tool, status, kept, attempts, duration_seconds, len(output))


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The handler is about to be called for the first time."""

    call: ToolCall
    timeout_seconds: float
    # the tool must not act twice: the listener has to store this before the handler may start
    once: bool


@dataclass(frozen=True, slots=True)
class CallRetried:
    """An attempt failed and another one follows."""

    call: ToolCall
    attempt: int
    wait_seconds: float
    error: str


CallEvent = CallStarted | CallRetried | ToolResult
EmitCallEvent = Callable[[CallEvent], Awaitable[None]]
