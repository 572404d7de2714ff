"""What servers, and what stands before them, send in place of an answer: their words are shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import both, crew_at, played
from tests.support.model_server import chunks, completion, http, model_server
from tests.support.raw_server import answer as raw
from tests.support.raw_server import raw_server, says

PAGES = (
    b'<?xml version="1.0"?>\n<!DOCTYPE html><html><title>Access Denied by Proxy</title></html>',
    b"<!-- a proxy --><!-- of ours --><html><body>Access Denied by Proxy</body></html>",
)


def plain(body: bytes) -> bytes:
    return http(200, body).replace(b"application/json", b"text/plain")


def of_stream(body: bytes) -> bytes:
    return http(200, body).replace(b"application/json", b"text/event-stream")


# by name: the answer, what the error says, how often it is asked
INSTEAD: dict[str, tuple[bytes, str, int]] = {
    "words": (plain(b"no healthy upstream"), "no healthy upstream", 3),
    "page-xml": (http(200, PAGES[0]), "answered with HTML: Access Denied by Proxy", 1),
    "page-comments": (http(200, PAGES[1]), "answered with HTML: Access Denied by Proxy", 1),
    "empty": (http(200, b""), "answered 200 and sent nothing", 3),
    "no-content": (http(204, b""), "answered 204 and sent nothing", 3),
    "mark-and-words": (
        http(200, {"error": True, "message": "the model is being moved"}),
        "the model is being moved",
        3,
    ),
    "code-and-words": (
        http(200, {"error": "model_error", "message": "moved to another host"}),
        "model_error: moved to another host",
        3,
    ),
    "lm-studio": (
        http(200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}),
        "Unexpected endpoint or method",
        1,
    ),
    "conflict": (http(409, {"error": {"message": "engine is busy, try again"}}), "busy", 3),
    "capacity": (http(498, {"error": {"message": "flex tier capacity exceeded"}}), "flex", 3),
    "tgi": (http(424, {"error": "Request failed during generation"}), "generation", 3),
    "unloaded": (http(400, {"error": "Model is unloaded."}), "unloaded", 3),
    "again": (http(400, {"error": "hm"}, "x-should-retry: true\r\n"), "hm", 3),
    "not-again": (http(503, {"error": "hm"}, "x-should-retry: false\r\n"), "hm", 1),
    "too-large": (http(422, {"error": {"message": "field b is wrong"}}), "field b is wrong", 1),
}


@both
@pytest.mark.parametrize("name", INSTEAD)
async def test_its_words_are_shown(tmp_path: Path, name: str, deltas: bool):
    answer, words, times = INSTEAD[name]
    async with model_server(lambda _: answer) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert words in run.of("error")[0]["content"]
    assert len(server.asked) == times


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b': ping\n\n{"error": {"message": "no room in this zone"}}', "no room in this zone"),
        (b'\n\n{"error": {"message": "no room in this zone"}}', "no room in this zone"),
        (b'error: {"code": 500, "message": "no slot is free"}\n\n', "no slot is free"),
    ],
)
async def test_an_error_within_a_stream(tmp_path: Path, body: bytes, words: str):
    async with model_server(lambda _: of_stream(body)) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert words in run.of("error")[0]["content"]


async def test_a_prompt_that_is_too_long_within_a_stream(tmp_path: Path):
    """As llama.cpp said it: not asked again as it was."""
    said = b'error: {"code":400,"message":"the request exceeds the available context size"}\n\n'
    async with model_server(lambda _: of_stream(said)) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert run.of("error")[0]["metadata"]["code"] == "context_overflow"


async def test_a_whole_answer_behind_blank_lines(tmp_path: Path):
    """Gateways write them, so that nothing before them ends a request that takes its time."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
    body = json.dumps(completion("hello")).encode()
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (b"\n", b": wait\n\n", body))
    whole = head + b"transfer-encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"
    async with model_server([whole, http(500, b"")]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert (run.row.answer, len(server.asked)) == ("hello", 1)


async def test_a_stream_that_begins_with_a_field_of_its_own(tmp_path: Path):
    """Such a field says nothing (HTML, 9.2.6)."""
    body = b"proxy: eu-1\n" + chunks({"content": "hello"}).partition(b"\r\n\r\n")[2]
    async with model_server([of_stream(body), http(500, b"")]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert (run.row.answer, len(server.asked)) == ("hello", 1)


@pytest.mark.parametrize(
    ("status", "location", "words"),
    [
        (301, "https://gw.example/CANARY?key=CANARY", "it points to https://gw.example)"),
        (302, "//login.example/start;id=CANARY", "it points to login.example)"),
        (307, "/v2/CANARY", "it points to another path there)"),
        (308, "http://[CANARY", "it points to no address)"),
    ],
)
async def test_where_an_address_points_to(tmp_path: Path, status: int, location: str, words: str):
    """It is not followed; what is behind its path may be a secret."""
    answer = http(status, b"", f"location: {location}\r\n")
    async with model_server(lambda _: answer) as server:
        run = await played(crew_at(tmp_path, server.url))
    error = run.of("error")[0]["content"]
    assert words in error
    assert "CANARY" not in error
    assert len(server.asked) == 1


async def test_a_path_without_a_version(tmp_path: Path):
    for answer in (http(405, {"detail": "Method Not Allowed"}), INSTEAD["lm-studio"][0]):
        async with model_server([answer]) as server:
            url = server.url.removesuffix("/v1")
            run = await played(crew_at(tmp_path, url))
        assert "has no /v1 in its path" in run.of("error")[0]["content"]


async def test_a_proxy_that_lets_no_one_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    refused = raw("<html>blocked by policy</html>", "403 Blocked by policy")
    async with raw_server(says(refused)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        run = await played(crew_at(tmp_path, "https://models.example/v1"))
    assert "the proxy answered 403 Blocked by policy" in run.of("error")[0]["content"]
    assert not run.of("warning")


async def test_a_wait_within_an_answer(tmp_path: Path):
    """An error with status 200 says how long to wait, and so may the provider behind a router."""
    told: list[dict[str, Any]] = [
        {"code": "rate_limit_exceeded", "message": "Please try again in 0.001s."},
    ]
    answers = [of_stream(f"data: {json.dumps({'error': one})}\n\n".encode()) for one in told]
    settings = {"retry_backoff_min_millis": 600_000, "retry_backoff_max_seconds": 600}
    async with model_server([*answers, chunks({"content": "hello"})]) as server:
        run = await played(crew_at(tmp_path, server.url, settings=settings), deltas=True)
    assert run.row.answer == "hello"


async def test_a_wait_of_the_provider_behind_a_router(tmp_path: Path):
    headers = {"Retry-After": "0.01", "X-RateLimit-Remaining": "0"}
    error = {"message": "Rate limit exceeded", "code": 429, "metadata": {"headers": headers}}
    settings = {"retry_backoff_min_millis": 600_000, "retry_backoff_max_seconds": 600}
    answers = [http(429, {"error": error}), http(200, completion("hello"))]
    async with model_server(answers) as server:
        run = await played(crew_at(tmp_path, server.url, settings=settings))
    assert run.row.answer == "hello"
