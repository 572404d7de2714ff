"""The border to OpenAI-compatible servers, against one that speaks every dialect and fails in every way, over real HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agents import Model, ModelError, ModelReply, ModelRequest
from agents.config import ModelConfig
from agents.model import Called, ModelEvent, Notice, Words
from agents.providers.catalog import Catalog
from agents.providers.endpoint import ProviderConfig
from tests.stage import ModelServer, Reply, chunks, completion, http, model_server

SECRET = "sk-very-secret-key"
TOOL = {
    "type": "function",
    "function": {
        "name": "Ping",
        "description": "",
        "parameters": {"type": "object", "properties": {}},
    },
}


@asynccontextmanager
async def model_at(
    server: ModelServer, retries: int = 0, timeout: float = 5, headers: dict[str, str] | None = None
) -> AsyncIterator[Model]:
    """A model of this server."""
    config = ProviderConfig.model_validate(
        {
            "base_url": server.url,
            "api_key": SECRET,
            "max_retries": retries,
            "timeout_seconds": timeout,
            "headers": headers or {},
        }
    )
    catalog = Catalog({"mine": config}, None, 0.001, 0.002)
    try:
        yield catalog.model(ModelConfig(model="m", provider="mine"))
    finally:
        await catalog.aclose()


async def ask(
    reply: Reply | list[bytes],
    *,
    stream: bool = False,
    retries: int = 0,
    timeout: float = 5,
    **request: Any,
) -> tuple[ModelReply | ModelError, list[ModelEvent], ModelServer]:
    """What the model answers, or its error; what was told; what the server saw."""
    told: list[ModelEvent] = []

    async def hear(event: ModelEvent) -> None:
        told.append(event)

    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi é"}]
    async with model_server(reply) as server, model_at(server, retries, timeout) as model:
        try:
            answer: ModelReply | ModelError = await model.reply(
                ModelRequest("a", messages, stream=stream, **request), hear
            )
        except ModelError as error:
            answer = error
        return answer, told, server


async def test_what_is_sent():
    """The messages as they are, only what is set, the key as bearer; one request."""
    answer, told, server = await ask(
        [http(200, completion("hello"))], tools=[TOOL], temperature=0.0, max_tokens=7
    )
    assert isinstance(answer, ModelReply)
    assert (answer.content, answer.model, answer.usage.total_tokens) == ("hello", "served", 15)
    assert server.asked == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi é"}],
            "tools": [TOOL],
            "temperature": 0.0,
            "max_tokens": 7,
        }
    ]
    assert f"authorization: bearer {SECRET}" in server.headers[0].lower()
    assert [type(event) for event in told] == [Called]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_calls(stream: bool):
    """Several calls at once, arguments as JSON text or as an object, without arguments, unreadable ones with a flaw."""
    asked: list[tuple[str, Any]] = [
        ("Ping", {"host": "a"}),
        ("Ping", "{bad"),
        ("Ping", ""),
        ("Ping", "[1]"),
    ]
    if stream:
        pieces = [
            {
                "index": n,
                "id": f"c{n}",
                "function": {
                    "name": name,
                    "arguments": args if isinstance(args, str) else json.dumps(args),
                },
            }
            for n, (name, args) in enumerate(asked)
        ]
        reply = chunks(*({"tool_calls": [piece]} for piece in pieces))
    else:
        reply = http(200, completion(None, asked))
    answer, _, _ = await ask([reply], stream=stream)
    assert isinstance(answer, ModelReply)
    assert [(call.id, call.arguments) for call in answer.calls] == [
        ("c0", {"host": "a"}),
        ("c1", {}),
        ("c2", {}),
        ("c3", {}),
    ]
    assert ["flaw" if call.flaw else "good" for call in answer.calls] == [
        "good",
        "flaw",
        "good",
        "flaw",
    ]


async def test_words_come_as_they_are_written():
    """Pieces in order, half a surrogate pair in each of two chunks, usage from the last chunk."""
    answer, told, _ = await ask(
        [
            chunks(
                {"role": "assistant"},
                {"content": "Xin "},
                {"content": "chào \ud83d"},
                {"content": "\ude00"},
            )
        ],
        stream=True,
    )
    assert isinstance(answer, ModelReply)
    assert answer.content == "Xin chào 😀"
    assert answer.usage.prompt_tokens == 10
    assert "".join(event.text for event in told if isinstance(event, Words)).startswith("Xin chào ")


async def test_dialect_without_index():
    """Gemini's: no index, `stop` in spite of calls, a signature that is wanted back."""
    first = {
        "id": "g1",
        "function": {"name": "Ping", "arguments": '{"host":'},
        "extra_content": {"google": {"thought_signature": "sig"}},
    }
    second = {"function": {"arguments": '"a"}'}}
    third = {"id": "g2", "function": {"name": "Ping", "arguments": '{"host":"b"}'}}
    answer, _, _ = await ask(
        [chunks(*({"tool_calls": [piece]} for piece in (first, second, third)))], stream=True
    )
    assert isinstance(answer, ModelReply)
    assert [(call.id, call.arguments) for call in answer.calls] == [
        ("g1", {"host": "a"}),
        ("g2", {"host": "b"}),
    ]
    assert answer.calls[0].extra == {"extra_content": {"google": {"thought_signature": "sig"}}}


