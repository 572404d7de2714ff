"""What a gateway says in place of an answer: its words reach the person, and nothing is repeated.

Only what may pass is tried again.
"""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import answer_as, both, call, crew_at, error, played, warnings
from tests.support.model_server import completion, http, model_server

QUOTA = "You exceeded your current quota, please check your plan and billing details."
PAGE = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad "
    b"Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
SIGN_IN = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>x</body></html>"
# the answer, what is told, the requests that are made
WORDS: dict[str, tuple[bytes, str, int]] = {
    "loading": (http(200, {"detail": "the model is loading"}), "the model is loading", 3),
    "page": (http(200, SIGN_IN), "answered with HTML: Sign in", 1),
    "page-without-title": (
        http(200, b"<html><style>a{}</style><body><p>Please&nbsp;wait</p>"),
        "answered with HTML: Please wait",
        1,
    ),
    "object-error": (
        http(400, {"object": "error", "message": "bad request", "code": 400}),
        "answered 400: bad request",
        1,
    ),
    "fastapi": (
        http(422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}),
        "answered 422: body.model: field required",
        1,
    ),
    "oauth": (
        http(401, {"error": "invalid_token", "error_description": "the token has expired"}),
        "answered 401: invalid_token: the token has expired",
        1,
    ),
    "a-list": (http(400, [{"error": {"message": "API key not valid"}}]), "API key not valid", 1),
    "openrouter": (
        http(
            400,
            error("Provider returned error", metadata={"raw": '{"error":"no such voice"}'}),
        ),
        "Provider returned error: no such voice",
        1,
    ),
    "nginx": (http(502, PAGE), "answered 502 with HTML: 502 Bad Gateway", 3),
    "too-large": (http(413, PAGE.replace(b"502 Bad Gateway", b"413 Too Large")), "413 Too", 1),
    "quota": (
        http(429, error(QUOTA, type="insufficient_quota", code="insufficient_quota")),
        QUOTA,
        1,
    ),
    "quota-litellm": (
        http(
            429,
            error(
                f"litellm.RateLimitError: RateLimitError: OpenAIException - {QUOTA}",
                type="throttling_error",
                param=None,
                code="429",
            ),
        ),
        QUOTA,
        1,
    ),
    "quota-of-a-minute": (
        http(429, error(f"{QUOTA} Please retry in 0.001s."), "retry-after-ms: 1\r\n"),
        QUOTA,
        3,
    ),
    "unpaid": (http(402, error("Insufficient Balance")), "Insufficient Balance", 1),
    "late": (http(408, error("Timed out generating response")), "Timed out", 3),
    "no-such-path": (
        http(404, {"detail": "Not Found"}),
        "Not Found",
        1,
    ),
}


