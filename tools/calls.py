"""The nouns of a tool call: the call, its result, and the events on the way."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tools.context import Facts, Progress
from tools.forms import Form

CallStatus = Literal["success", "error", "timeout", "denied"]

# of an output, unless its tool says otherwise
MAX_OUTPUT_BYTES = 65_536
# of the error of an attempt before the last one
MAX_ERROR_BYTES = 1000
# for the note of what is left out
NOTE_BYTES = 64


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model wants."""

    id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # why the arguments could not be read, if they could not; the call's result says it
    argument_error: str | None = None
    # what else the provider sent with the call and wants back unchanged
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt of a call, after which another one was made."""

    # at most MAX_ERROR_BYTES
    error: str
    # until the next one
    wait_seconds: float

    @classmethod
    def of(cls, error: str, wait_seconds: float) -> "FailedAttempt":
        """Return what is kept of an attempt."""
        return cls(_shortened(_storable(error), MAX_ERROR_BYTES), round(wait_seconds, 6))


# the fact of a result that says how much of its output models are shown, and the most that may be
SHOWN_CHARS, MAX_SHOWN_CHARS = "shown_chars", 32_000


class CutText(str):
    """An output without its middle, which was left out before the call was played again."""

    __slots__ = ("whole_chars",)

    def __new__(cls, text: str, whole_chars: int) -> "CutText":
        """Make it of what is left, and of how long it was."""
        made = super().__new__(cls, text)
        made.whole_chars = whole_chars
        return made

    whole_chars: int


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call; every call has exactly one."""

    call_id: str
    tool: str
    status: CallStatus
    output: str
    # handler calls that were started; 0 when none was
    attempts: int
    duration_seconds: float
    # characters of the whole output
    output_chars: int
    # what else became of it
    facts: Facts = field(default_factory=dict)
    failed: tuple[FailedAttempt, ...] = ()

    def with_output(self, output: str) -> "ToolResult":
        """Return the result with a part of its output alone."""
        return replace(self, output=output, output_chars=len(output))

    def masked(self, output: str) -> "ToolResult":
        """Return the result with its output in other words: as much of it was cut as before."""
        if output == self.output:
            return self
        chars = self.output_chars - len(self.output) + len(output)
        return replace(self, output=output, output_chars=chars)

    @classmethod
    def of(
        cls,
        call: "ToolCall",
        status: CallStatus,
        output: str,
        attempts: int = 0,
        duration_seconds: float = 0.0,
        facts: Facts | None = None,
        max_bytes: int = MAX_OUTPUT_BYTES,
    ) -> "ToolResult":
        """Return a call's result, with the beginning and end of its output: `max_bytes` at most."""
        chars = output.whole_chars if isinstance(output, CutText) else None
        output = _storable(output)
        kept, known = _shortened(output, max_bytes), dict(facts or {})
        if kept is not output or chars is not None:
            known["truncated"] = True
        chars = len(output) if chars is None else chars
        return cls(call.id, call.tool, status, kept, attempts, duration_seconds, chars, known)


def _storable(text: str) -> str:
    """Return a text without lone surrogates, which have no UTF-8: of undecodable names, say."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _shortened(text: str, max_bytes: int) -> str:
    """Return the first and the last half of what is allowed, and what is left out between them."""
    if len(text) * 4 <= max_bytes or len(data := text.encode()) <= max_bytes:
        return text
    half = (max_bytes - NOTE_BYTES) // 2
    head, tail = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The handler is about to be called for the first time."""

    call: ToolCall
    timeout_seconds: float
    # the tool must not act twice: the listener has to store this before the handler may start
    once: bool
    # it changes nothing
    reads: bool = False


@dataclass(frozen=True, slots=True)
class CallRetried:
    """An attempt failed and another one follows."""

    call: ToolCall
    attempt: int
    wait_seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class CallProgressed:
    """The handler reports how far it is."""

    call: ToolCall
    progress: Progress


@dataclass(frozen=True, slots=True)
class CallWarned:
    """Something about a tool that its result does not say, or not to people."""

    # of the warnings of a run, such as `breaker_open`
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class QuestionRaised:
    """The tool asks a person before it goes on: the call has no result yet."""

    call: ToolCall
    forms: tuple[Form, ...]
    # what the tool wants back
    state: str | None


CallEvent = CallStarted | CallRetried | CallProgressed | CallWarned | QuestionRaised | ToolResult
EmitCallEvent = Callable[[CallEvent], Awaitable[None]]
