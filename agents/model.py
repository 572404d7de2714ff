"""What every model looks like: a request in, a reply out, events on the way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from pydantic_core import to_json

from agents.costs.prices import Prices
from agents.costs.usage import NO_USAGE, Usage
from agents.limits import AUTO, ToolChoice
from agents.messages import ToolOutput
from agents.outputs.typed import OutputFormat
from agents.tokenizing.tokens import ESTIMATE, IMAGE_TOKENS, Tokenizer
from tools.calls import ToolCall

# tool: one result of a call that was made through the provider's own mechanism
MessageRole = Literal["system", "user", "assistant", "tool"]
# begins the result of a call that has failed
ERROR_MARK = "Error: "


@dataclass(frozen=True, slots=True)
class Private:
    """What a model has sent with a message and wants back unchanged; no other model gets it."""

    # names provider, address and model; "": of an earlier version, which did not keep it
    source: str
    # of the message, and of each of its calls
    message: dict[str, Any]
    calls: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image that goes with a message."""

    document_id: str
    # as `image/png`
    media_type: str
    # in base64
    data: str

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.media_type};base64,{self.data}"


@dataclass(slots=True)
class ShownMessage:
    """A message as one agent is shown it, in the form of no provider."""

    role: MessageRole
    content: str
    # of role `assistant`: made through the provider's own mechanism
    calls: tuple[ToolCall, ...] = ()
    # the tool results that it carries: one in role `tool`, any number in a user's text
    results: tuple[ToolOutput, ...] = ()
    # of the model that it is for
    tokenizer: Tokenizer = ESTIMATE
    private: Private | None = None
    # of role `user`
    images: tuple[ShownImage, ...] = ()
    # counted once
    _tokens: int = field(default=-1, init=False, repr=False, compare=False)
    # the rest is made once, too: the same message is a part of many requests. Its form in a
    # dialect, and which that is; its digest (see `digests`)
    form: Any = field(default=None, init=False, repr=False, compare=False)
    dialect: str = field(default="", init=False, repr=False, compare=False)
    digest: bytes = field(default=b"", init=False, repr=False, compare=False)

    @property
    def tokens(self) -> int:
        """How many it is, as its model's tokenizer counts."""
        if self._tokens < 0:
            count = self.tokenizer.count
            self._tokens = self.tokenizer.count_message(self.content)
            self._tokens += IMAGE_TOKENS * len(self.images)
            for call in self.calls:
                self._tokens += count(call.tool) + count(to_json(call.arguments).decode())
        return self._tokens


