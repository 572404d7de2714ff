"""Answers of OpenAI-compatible servers, in every dialect, over real HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agents import Model, ModelError, ModelReply, ModelRequest
from agents.config import ModelConfig
from agents.endpoint import ProviderConfig
from agents.model import ModelEvent, RequestEnded, ShownMessage, TextDelta, ToolDefinition
from agents.providers.catalog import Catalog
from agents.tokenizing.tokens import TokenRatios
from tests.support.model_server import ModelServer, Reply, chunks, completion, http, model_server
from tests.support.shown import shown_message
from tests.support.tool_calls import moving_clock
from tools.clock import SYSTEM_CLOCK, Clock
from tools.limits.guards import Guards
from tools.text.secrets import Secrets

SECRET = "sk-very-secret-key"


PING = ToolDefinition("Ping", "", {"type": "object", "properties": {}})
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
    server: ModelServer,
    retries: int = 0,
    timeout: float = 5,
    headers: dict[str, str] | None = None,
    clock: Clock = SYSTEM_CLOCK,
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
    catalog = Catalog(
        {"mine": config},
        None,
        0.001,
        0.002,
        clock,
        Secrets(),
        Guards(clock),
        TokenRatios(),
    )
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
    """What the model answers, or its error; what was emitted; what the server saw."""
    received: list[ModelEvent] = []

    async def hear(event: ModelEvent) -> None:
        received.append(event)

    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi é"}]
    async with model_server(reply) as server, model_at(server, retries, timeout) as model:
        try:
            answer: ModelReply | ModelError = await model.reply(
                ModelRequest("a", [shown_message(m) for m in messages], stream=stream, **request),
                hear,
            )
        except ModelError as error:
            answer = error
        return answer, received, server


async def test_what_is_sent():
    """The messages as they are, only what is set, the key as bearer; one request."""
    answer, received, server = await ask(
        [http(200, completion("hello"))], tools=(PING,), temperature=0.0, max_tokens=7
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
    assert [type(event) for event in received] == [RequestEnded]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_calls(stream: bool):
    """Several calls at once, arguments as JSON text or as an object, without arguments, unreadable ones with an error."""
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
    assert ["error" if call.argument_error else "good" for call in answer.calls] == [
        "good",
        "error",
        "good",
        "error",
    ]


async def test_words_come_as_they_are_written():
    """Pieces in order, half a surrogate pair in each of two chunks, usage from the last chunk."""
    answer, received, _ = await ask(
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
    assert "".join(event.text for event in received if isinstance(event, TextDelta)).startswith(
        "Xin chào "
    )


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


async def test_arguments_that_are_no_json_numbers_are_an_error():
    """NaN would break every reader of the events."""
    wrong = ['{"x": NaN}', '{"x": [1e999]}', '{"x": -1e999}', "[" * 50_000]
    answer, _, _ = await ask([http(200, completion(None, [("Ping", text) for text in wrong]))])
    assert isinstance(answer, ModelReply)
    assert all(call.argument_error for call in answer.calls)


@pytest.mark.parametrize("text", ["null", "", " ", "{}"])
async def test_a_call_without_arguments(text: str):
    """However a server writes that."""
    answer, _, _ = await ask([http(200, completion(None, [("Ping", text)]))])
    assert isinstance(answer, ModelReply)
    assert [(call.arguments, call.argument_error) for call in answer.calls] == [({}, None)]


async def test_arguments_are_bounded():
    """More than a megabyte of them is an error of the call, which the model is shown."""
    calls = [("Ping", {"x": "y" * size}) for size in (2**20 - 20, 2**20)]
    answer, _, _ = await ask([http(200, completion(None, calls))])
    assert isinstance(answer, ModelReply)
    errors = [call.argument_error for call in answer.calls]
    assert errors == [None, "the arguments are larger than 1,048,576 bytes"]


async def test_an_answer_that_drips_is_a_timeout():
    """The provider's timeout is that of the whole request."""

    async def drip(request: dict[str, Any]) -> bytes:
        await anyio.sleep(0.2)
        return b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"

    answer, _, _ = await ask(drip, timeout=0.5)
    assert isinstance(answer, ModelError)
    assert answer.code == "timeout"


async def test_connections_are_shared_and_headers_sent():
    """Fifty calls at once of one endpoint's client; the provider's own headers on each."""
    async with (
        model_server([http(200, completion())]) as server,
        model_at(server, headers={"X-Team": "blue"}) as model,
    ):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(
                    model.reply,
                    ModelRequest("a", [ShownMessage("user", "x")]),
                    _ignore,
                )
    assert len(server.asked) == 50
    assert all("x-team: blue" in head.lower() for head in server.headers)


async def test_a_request_holds_a_virtual_clock():
    """Its server takes real time: what is due in a day does not pass meanwhile."""

    async def slow(request: dict[str, Any]) -> bytes:
        await anyio.sleep(0.05)
        return http(200, completion("hello"))

    async with (
        moving_clock() as clock,
        model_server(slow) as server,
        model_at(server, clock=clock) as model,
    ):
        passed: list[float] = []
        clock.call_later(86_400, lambda: passed.append(clock.monotonic()))
        reply = await model.reply(ModelRequest("a", [ShownMessage("user", "x")]), _ignore)
    assert (reply.content, passed) == ("hello", [])


async def _ignore(event: ModelEvent) -> None:
    pass