@both
@pytest.mark.parametrize("name", WORDS)
async def test_a_servers_words_are_told(tmp_path: Path, name: str, deltas: bool):
    """Whatever the status and form; and only what may pass is asked again."""
    answer, told, requests = WORDS[name]
    async with model_server([answer]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert run.row.status == "failed"
    (event,) = run.of("error")
    assert told in event["content"]
    assert "<" not in event["content"]
    assert "\\r" not in event["content"]
    assert len(server.asked) == requests


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
IN_STREAMS: dict[str, tuple[bytes, str, int]] = {
    "as-json": (http(200, error("no capacity")), "no capacity", 3),
    "an-event": (
        STREAM_HEAD + b'event: error\ndata: {"type":"overloaded","message":"overloaded"}\n\n',
        "overloaded",
        3,
    ),
    "unpaid": (http(200, error("pay first", code=402)), "pay first", 1),
    "a-wrong-key": (
        STREAM_HEAD + b'data: {"error":{"message":"bad key","code":401}}\n\n',
        "bad key",
        1,
    ),
    "forbidden": (http(200, error("not for you", code="403")), "not for you", 1),
    "invalid": (http(200, error("no", type="invalid_request_error")), "no", 1),
    "over-lines": (
        STREAM_HEAD + b'data: {"error":\ndata: {"message": "several\\u0020lines"}\ndata: }\n\n',
        "several lines",
        3,
    ),
}


@pytest.mark.parametrize("name", IN_STREAMS)
async def test_an_error_in_a_stream(tmp_path: Path, name: str):
    """Its words, and its kind by what it says."""
    answer, told, requests = IN_STREAMS[name]
    async with model_server([answer]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert told in run.of("error")[0]["content"]
    assert len(server.asked) == requests


async def test_a_spent_quota_goes_to_the_backup(tmp_path: Path):
    """At once."""
    spent = http(429, error(QUOTA, code="insufficient_quota"))
    async with model_server([spent]) as one, model_server([http(200, completion("b"))]) as two:
        models = {
            "primary": {"model": "m-1", "provider": "gw"},
            "backup": {"model": "m-2", "provider": "other"},
        }
        folder = crew_at(tmp_path, one.url, models, providers={"other": {"base_url": two.url}})
        run = await played(folder)
    assert (run.row.answer, len(one.asked), len(two.asked)) == ("b", 1, 1)
    assert warnings(run) == ["model_backup"]


async def test_milliseconds_to_wait_are_kept_to(tmp_path: Path):
    """Azure's header; the warning says how long."""
    answers = [
        http(429, error("slow down"), "retry-after-ms: 150\r\n"),
        http(200, completion("ok")),
    ]
    async with model_server(answers) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "ok"
    # 0.15, and not the 0.001 of the crew's own backoff
    assert "trying again in 0.1 s" in run.of("warning")[0]["content"]


ENDS: dict[str, tuple[dict[str, Any], str, str, int]] = {
    "filter": ({"content": None}, "content_filter", "content filter has held the answer back", 1),
    "reasoning": (
        {"content": "", "reasoning_content": "the answer is 42"},
        "stop",
        "only reasoning",
        1,
    ),
    "length": ({"content": "", "reasoning_content": "hm"}, "length", "max_tokens", 1),
    "open-thoughts": ({"content": "<think>\nhm"}, "length", "max_tokens", 1),
}


@both
@pytest.mark.parametrize("name", ENDS)
async def test_an_answer_without_words_says_why(tmp_path: Path, name: str, deltas: bool):
    """And is not asked for again."""
    message, finish, told, requests = ENDS[name]
    async with model_server(lambda r: answer_as(r, message, finish)) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert told in run.of("error")[0]["content"]
    assert len(server.asked) == requests


@both
async def test_half_an_answer_is_told(tmp_path: Path, deltas: bool):
    """It is the answer, with a warning."""
    half = {"content": "HALF AN ANS"}
    async with model_server(lambda r: answer_as(r, half, "length")) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "HALF AN ANS"
    assert warnings(run) == ["answer_cut"]


async def test_a_stream_without_usage_is_counted(tmp_path: Path):
    """By our own count, which says that it is one."""
    lines = [
        {"choices": [{"delta": {"role": "assistant"}}]},
        {"choices": [{"delta": {"content": "Welcome to our house"}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    limits = {"cost_limits": {"max_tokens_per_day": 5, "block_on_cost_exceed": True}}
    async with model_server([STREAM_HEAD + body.encode()]) as server:
        folder = crew_at(tmp_path, server.url, limits)
        run = await played(folder, deltas=True)
    usage = run.of("done")[0]["metadata"]["usage"]
    assert usage["estimated"] is True
    assert usage["prompt_tokens"] > 10
    assert usage["completion_tokens"] >= 4


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
@both
async def test_a_compressed_answer_is_read(tmp_path: Path, coding: str, deltas: bool):
    """A proxy may have done it, unasked."""

    def packed(answer: bytes) -> bytes:
        head, _, body = answer.partition(b"\r\n\r\n")
        bits = {"gzip": 31, "deflate": 15, "raw": -15}[coding]
        packing = zlib.compressobj(wbits=bits)
        data = packing.compress(body) + packing.flush()
        kept = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
        name = b"gzip" if coding == "gzip" else b"deflate"
        kept += [b"content-encoding: " + name, b"content-length: %d" % len(data)]
        return b"\r\n".join(kept) + b"\r\n\r\n" + data

    async with model_server(lambda r: packed(answer_as(r, {"content": "ok"}, "stop"))) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=deltas)
    assert run.row.answer == "ok"


FORMS: dict[str, bytes] = {
    "texts-in-a-list": http(
        200, {"choices": [{"message": {"content": ["PART1 ", "PART2"]}, "finish_reason": "stop"}]}
    ),
    "parts": http(
        200,
        {
            "choices": [
                {
                    "message": {
                        "content": [
                            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                            {"type": "text", "text": "PART1 PART2"},
                        ]
                    }
                }
            ]
        },
    ),
    "done-without-reason": STREAM_HEAD
    + b'data: {"choices":[{"delta":{"content":"PART1 PART2"}}]}\n\ndata: [DONE]\n\n',
    "message-for-delta": STREAM_HEAD
    + b'data: {"choices":[{"message":{"content":"PART1 PART2"},"finish_reason":"stop"}]}\n\n',
    "no-empty-lines": STREAM_HEAD
    + b'data: {"choices":[{"delta":{"content":"PART1 "}}]}\n'
    + b'data: {"choices":[{"delta":{"content":"PART2"},"finish_reason":"stop"}]}\ndata: [DONE]\n',
}


@pytest.mark.parametrize("name", FORMS)
async def test_a_harmless_oddity_ends_no_run(tmp_path: Path, name: str):
    """A whole answer to a streamed request among them."""
    async with model_server([FORMS[name]]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert run.row.answer == "PART1 PART2"
    assert len(server.asked) == 1


async def test_a_cut_stream_is_asked_for_again(tmp_path: Path):
    """Without `[DONE]` and without a reason."""
    cut = STREAM_HEAD + b'data: {"choices":[{"delta":{"content":"PART1 "}}]}\n\n'
    async with model_server([cut]) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert "cut off" in run.of("error")[0]["content"]
    assert len(server.asked) == 3


async def test_calls_are_called_by_their_messages(tmp_path: Path):
    """The old form, `function_call`, is a call."""
    message = {"content": None, "function_call": {"name": "add", "arguments": '{"a":40}'}}

    def reply(request: dict[str, Any]) -> bytes:
        is_over = request["messages"][-1]["role"] == "tool"
        return answer_as(request, {"content": "done"} if is_over else message, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.answer == "done"
    assert call()["function"]["name"] == run.of("tool_start")[0]["metadata"]["tool"]
