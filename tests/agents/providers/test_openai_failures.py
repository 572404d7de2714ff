"""Servers that fail, hang or refuse: one clear error, tried again where that helps."""

import asyncio
import gzip
import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agents import ModelError, ModelReply, ModelRequest
from agents.config import ModelConfig
from agents.endpoint import ProviderConfig
from agents.model import ModelNotice, RequestEnded, ShownMessage
from agents.providers.catalog import Catalog
from agents.tokenizing.tokens import TokenRatios
from tests.agents.providers.test_openai_chat import SECRET, _ignore, ask, model_at
from tests.support.model_server import chunks, completion, http, model_server
from tools.clock import SYSTEM_CLOCK
from tools.limits.guards import Guards
from tools.text.secrets import Secrets


def error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "x"}}


CUT = http(200, completion())[:-20]


# which says nothing of its length before it comes
LARGE = json.dumps(completion("x" * 9_000_000)).encode()
CHUNKED = (
    b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"%x\r\n%s\r\n0\r\n\r\n" % (len(LARGE), LARGE)
)
FAILURES = {
    "refused": (http(400, error_body("no such model")), "refused", "no such model"),
    "too-long": (
        http(400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
        "context_overflow",
        "too long",
    ),
    "too-long-by-its-words": (
        http(413, error_body("prompt is too long: 9001 tokens > 8192 maximum")),
        "context_overflow",
        "9001",
    ),
    "too-long-in-200": (
        http(200, error_body("This model's maximum context length is 8192 tokens")),
        "context_overflow",
        "8192",
    ),
    "not-for-its-length": (http(413, error_body("no")), "refused", "413"),
    "unauthorized": (http(401, error_body(f"bad key {SECRET}")), "refused", "bad key ***"),
    "forbidden": (http(403, b"<html>"), "refused", "403"),
    "rate-limited": (
        http(429, error_body("slow down"), "retry-after: 0\r\n"),
        "rate_limited",
        "429",
    ),
    "broken": (http(500, error_body("oops")), "unavailable", "500"),
    "overloaded": (http(503, b""), "unavailable", "503"),
    "lost": (b"", "connection", ""),
    "cut": (CUT.replace(b"content-type", b"connection: close\r\ncontent-type"), "connection", ""),
    "not-json": (http(200, b"hello"), "unreadable", "unreadable"),
    "a-page": (http(200, b"<html>hello"), "refused", "answered with HTML: hello"),
    "not-an-answer": (http(200, {"hello": 1}), "unreadable", "no choices"),
    "not-an-object": (http(200, [1]), "unreadable", "unreadable"),
    "strange-choice": (http(200, {"choices": [1]}), "unreadable", "no choices"),
    "empty": (http(200, completion("  ")), "empty", "empty"),
    "null": (http(200, completion(None)), "empty", "empty"),
    "error-in-200": (http(200, error_body(f"inside {SECRET}")), "unavailable", "inside ***"),
    "redirect": (http(307, b"", "location: http://127.0.0.1:1/v1\r\n"), "refused", "307"),
    "compressed": (
        http(200, gzip.compress(b"0" * 40_000_000), "content-encoding: gzip\r\n"),
        "unreadable",
        "larger than 8 MiB",
    ),
    "compressed-otherwise": (
        http(200, b"x", "content-encoding: br\r\n"),
        "unreadable",
        "compressed (br)",
    ),
    "compressed-error": (
        http(500, gzip.compress(b"0" * 40_000_000), "content-encoding: gzip\r\n"),
        "unreadable",
        "larger than 8 MiB",
    ),
    "large, in chunks": (CHUNKED, "unreadable", "larger than 8 MiB"),
    "large": (http(200, completion("x" * 9_000_000)), "unreadable", "larger than 8 MiB"),
    "strange-parts": (
        http(200, {"choices": [{"message": {"refusal": 7, "content": [1]}}]}),
        "empty",
        "empty",
    ),
}


async def test_a_stream_is_bounded_by_what_it_says():
    """Not by the bytes around each piece: 10 MB of them say little here, and too much there."""
    framed = {"content": "word ", "padding": "x" * 10_000}
    answer, _, _ = await ask([chunks(*[framed] * 1000)], stream=True)
    assert isinstance(answer, ModelReply)
    assert answer.content == "word " * 1000
    for large in (
        {"content": "x" * 1_000_000},
        {
            "tool_calls": [
                {"index": 0, "id": "c", "function": {"name": "n", "arguments": "x" * 1_000_000}}
            ]
        },
    ):
        answer, _, _ = await ask([chunks(*[large] * 9)], stream=True)
        assert isinstance(answer, ModelError)
        assert "larger than 8 MiB" in str(answer)


@pytest.mark.parametrize("name", FAILURES)
async def test_every_failure_is_one_clear_error(name: str):
    """With its kind, and without a secret in it."""
    reply, code, said = FAILURES[name]
    answer, received, _ = await ask([reply])
    assert isinstance(answer, ModelError), answer
    assert answer.code == code, answer
    assert said in str(answer)
    assert SECRET not in str(answer)
    assert [event.outcome for event in received if isinstance(event, RequestEnded)] == [code]


STREAM_FAILURES = {
    "cut": (chunks({"content": "half"}, finish=None, end=False), "unreadable"),
    "error-inside": (
        chunks({"content": "half"}, finish=None, end=False)
        + b'data: {"error": {"message": "overloaded"}}\n\n',
        "unavailable",
    ),
    "not-json": (
        chunks({"content": "half"}, finish=None, end=False) + b"data: {nope\n\n",
        "unreadable",
    ),
    "empty": (chunks({}), "empty"),
    "refused": (http(400, error_body("no")), "refused"),
}


@pytest.mark.parametrize("name", STREAM_FAILURES)
async def test_every_failure_of_a_stream(name: str):
    """The same for answers that come in pieces."""
    reply, code = STREAM_FAILURES[name]
    answer, _, _ = await ask([reply], stream=True)
    assert isinstance(answer, ModelError), answer
    assert answer.code == code


@pytest.mark.parametrize(
    ("replies", "retries", "asked", "good"),
    [
        ([http(429, {}, "retry-after: 0\r\n"), http(500, {}), http(200, completion())], 2, 3, True),
        ([b"", http(200, completion())], 1, 2, True),
        ([http(200, b"garbage"), http(200, completion())], 1, 2, True),
        (
            [
                CUT.replace(b"content-type", b"connection: close\r\ncontent-type"),
                http(200, completion()),
            ],
            1,
            2,
            True,
        ),
        ([http(500, {}), http(200, completion())], 0, 1, False),
        ([http(404, {}), http(200, completion())], 3, 1, False),
        ([http(200, completion("")), http(200, completion())], 3, 1, False),
        ([http(429, {}, "retry-after: 3600\r\n"), http(200, completion())], 3, 1, False),
    ],
    ids=["429-500", "lost", "garbage", "cut", "no-retries", "404", "empty", "too-long-a-wait"],
)
async def test_what_is_tried_again(replies: list[bytes], retries: int, asked: int, good: bool):
    """429, 5xx, lost, cut, unreadable; never another 4xx; never after a wait that no run can afford."""
    answer, received, server = await ask(replies, retries=retries)
    assert isinstance(answer, ModelReply) is good
    assert len(server.asked) == asked
    assert sum(isinstance(event, ModelNotice) for event in received) == asked - 1


async def test_retry_after_is_heeded():
    """The server's wait counts, not our own."""
    answer, received, _ = await ask(
        [http(429, {}, "retry-after: 0.2\r\n"), http(200, completion())], retries=1
    )
    assert isinstance(answer, ModelReply)
    assert any("in 0.2 s" in event.message for event in received if isinstance(event, ModelNotice))


@pytest.mark.parametrize("said", ["nan", "inf", "-1", "soon", ""])
async def test_a_wait_that_is_none_is_ours(said: str):
    """What is neither a number nor a date is as if nothing was said."""
    answer, _, server = await ask(
        [http(503, {}, f"retry-after: {said}\r\n"), http(200, completion())], retries=1
    )
    assert isinstance(answer, ModelReply)
    assert len(server.asked) == 2


async def test_a_slow_server_is_a_timeout():
    """Within the provider's timeout, and not tried again."""

    async def never(request: dict[str, Any]) -> bytes:
        await anyio.sleep(30)
        return b""

    answer, _, server = await ask(never, timeout=0.2, retries=2)
    assert isinstance(answer, ModelError)
    assert answer.code == "timeout"
    assert len(server.asked) == 1


async def test_nobody_there_is_a_connection_error():
    """With the address in it."""
    catalog = Catalog(
        {"mine": ProviderConfig(base_url="http://127.0.0.1:1/v1", max_retries=0)},
        None,
        0,
        0,
        SYSTEM_CLOCK,
        Secrets(),
        Guards(SYSTEM_CLOCK),
        TokenRatios(),
    )
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1") as caught:
        await catalog.model(ModelConfig(model="m", provider="mine")).reply(
            ModelRequest("a", []), _ignore
        )
    assert caught.value.code == "connection"
    await catalog.aclose()


async def test_a_cancelled_call_closes_its_connection():
    """The server sees the client go at once."""

    async def never(request: dict[str, Any]) -> bytes:
        await anyio.sleep(30)
        return b""

    async with model_server(never) as server, model_at(server) as model:
        task = asyncio.create_task(
            model.reply(ModelRequest("a", [ShownMessage("user", "x")]), _ignore)
        )
        with anyio.fail_after(5):
            while not server.asked:
                await anyio.lowlevel.checkpoint()
            task.cancel()
            await server.left.wait()


async def test_stream_options_that_are_refused_are_left_out_from_then_on():
    """One more request the first time, none later."""

    def reply(request: dict[str, Any]) -> bytes:
        return (
            http(400, error_body("unknown field stream_options"))
            if "stream_options" in request
            else chunks({"content": "ok"})
        )

    async with model_server(reply) as server, model_at(server) as model:
        request = ModelRequest("a", [ShownMessage("user", "x")], stream=True)
        assert (await model.reply(request, _ignore)).content == "ok"
        assert (await model.reply(request, _ignore)).content == "ok"
    assert ["stream_options" in asked for asked in server.asked] == [True, False, False]
