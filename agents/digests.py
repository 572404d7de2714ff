"""Digests of what a model is sent: by them a replay knows whether it would be sent the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pydantic_core import to_json

from agents.model import ModelRequest, ShownMessage, ToolDefinition

# of a digest: two differ by chance once in 2^64
DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class RequestDigests:
    """One for each part of a request, as 16 hexadecimal digits."""

    prompt: str
    tools: str
    # what stands before the conversation
    context: str
    messages: str
    # temperature, top_p, max_tokens
    sampling: str


def digests_of(request: ModelRequest, context: int) -> RequestDigests:
    """Return the digests of a request.

    Those of tools and messages are made once, and chained: a request costs what is new in it.

    Args:
        request: its first message is the system prompt.
        context: how many of the messages behind that are the context.
    """
    prompt, *messages = request.messages
    sampling = [request.temperature, request.top_p, request.max_tokens]
    return RequestDigests(
        prompt.digest(_message_digest).hex(),
        _chain([tool.digest(_tool_digest) for tool in request.tools]),
        _chain_messages(messages[:context]),
        _chain_messages(messages[context:]),
        _digest(to_json(sampling)).hex(),
    )


def _chain_messages(messages: Sequence[ShownMessage]) -> str:
    return _chain([message.digest(_message_digest) for message in messages])


def _chain(digests: Sequence[bytes]) -> str:
    return _digest(b"".join(digests)).hex()


def _message_digest(message: ShownMessage) -> bytes:
    calls = [(call.id, call.tool, call.arguments) for call in message.calls]
    results = [result.call_id for result in message.results]
    return _digest(to_json([message.role, message.content, calls, results]))


def _tool_digest(tool: ToolDefinition) -> bytes:
    return _digest(to_json([tool.name, tool.description, tool.parameters]))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
