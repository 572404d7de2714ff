"""Strict servers over real HTTP: they refuse what the APIs refuse, and answer what a test says."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.model_server import http
from tests.support.strict import anthropic, responses

Blocks = list[dict[str, Any]]
Say = Callable[[dict[str, Any]], Any]
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PLACE = "here"


def streamed(events: Sequence[dict[str, Any]]) -> bytes:
    """Events as a stream has them."""
    lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events]
    return STREAM + "".join(lines).encode()


def refused(text: str) -> bytes:
    error = {"type": "invalid_request_error", "message": text}
    return http(400, {"type": "error", "error": error})


def claude(say: Say, place: str = PLACE) -> Callable[[dict[str, Any]], bytes]:
    """A server of Anthropic's form; `say` makes the blocks, or the whole answer, of a request."""

    def reply(body: dict[str, Any]) -> bytes:
        if why := anthropic.refusal(body, place):
            return refused(why)
        said = say(body)
        answer = said if isinstance(said, dict) else anthropic.document(body["model"], said)
        if body.get("stream"):
            return streamed(anthropic.events(answer))
        return http(200, answer)

    return reply


def openai(say: Say, place: str = PLACE) -> Callable[[dict[str, Any]], bytes]:
    """A server of the responses API; `say` makes the items, or the whole answer, of a request."""

    def reply(body: dict[str, Any]) -> bytes:
        if why := responses.refusal(body, place):
            return http(400, {"error": {"message": why, "type": "invalid_request_error"}})
        said = say(body)
        answer = said if isinstance(said, dict) else responses.document(body["model"], said)
        if body.get("stream"):
            return streamed(responses.events(answer))
        return http(200, answer)

    return reply
