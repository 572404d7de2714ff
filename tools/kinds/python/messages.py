"""The messages to an isolated tool's process, and its answers: JSON, the length before it."""

import json
import struct
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

# of one message
MAX_BYTES = 16 << 20
LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Setup:
    """The first message to the process: what it is for."""

    tool: str
    # these four: see PythonTool
    function: str
    parameters: dict[str, Any] | None
    max_memory_mb: int
    max_cpu_seconds: int | None
    # the crew's
    folder: str


@dataclass(frozen=True, slots=True)
class Call:
    """Call the function, with arguments as the model gave them."""

    arguments: dict[str, Any]
    # these: see ToolContext
    call_id: str
    run_id: str
    agent_id: str
    user: str
    group: str | None
    owner: str
    user_id: str
    conversation_id: str
    traceparent: str
    remaining_seconds: float


@dataclass(frozen=True, slots=True)
class Told:
    """How far the call is."""

    progress: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class SecretAsked:
    """The function asks for an environment variable; a SecretGiven follows."""

    name: str


@dataclass(frozen=True, slots=True)
class SecretGiven:
    """Its value; None: it is not set."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """How the setup or a call ended."""

    # the classes of `tools.limits.retry.classify`, as far as they differ for the one who called
    outcome: Literal["success", "timeout", "temporary", "permanent"]
    # the result, or what the model reads of the error
    text: str = ""
    # the process must not be used again
    is_last: bool = False


Message = Setup | Call | Told | SecretAsked | SecretGiven | Reply
_BY_NAME: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> bytes:
    """Encode a message as bytes.

    Raises:
        ValueError: it is longer than MAX_BYTES.
    """
    # ASCII, since text of a model may hold half a surrogate pair
    body = json.dumps([type(message).__name__, asdict(message)]).encode("ascii")
    if len(body) > MAX_BYTES:
        raise ValueError(f"{len(body):,} bytes; at most {MAX_BYTES:,} can be passed on")
    return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """Decode the message of a body.

    Raises:
        ValueError: it has none.
    """
    try:
        name, fields = json.loads(body)
        return _BY_NAME[name](**fields)
    except (TypeError, KeyError) as error:
        raise ValueError(f"no message: {error}") from None
