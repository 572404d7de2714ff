"""All dialects, by the names that a configuration has for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.dialects.anthropic import body as anthropic
from agents.dialects.anthropic.reply import MessageReader
from agents.dialects.chat import body as chat
from agents.dialects.chat.reply import ReplyReader
from agents.dialects.collector import Collector
from agents.dialects.outgoing import Outgoing
from agents.dialects.responses import body as responses
from agents.dialects.responses.reply import ResponseReader
from agents.endpoint import DialectName
from agents.quirks import Quirks

ANTHROPIC_VERSION = "2023-06-01"


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _anthropic(key: str) -> dict[str, str]:
    own = {"x-api-key": key} if key else {}
    return {"anthropic-version": ANTHROPIC_VERSION, **own}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of requests and answers that a provider has."""

    name: DialectName
    # behind the address of the endpoint
    path: str
    build: Callable[[Outgoing], dict[str, Any]]
    # for a model's name, its source and its quirks
    reader: Callable[[str, str, Quirks], Collector]
    # the keys of a body that a configuration cannot add
    written: frozenset[str]
    # of a request with a key
    headers: Callable[[str], dict[str, str]] = _bearer
    # whether a request does not think as it should: others have begun its calls; None: never
    stops_thinking: Callable[[Outgoing, Mapping[str, Any]], bool] | None = None


DIALECTS: Mapping[DialectName, Dialect] = {
    "chat": Dialect("chat", "/chat/completions", chat.chat_body, ReplyReader, chat.WRITTEN),
    "responses": Dialect(
        "responses",
        "/responses",
        responses.responses_body,
        ResponseReader,
        responses.WRITTEN,
    ),
    "anthropic": Dialect(
        "anthropic",
        "/messages",
        anthropic.anthropic_body,
        MessageReader,
        anthropic.WRITTEN,
        _anthropic,
        anthropic.stops_thinking,
    ),
}
