"""Answers in forms that servers and gateways give them: read as they were meant, acted on once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.dialects.partial_calls import read_arguments
from agents.written.thoughts import split_thoughts
from tests.support.crews import Played
from tests.support.endpoints import call, crew_at, error, played, warnings
from tests.support.model_server import chunks, completion, http, model_server

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def stream(*choices: dict[str, Any], end: str = "data: [DONE]\n\n") -> bytes:
    """A streamed answer, each chunk with a choice of its own."""
    lines = "".join(f"data: {json.dumps({'choices': [one]})}\n\n" for one in choices)
    return SSE + f"{lines}{end}".encode()


def piece(**delta: Any) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def end(reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"index": 0, "delta": {}, "finish_reason": reason, **more}


def called(**more: Any) -> dict[str, Any]:
    return piece(tool_calls=[{"index": 0, **call(), **more}])


async def ran(folder: Path, reply: Callable[[Any], bytes] | list[bytes], **crew: Any) -> Played:
    async with model_server(reply) as server:
        deltas = crew.pop("deltas", True)
        return await played(crew_at(folder, server.url, **crew), deltas=deltas)


def after_a_call(first: bytes) -> Callable[[dict[str, Any]], bytes]:
    """An answer with a call, and behind its result another one."""
    return lambda asked: (
        chunks({"content": "done"}) if asked["messages"][-1]["role"] == "tool" else first
    )


CALLS = {
    "the whole message behind its deltas": stream(
        called(), end("tool_calls", message={"tool_calls": [call()]})
    ),
    "the whole call twice": stream(called(), called(), end("tool_calls")),
    "an empty object, and the name again": stream(
        called(function={"name": "add", "arguments": "{}"}), called(), end("tool_calls")
    ),
    "beside the text, in another choice": SSE
    + "".join(
        f"data: {json.dumps({'choices': one})}\n\n"
        for one in (
            [piece(content="I add."), {**called(), "index": 1}],
            [end(), {**end("tool_calls"), "index": 1}],
        )
    ).encode(),
    "in both forms, old and new": stream(
        piece(tool_calls=[{"index": 0, **call()}], function_call=call()["function"]),
        end("tool_calls"),
    ),
    "as far as its arguments are": stream(
        *(
            called(function={"name": "add", "arguments": part})
            for part in ('{"a"', '{"a":40', '{"a":40}')
        ),
        end("tool_calls"),
    ),
    "a call in place of a list": stream(piece(tool_calls=call()), end("tool_calls")),
    "a brace too many": stream(
        called(function={"name": "add", "arguments": '{"a": 40}}'}), end("tool_calls")
    ),
    "its arguments as input": stream(
        piece(tool_calls=[{"id": "c1", "name": "add", "input": {"a": 40}}]), end("tool_calls")
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_call_acts_once(tmp_path: Path, name: str):
    run = await ran(tmp_path, after_a_call(CALLS[name]))
    results = [one["metadata"]["output"] for one in run.of("tool_result")]
    assert results == ["sum 42"], results
    assert run.row.answer == "done"


HELLO = {
    "the whole message behind its deltas": stream(
        piece(content="Hel"), piece(content="lo"), end(message={"content": "Hello"})
    ),
    "the message as far as it is": stream(
        piece(content="Hel"), {"delta": {}, "message": {"content": "Hello"}}, end()
    ),
    "a mark at the beginning": SSE + b"\xef\xbb\xbf" + chunks({"content": "Hello"})[len(SSE) :],
    "carriage returns": SSE + chunks({"content": "Hello"})[len(SSE) :].replace(b"\n", b"\r"),
    "signs of life": stream(piece(content="Hello"), end()).replace(
        b"data: [DONE]", b'data: ping\n\ndata: "[DONE]"'
    ),
    "events under the name of JSON": chunks({"content": "Hello"}).replace(
        b"text/event-stream", b"application/json"
    ),
    "JSON behind comments": http(
        200, b": PROCESSING\n\n" + json.dumps(completion("Hello")).encode()
    ),
    "JSON and the end of a stream": http(
        200, json.dumps(completion("Hello")).encode() + b"\n\ndata: [DONE]\n\n"
    ),
    "lines of JSON": SSE.replace(b"text/event-stream", b"application/x-ndjson")
    + b'{"message": {"content": "Hel"}}\n{"message": {"content": "lo"}, "done_reason": "stop"}\n',
}


WHOLE = completion("Hello")
HELLO |= {
    "an envelope": http(200, {"code": 200, "msg": "success", "data": WHOLE}),
    "an envelope with the usage beside it": http(
        200, {"output": {"choices": WHOLE["choices"]}, "usage": USAGE, "message": ""}
    ),
    "encoded twice": http(200, json.dumps(json.dumps(WHOLE)).encode()),
}


@pytest.mark.parametrize("deltas", [True, False])
@pytest.mark.parametrize("name", HELLO)
async def test_a_text_comes_once(tmp_path: Path, name: str, *, deltas: bool):
    """Also where it comes in pieces though it was not asked for so."""
    run = await ran(tmp_path, [HELLO[name]], deltas=deltas)
    assert (run.row.status, run.row.answer) == ("completed", "Hello")


async def test_a_refusal_beside_no_text(tmp_path: Path):
    """Where the text is `false`, it is none."""
    message = {"role": "assistant", "content": False, "refusal": "I cannot."}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    run = await ran(tmp_path, [http(200, completion("") | {"choices": choices})])
    assert "I cannot." in str(run.row.answer)


NEARLY = ["{'a': {'b': 1}}", '{"a": {"b": 1,}}', "{a: {b: 1}}", '{"a": {"b": 1}}}']


@pytest.mark.parametrize("text", NEARLY)
def test_arguments_that_are_nearly_json(text: str):
    assert read_arguments(text) == {"a": {"b": 1}}


async def test_a_number_is_a_text(tmp_path: Path):
    run = await ran(tmp_path, [http(200, completion(42))])  # type: ignore[arg-type]
    assert run.row.answer == "42"


async def test_an_empty_list_is_no_arguments(tmp_path: Path):
    """Of a tool that takes none."""
    pinged = stream(called(function={"name": "ping", "arguments": "[]"}), end("tool_calls"))
    run = await ran(tmp_path, after_a_call(pinged))
    assert run.of("tool_start")[0]["metadata"]["arguments"] == {}


WORDS = {
    "User is not authorized to do this": {"Message": "User is not authorized to do this"},
    "Invalid ApiKey": {"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "o.x"}}},
    "bad thing": {"errors": {"message": ["bad thing"]}},
    "inner words": {"error": '{"message": "inner words"}'},
    "Access & more denied": b"<?xml version='1.0'?><Error><Code>X</Code>"
    b"<Message>Access &amp; more denied</Message></Error>",
}


@pytest.mark.parametrize("words", WORDS)
async def test_the_words_alone_are_told(tmp_path: Path, words: str):
    """Whatever form stands around them."""
    run = await ran(tmp_path, lambda _: http(400, WORDS[words]))
    told = run.of("error")[0]["metadata"] | {"text": run.row.answer}
    assert words in str(told["text"])
    assert not any(mark in str(told["text"]) for mark in ("{", "<", "errorcode", "faultstring"))


async def test_words_of_a_proxy_are_told(tmp_path: Path):
    run = await ran(tmp_path, [SSE + b"data: upstream connect error or disconnect\n\n"])
    assert "upstream connect error" in str(run.of("error"))


FAILED = {
    "a reason": stream(piece(content="HALF AN ANS"), end("error")),
    "another one": stream(piece(content="HALF AN ANS"), end("insufficient_system_resource")),
    "an error in the choice": stream(
        piece(content="HALF AN ANS"), end("error", error={"code": 502, "message": "gone"})
    ),
}


@pytest.mark.parametrize("name", FAILED)
async def test_half_an_answer_is_none(tmp_path: Path, name: str):
    """Where the server says that it failed, it is asked again."""
    run = await ran(tmp_path, [FAILED[name], chunks({"content": "whole"})])
    assert run.row.answer == "whole"


async def test_an_endpoint_that_does_not_stream(tmp_path: Path):
    """Is asked for whole answers from then on; a person sees them all the same."""
    text = "Your organization must be verified to stream this model"
    asked: list[dict[str, Any]] = []

    def reply(request: dict[str, Any]) -> bytes:
        asked.append(request)
        if request.get("stream"):
            return http(400, error(text, param="stream", code="unsupported_value"))
        return http(200, completion("Hello"))

    run = await ran(tmp_path, reply)
    assert (run.row.answer, len(asked)) == ("Hello", 2)
    assert "endpoint_learned" in warnings(run)


LONG = (
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
    "the model is loaded with context length of only 4096 tokens",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
    "Requested tokens (5000) exceed context window of 4096",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Invalid request: Your request exceeded model token limit: 131072",
    "invalid params, context window exceeds limit (2013)",
    "Range of input length should be [1, 30720]",
    "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "prompt too long; exceeded max context length by 123 tokens",
)


@pytest.mark.parametrize("text", LONG)
async def test_too_long_in_the_words_of_each(tmp_path: Path, text: str):
    run = await ran(tmp_path, lambda _: http(400, error(text)))
    assert "context_overflow" in str(run.of("error")), run.of("error")


@pytest.mark.parametrize(
    "body",
    [
        error("Please try again in 100ms."),
        {"error": {"message": "quota", "details": [{"retryDelay": "0.1s"}]}},
    ],
)
async def test_a_wait_in_words_is_kept(tmp_path: Path, body: dict[str, Any]):
    run = await ran(tmp_path, [http(429, body), chunks({"content": "Hello"})])
    assert run.row.answer == "Hello"
    (waited,) = [one for one in run.of("warning") if one["metadata"]["code"] == "model_retry"]
    assert "again in 0.1" in waited["content"], waited["content"]


THOUGHTS = {
    "no opening, in a line": ("So no.</think>I answer.", "So no.", "I answer."),
    "no opening, at a line's end": ("It is 42.</think>\n\n42", "It is 42.", "42"),
    "another mark": ("hm\n[/THINK]\nyes", "hm", "yes"),
    "a second one behind an empty first": ("<think>\n</think><think>hm</think>yes", "hm", "yes"),
    "Cohere": (
        "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>",
        "hm",
        "yes",
    ),
    "spoken of": ("Write `</think>` behind it.", "", "Write `</think>` behind it."),
    "as a word": ("The tag </think> ends it.", "", "The tag </think> ends it."),
    "both spoken of": ("<b>: <think> and </think>.", "", "<b>: <think> and </think>."),
}


@pytest.mark.parametrize("name", THOUGHTS)
def test_what_is_thought_is_no_answer(name: str):
    text, thoughts, answer = THOUGHTS[name]
    assert split_thoughts(text) == (thoughts, answer)


USAGES = {
    "thoughts beside the answer, as xAI counts": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 160,
            "completion_tokens_details": {"reasoning_tokens": 50},
        },
        {"input": 100, "output": 60, "thinking": 50, "cache_write": 0},
    ),
    "what a cache has written, as OpenRouter says": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 50},
        },
        {"input": 100, "output": 10, "thinking": 0, "cache_write": 50},
    ),
}


@pytest.mark.parametrize("name", USAGES)
async def test_usage_is_what_is_paid(tmp_path: Path, name: str):
    given, expected = USAGES[name]
    run = await ran(tmp_path, [http(200, completion("Hello", usage=given))], deltas=False)
    used = run.of("agent_response")[0]["metadata"]["usage"]
    assert {key: used[key] for key in expected} == expected