async def test_ids_that_are_missing_or_double_are_made_unique():
    """Every call can be answered by its id."""
    body = completion(None, [("Ping", {}), ("Ping", {})])
    body["choices"][0]["message"]["tool_calls"][0]["id"] = ""
    body["choices"][0]["message"]["tool_calls"][1]["id"] = "call_1"
    answer, _, _ = await ask([http(200, body)])
    assert isinstance(answer, ModelReply)
    assert len({call.id for call in answer.calls}) == 2


async def test_calls_of_a_whole_answer_are_never_merged():
    """Whatever their ids; and no number, name or id is anything but text."""
    body = completion(
        None,
        [("Ping", {"host": "a"}), ("Ping", {"host": "b"}), ("Ping\ud800", {"x": "\ud83d\ude00"})],
    )
    for call in body["choices"][0]["message"]["tool_calls"]:
        call["id"] = 7
    answer, _, _ = await ask([http(200, {**body, "model": 5})])
    assert isinstance(answer, ModelReply)
    assert [call.arguments for call in answer.calls] == [{"host": "a"}, {"host": "b"}, {"x": "😀"}]
    assert len({call.id for call in answer.calls}) == 3
    assert all(isinstance(call.id, str) for call in answer.calls)
    assert (answer.calls[2].tool, answer.model) == ("Ping\ufffd", "5")


async def test_arguments_that_are_no_json_numbers_are_a_flaw():
    """NaN would break every reader of the events."""
    answer, _, _ = await ask(
        [http(200, completion(None, [("Ping", '{"x": NaN}'), ("Ping", "[" * 50_000)]))]
    )
    assert isinstance(answer, ModelReply)
    assert all(call.flaw for call in answer.calls)


async def test_an_answer_that_drips_is_a_timeout():
    """The provider's timeout is that of the whole request."""

    async def drip(request: dict[str, Any]) -> bytes:
        await anyio.sleep(0.2)
        return b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"

    answer, _, _ = await ask(drip, timeout=0.5)
    assert isinstance(answer, ModelError)
    assert answer.code == "timeout"


def error_body(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "x"}}


CUT = http(200, completion())[:-20]
FAILURES = {
    "refused": (http(400, error_body("no such model")), "refused", "no such model"),
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
    "not-json": (http(200, b"<html>hello"), "unreadable", "unreadable"),
    "not-an-answer": (http(200, {"hello": 1}), "unreadable", "no choices"),
    "not-an-object": (http(200, [1]), "unreadable", "unreadable"),
    "strange-choice": (http(200, {"choices": [1]}), "unreadable", "unreadable"),
    "empty": (http(200, completion("  ")), "empty", "empty"),
    "null": (http(200, completion(None)), "empty", "empty"),
    "error-in-200": (http(200, error_body(f"inside {SECRET}")), "unavailable", "inside ***"),
    "strange-refusal": (
        http(200, {"choices": [{"message": {"refusal": 7, "content": [1]}}]}),
        "unreadable",
        "unreadable",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_every_failure_is_one_clear_error(name: str):
    """With its kind, and without a secret in it."""
    reply, code, said = FAILURES[name]
    answer, told, _ = await ask([reply])
    assert isinstance(answer, ModelError), answer
    assert answer.code == code, answer
    assert said in str(answer)
    assert SECRET not in str(answer)
    assert [event.outcome for event in told if isinstance(event, Called)] == [code]


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
    answer, told, server = await ask(replies, retries=retries)
    assert isinstance(answer, ModelReply) is good
    assert len(server.asked) == asked
    assert sum(isinstance(event, Notice) for event in told) == asked - 1


async def test_retry_after_is_heeded():
    """The server's wait counts, not our own."""
    answer, told, _ = await ask(
        [http(429, {}, "retry-after: 0.2\r\n"), http(200, completion())], retries=1
    )
    assert isinstance(answer, ModelReply)
    assert any("in 0.2 s" in event.message for event in told if isinstance(event, Notice))


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
        {"mine": ProviderConfig(base_url="http://127.0.0.1:1/v1", max_retries=0)}, None, 0, 0
    )
    with pytest.raises(ModelError, match=r"127\.0\.0\.1:1") as caught:
        await catalog.model(ModelConfig(model="m", provider="mine")).reply(
            ModelRequest("a", []), _deaf
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
            model.reply(ModelRequest("a", [{"role": "user", "content": "x"}]), _deaf)
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
        request = ModelRequest("a", [{"role": "user", "content": "x"}], stream=True)
        assert (await model.reply(request, _deaf)).content == "ok"
        assert (await model.reply(request, _deaf)).content == "ok"
    assert ["stream_options" in asked for asked in server.asked] == [True, False, False]


async def test_connections_are_shared_and_headers_sent():
    """Fifty calls at once of one endpoint's client; the provider's own headers on each."""
    async with (
        model_server([http(200, completion())]) as server,
        model_at(server, headers={"X-Team": "blue"}) as model,
    ):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(
                    model.reply, ModelRequest("a", [{"role": "user", "content": "x"}]), _deaf
                )
    assert len(server.asked) == 50
    assert all("x-team: blue" in head.lower() for head in server.headers)


async def _deaf(event: ModelEvent) -> None:
    pass
