"""What every model looks like: a request in, a reply out, words on the way."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tools.calls import ToolCall

# A message as chat completions APIs take it: {"role", "content", "tool_calls"?, "tool_call_id"?}.
WireMessage = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the provider counted them, and what they cost in USD by the agent's prices."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def total_tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. The tools are in the form of chat completions.

    None of a sampling value means: not sent.
    """

    agent_id: str
    messages: Sequence[WireMessage]
    tools: Sequence[dict[str, Any]] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    # someone wants the words as they are written
    stream: bool = False
    # how often this very request has failed already
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered: text, calls, or both."""

    content: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of an answer, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """One request to a provider has ended; `outcome` is "success" or the code of the ModelError."""

    provider: str
    model: str
    outcome: str
    duration_seconds: float
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the operator should know, such as the use of a backup."""

    code: str
    message: str


ModelEvent = Words | Called | Notice
Hear = Callable[[ModelEvent], Awaitable[None]]


class Model(Protocol):
    """Something that answers. One that wraps another (retrying, fallback.

    Budget) is a Model too.
    """

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        ...

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """Whom it may ask: (provider, model) each."""
        ...

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer a request, or raise ModelError."""
        ...
