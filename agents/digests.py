"""Digests of what a model is sent: by them a replay knows whether it would be sent the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from pydantic_core import to_json

from agents.limits import AUTO
from agents.model import ModelRequest, ShownMessage, ToolDefinition

# of a digest: two differ by chance once in 2^64
DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class RequestDigests:
    """One for each part of a request, as 16 hexadecimal digits."""

    prompt: str
    tools: str
    # what stands before the conversation; "" where nothing does
    context: str
    messages: str
    # temperature, top_p, max_tokens; the schema of a typed answer; what it may do with tools
    sampling: str


def digests_of(request: ModelRequest, context: int) -> RequestDigests:
    """Return the digests of a request.

    What stays from request to request has its digest once, so that one costs what is new in it.

    Args:
        request: its first message is the system prompt.
        context: how many of the messages behind that are the context.
    """
    messages = request.messages
    sampling: tuple[Any, ...] = (request.temperature, request.top_p, request.max_tokens)
    if request.output is not None:
        sampling = (*sampling, request.output.words)
    if request.tool_choice is not AUTO:
        sampling = (*sampling, request.tool_choice.mode, request.tool_choice.tool)
    prompt, tools, sampled = _of_agent(messages[0].content, request.tools, sampling)
    before = _chain(messages[1 : context + 1]) if context else ""
    return RequestDigests(prompt, tools, before, _chain(messages[context + 1 :]), sampled)


# as many as agents are at work at the same time; it keeps the tools of old revisions
@lru_cache(maxsize=100)
def _of_agent(
    prompt: str,
    tools: tuple[ToolDefinition, ...],
    sampling: tuple[Any, ...],
) -> tuple[str, str, str]:
    """Return the digests of what an agent's requests have in common."""
    shown = [[one.name, one.description, one.parameters] for one in tools]
    return _digest(prompt.encode()), _digest(to_json(shown)), _digest(to_json(sampling))


def _chain(messages: Sequence[ShownMessage]) -> str:
    chained = b"".join([one.digest or _digest_message(one) for one in messages])
    return blake2b(chained, digest_size=DIGEST_BYTES).hexdigest()


def _digest_message(message: ShownMessage) -> bytes:
    results = [result.call_id for result in message.results] if message.results else ()
    parts: list[Any] = [message.role, message.content, message.calls, results]
    if message.images:
        parts.append([one.document_id for one in message.images])
    data = to_json(parts)
    message.digest = blake2b(data, digest_size=DIGEST_BYTES).digest()
    return message.digest


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()
