"""An answer that is whole is taken, whatever its connection does behind it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import both, crew_at, played, warnings
from tests.support.model_server import chunks, completion, http, model_server

TEXT = "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "hello"}}]}) + "\n\n"
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
ENDED = f"{TEXT}data: {json.dumps(STOP)}\n\n"
HEAD = "HTTP/1.1 200 OK\r\nconnection: close\r\n"


def events(*documents: dict[str, Any]) -> str:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in documents)


def chunked(body: str, *, kind: str = "text/event-stream") -> bytes:
    """An answer in one chunk, and not the last one that ends it."""
    head = f"{HEAD}content-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
    return f"{head}{len(body.encode()):x}\r\n{body}\r\n".encode()


def closed(body: str) -> bytes:
    """An answer that ends with its connection."""
    return f"{HEAD}content-type: text/event-stream\r\n\r\n{body}".encode()


def anthropic_events(*, stops: bool) -> str:
    piece = {"type": "text_delta", "text": "hello"}
    found: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1000, "output_tokens": 1}}},
        {"type": "content_block_delta", "index": 0, "delta": piece},
    ]
    if stops:
        usage = {"input_tokens": 0, "output_tokens": 50}
        found.append(
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
        )
    return events(*found)


ITEM = {"type": "message", "content": [{"type": "output_text", "text": "hello"}]}
RESPONSE = {"output": [ITEM], "usage": {"input_tokens": 1000, "output_tokens": 50}}
PIECES = events(
    {"type": "response.output_text.delta", "output_index": 0, "delta": "hel"},
    {"type": "response.output_text.delta", "output_index": 0, "delta": "lo"},
)


def at(folder: Path, url: str, dialect: str) -> Path:
    provider = {"base_url": url, "dialect": dialect, "api_key": "k-1", "max_retries": 1}
    return crew_at(folder, url, providers={"gw": provider})


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("chat", chunked(ENDED)),
        ("chat", chunked(json.dumps(completion("hello")), kind="application/json")),
        ("anthropic", closed(anthropic_events(stops=True))),
        ("anthropic", chunked(anthropic_events(stops=True))),
        ("responses", closed(PIECES + events({"type": "response.done", "response": RESPONSE}))),
    ],
)
async def test_nothing_is_asked_again(tmp_path: Path, dialect: str, answer: bytes):
    async with model_server([answer, http(500, b"")]) as server:
        run = await played(at(tmp_path, server.url, dialect), deltas=True)
    assert (run.row.answer, warnings(run), len(server.asked)) == ("hello", [], 1)
    usage = run.of("agent_response")[0]["metadata"]["usage"]
    if dialect != "chat":
        assert (usage["input"], usage["output"]) == (1000, 50)


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("chat", chunked(TEXT)),
        ("chat", chunked(json.dumps(completion("hello"))[:-2], kind="application/json")),
        ("anthropic", closed(anthropic_events(stops=False))),
        ("responses", closed(PIECES)),
    ],
)
async def test_what_is_not_whole_is_asked_again(tmp_path: Path, dialect: str, answer: bytes):
    async with model_server(lambda _: answer) as server:
        run = await played(at(tmp_path, server.url, dialect), deltas=True)
    assert (run.row.status, len(server.asked)) == ("failed", 2)


@both
@pytest.mark.parametrize("coding", ["none", "utf-8", "identity"])
async def test_a_coding_that_is_none(tmp_path: Path, deltas: bool, coding: str):
    """Gateways write it so that nothing compresses a stream."""
    head = f"content-encoding: {coding}\r\n"
    body = chunks({"content": "hello"}) if deltas else http(200, completion("hello"), head)
    answer = body.replace(b"\r\n", f"\r\n{head}".encode(), 1) if deltas else body
    async with model_server([answer, http(500, b"")]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert (run.row.answer, len(server.asked)) == ("hello", 1)


async def test_members_of_gzip(tmp_path: Path):
    data = json.dumps(completion("hello")).encode()
    body = gzip.compress(data[:40]) + gzip.compress(data[40:]) + b"\0\0"
    answer = http(200, body, "content-encoding: gzip\r\n")
    async with model_server([answer, http(500, b"")]) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "hello"


async def test_a_coding_that_cannot_be_read_is_asked_once(tmp_path: Path):
    answer = http(200, b"x", "content-encoding: br\r\n")
    async with model_server([answer, answer]) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert len(server.asked) == 1
    assert "compressed (br)" in run.of("error")[0]["content"]


USAGE = {"prompt_tokens": 1000, "completion_tokens": 50}
TOLD: dict[str, tuple[dict[str, Any], ...]] = {
    "kimi": ({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]},),
    "groq": ({**STOP, "x_groq": {"usage": USAGE}},),
    "zeros-behind": (
        {**STOP, "usage": USAGE},
        {"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}},
    ),
    "other-names": ({**STOP, "usage": {"input_tokens": 1000, "output_tokens": 50}},),
    "cached": ({**STOP, "usage": {**USAGE, "cached_tokens": 400}},),
}


@pytest.mark.parametrize("name", TOLD)
async def test_usage_that_stands_elsewhere(tmp_path: Path, name: str):
    """It is the provider's count, not an estimate; zeros behind it replace nothing."""
    body = TEXT + "".join(f"data: {json.dumps(one)}\n\n" for one in TOLD[name])
    async with model_server(lambda _: closed(f"{body}data: [DONE]\n\n")) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    usage = run.of("agent_response")[0]["metadata"]["usage"]
    assert (usage["input"], usage["output"], usage.get("estimated", 0)) == (1000, 50, 0)
    assert usage["cache_read"] == (400 if name == "cached" else 0)
