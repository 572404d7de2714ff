"""What a conversation is made of; `history` decides who is shown it in which form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from tools.calls import CallStatus, ToolCall

# in `AgentMessage.extra`: no other provider gets the rest of it
SOURCE_KEY = "crewline_source"


# of `AgentMessage.extra`, what its provider takes back only as it came
SIGNED_KEYS = frozenset(
    {"blocks", "items", "extra_content", "reasoning_details", "thinking_blocks"}
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A document that the person has sent with their words; it is kept under its id."""

    document_id: str
    # as agents are shown it
    name: str
    collection: str
    # of an image, as `image/png`; "" for what is searched and read
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the person."""

    content: str
    attached: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class CrewMessage:
    """Words of the crew itself: the joined results of a group."""

    content: str


@dataclass(frozen=True, slots=True)
class CompactedMessage:
    """Stands for a run's oldest messages after the first, which a helper has shortened."""

    content: str
    # how many messages it stands for
    count: int
    # ids of the calls in them
    call_ids: tuple[str, ...] = ()


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
    # what else the provider sent with the message and wants back unchanged; under SOURCE_KEY which
    # provider, address and model that was
    extra: dict[str, Any] = field(default_factory=dict)
    # of a typed answer: what other agents are shown in place of it
    words: str | None = None
    # it is no right typed answer: another one follows, and no other agent is shown it
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class RepairMessage:
    """Says to an agent what was wrong with its typed answer; no other agent is shown it."""

    agent_id: str
    content: str


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


Message = (
    UserMessage
    | CrewMessage
    | SystemMessage
    | AgentMessage
    | ToolMessage
    | CompactedMessage
    | RepairMessage
)


def is_wrong(message: Message) -> bool:
    """Return whether a message is a wrong typed answer, or what was said of one."""
    return isinstance(message, RepairMessage) or (
        isinstance(message, AgentMessage) and message.invalid
    )


KINDS = {kind.__name__: kind for kind in get_args(Message)}
# made when first used: most processes decode none
_adapters: dict[str, TypeAdapter[Any]] = {}


def encode_messages(messages: Sequence[Message]) -> str:
    """Encode messages as JSON."""
    return to_json([[type(message).__name__, message] for message in messages]).decode()


def decode_messages(text: str) -> list[Message]:
    """Decode the inverse of `encode_messages`; raises ValueError."""
    messages: list[Message] = []
    for name, fields in from_json(text):
        if name not in KINDS:
            raise ValueError(f"{name} is no message that this version knows")
        if name not in _adapters:
            _adapters[name] = TypeAdapter(KINDS[name])
        messages.append(_adapters[name].validate_python(fields))
    return messages