@dataclass(slots=True, eq=False)
class ToolDefinition:
    """A tool as a model is shown it, in the form of no provider."""

    name: str
    description: str
    # a JSON schema
    parameters: Mapping[str, Any]
    # about what it takes of the context window
    tokens: int = 0
    # its form in a dialect, and which that is; as of a ShownMessage
    form: Any = field(default=None, init=False, repr=False)
    dialect: str = field(default="", init=False, repr=False)

    def form_in(
        self, dialect: str, make: Callable[["ToolDefinition"], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return its form in a dialect, which is made once."""
        if self.dialect != dialect:
            self.form, self.dialect = make(self), dialect
        form: dict[str, Any] = self.form
        return form


@dataclass(frozen=True, slots=True)
class PaidAttempt:
    """One request to a model, before it is made: what it is paid by."""

    # names it in the accounts
    id: str
    agent_id: str
    provider: str
    # at its provider, and the name that the files have for it
    model: str
    alias: str
    # that go in, as we count them, and whether that is exact
    prompt_tokens: int
    is_exact: bool
    # that come to it, where it is the last one
    last_tokens: int
    # of the answer; None: as many as the model likes
    max_tokens: int | None
    # None: not known
    prices: Prices | None
    # that the model may think before it answers; the answer has to be longer
    thinking_tokens: int = 0


@dataclass(frozen=True, slots=True)
class RequestRoom:
    """How much a request may use."""

    # of the answer; None: as the request says
    max_tokens: int | None = None
    # there is no room for another one: it may call no tools
    is_last: bool = False


class Meter(Protocol):
    """Reserves what requests may cost, before they are made."""

    async def begin(self, attempt: PaidAttempt) -> RequestRoom:
        """Reserve what a request may cost; raises BudgetExceeded where there is no room."""
        ...


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. None for a sampling value means: not sent."""

    agent_id: str
    messages: Sequence[ShownMessage]
    tools: tuple[ToolDefinition, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    # emit the text as it is written
    stream: bool = False
    # how often this very request has failed already
    attempt: int = 0
    # added to the prompt, in place of the tools, for a model without native calls
    text_call_hint: str = ""
    # what the answer must be; None: words
    output: OutputFormat | None = None
    tool_choice: ToolChoice = AUTO
    # the task of a plan that it is for, or the call of the agent as a tool; "" for neither
    part: str = ""
    # those of its messages that are the run's own are among these
    own: Sequence[ShownMessage] = ()
    # reserves what it may cost; None: nothing bounds that
    meter: Meter | None = None
    # calls in its text, or in its thoughts, are calls
    takes_written: bool = True

    @property
    def tokenizer(self) -> Tokenizer:
        """By which it was counted."""
        return self.messages[0].tokenizer

    @property
    def output_tokens(self) -> int:
        """Of the schema of its answer, which goes in with the messages."""
        if self.output is None:
            return 0
        return self.tokenizer.count(to_json(self.output.schema).decode())


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered: text, calls, or both."""

    content: str
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = NO_USAGE
    model: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    # whether the model has native calls, as far as it has shown
    has_native_calls: bool = True
    # whether calls that it writes into its text, with marks, are calls
    has_written_calls: bool = True
    # it ended at the longest answer that the model may write
    is_cut: bool = False
    # it was given before, to the same request
    cached: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of an answer, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what a model thinks, in the words that its provider shows of it."""

    text: str


@dataclass(frozen=True, slots=True)
class RequestEnded:
    """One request to a provider has ended."""

    provider: str
    model: str
    # "success", "cancelled" or the code of the ModelError
    outcome: str
    duration_seconds: float
    usage: Usage = NO_USAGE
    # messages that went without what another endpoint wants back with them
    without_kept: int = 0
    # by which its usage has its cost; None: not known
    prices: Prices | None = None
    # names it in the accounts
    id: str = ""


@dataclass(frozen=True, slots=True)
class ModelNotice:
    """Something that the operator should know, such as the use of a backup."""

    code: str
    message: str


ModelEvent = TextDelta | ThinkingDelta | RequestEnded | ModelNotice
EmitModelEvent = Callable[[ModelEvent], Awaitable[None]]


async def ignore_event(event: ModelEvent) -> None:
    """Do nothing with an event."""


class Model(Protocol):
    """Something that answers. One that wraps another (retrying, fallback, budget) is one too."""

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        ...

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The (provider, model) pairs that it may ask."""
        ...

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer a request, or raise ModelError."""
        ...


class VectorModel(Protocol):
    """Something that makes vectors of texts."""

    @property
    def space(self) -> str:
        """By which vectors are known that can be compared."""
        ...

    async def embed(self, texts: Sequence[str], emit: EmitModelEvent) -> list[bytes]:
        """Return a vector for each text: numbers of 4 bytes, little-endian, of length 1.

        Args:
            texts: some.
            emit: gets the request, once it has ended, with what it costs.

        Raises:
            ModelError: there is no right answer.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class Around:
    """A Model around another one, with its name and endpoints."""

    model: Model

    # found once: each answer needs them several times, through all that stands around a model
    @cached_property
    def name(self) -> str:
        """The wrapped model's."""
        return self.model.name

    @cached_property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The wrapped model's."""
        return self.model.endpoints
