"""Endpoints that answer in pieces only, and lengths of answers that a model does not write."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoints import both, call, crew_at, error, played, refusing, warnings
from tests.support.model_server import http, model_server

ONLY_IN_PIECES = (
    "parameter.enable_thinking must be set to false for non-streaming calls",
    "This model only support stream mode, please enable the stream parameter to access the model.",
    "Stream must be set to true",
    "Requests with max_tokens > 4096 must have stream=true",
    "enable thinking can not be support when `stream=False`",
)


@pytest.mark.parametrize("text", ONLY_IN_PIECES)
async def test_an_endpoint_that_answers_in_pieces_only(tmp_path: Path, text: str):
    """It is asked so, once more; who wants the answer whole gets no pieces."""
    refuses = refusing(error(text), lambda request: not request.get("stream"))
    async with model_server(refuses) as server:
        folder = crew_at(tmp_path, server.url)
        run = await played(folder)
    assert (run.row.answer, warnings(run)) == ("done", ["endpoint_learned"])
    assert [bool(one.get("stream")) for one in server.asked] == [False, True]
    assert run.of("agent_delta") == []


async def test_it_can_be_declared(tmp_path: Path):
    async with model_server(refusing(error("no"), lambda one: not one.get("stream"))) as server:
        provider = {"base_url": server.url, "quirks": {"only_streams": True}}
        run = await played(crew_at(tmp_path, server.url, providers={"gw": provider}))
    assert (run.row.answer, len(server.asked)) == ("done", 1)


# by what is wanted: the words of the refusal, and what is asked for then
MOST = (
    (
        "max_tokens is too large: 50000. This model supports at most 4096 completion tokens, "
        "whereas you provided 50000.",
        4096,
    ),
    ("`max_tokens` must be less than or equal to `8192`, the maximum value for `m-1`", 8192),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
    (
        "The parameter max_tokens specified in the request is not valid: integer above maximum "
        "value, expected a value <= 32768, but got 50000 instead.",
        32768,
    ),
    (
        "max_tokens: 50000 > 8192, which is the maximum allowed number of output tokens for m-1",
        8192,
    ),
    ("The maximum tokens you requested exceeds the model limit of 4096. Try again.", 4096),
    (
        "Unable to submit request because it has a maxOutputTokens value of 50000 but the supported "
        "range is from 1 (inclusive) to 8193 (exclusive).",
        8192,
    ),
    ("max_tokens must be less than or equal to 4096, received 50000", 4096),
)


@both
@pytest.mark.parametrize(("text", "most"), MOST)
async def test_an_answer_as_long_as_it_may_be(tmp_path: Path, text: str, most: int, deltas: bool):
    """And from then on no longer one is asked for."""
    refuses = refusing(error(text), lambda request: request.get("max_tokens", 0) > most)
    async with model_server(refuses) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 50_000}), deltas=deltas)
    assert (run.row.answer, warnings(run)) == ("done", ["endpoint_learned"])
    assert [one["max_tokens"] for one in server.asked] == [50_000, most]


BESIDE = (
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context "
    "length is 4096 tokens and your request has 312 input tokens (4096 > 4096 - 312).",
    "This model's maximum context length is 4096 tokens. However, you requested 4408 tokens (312 in "
    "the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 4096 tokens. However, you requested about 4408 tokens "
    "(300 of text input, 12 of tool input, 4096 in the output).",
    "input length and `max_tokens` exceed context limit: 312 + 4096 > 4096, decrease input length or "
    "`max_tokens` and try again",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 312 `inputs` "
    "tokens and 4096 `max_new_tokens`",
)


@pytest.mark.parametrize("text", BESIDE)
async def test_an_answer_that_does_not_fit_beside_the_prompt(tmp_path: Path, text: str):
    """It is asked for as long as there is room; the prompt stays whole."""
    refuses = refusing(error(text), lambda request: request["max_tokens"] > 3784)
    async with model_server(refuses) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 4096}))
    assert (run.row.answer, warnings(run)) == ("done", ["answer_bounded"])
    assert [one["max_tokens"] for one in server.asked] == [4096, 3784]
    assert server.asked[0]["messages"] == server.asked[1]["messages"]


async def test_much_less_room_than_wanted(tmp_path: Path):
    """An answer of what is left is better than none, where there is no history to shorten."""
    text = BESIDE[0].replace("too large: 4096", "too large: 32000")
    refuses = refusing(error(text), lambda request: request["max_tokens"] > 3784)
    async with model_server(refuses) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 32000}))
    assert (run.row.answer, warnings(run)) == ("done", ["answer_bounded"])
    assert [one["max_tokens"] for one in server.asked] == [32000, 3784]


async def test_a_prompt_without_room(tmp_path: Path):
    """Where the prompt itself is too long, no answer is asked for that is none."""
    text = BESIDE[0].replace("has 312 input", "has 4000 input")
    async with model_server(lambda _: http(400, error(text))) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 4096}))
    assert run.of("error")[0]["metadata"]["code"] == "context_overflow"
    assert len(server.asked) == 1


async def test_a_server_that_never_has_enough(tmp_path: Path):
    """It ends, whatever it says."""

    def reply(request: dict[str, Any]) -> bytes:
        return http(400, error(BESIDE[0]))

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 4096}))
    assert (run.row.status, len(server.asked)) == ("failed", 2)


# refusals of a request with these keys that teach nothing
NOTHING: tuple[tuple[dict[str, Any], str], ...] = (
    ({"max_tokens": 32000}, "max_tokens: 32000, stop: at most 16 sequences"),
    ({"max_tokens": 32000}, "reduce max_tokens or send no more than 128 messages"),
    ({"max_tokens": 32000}, "The sum of prompt tokens and max_tokens must be at most 8192"),
    ({"max_tokens": 32000}, "max_tokens must be less than or equal to 1234, the prompt has 6958"),
    ({"thinking": "low"}, "reasoning_effort and tools: tool 'get_flow' has an invalid schema"),
    ({}, "Non-streaming requests are queued: try later"),
    ({}, "logprobs only streaming"),
    ({}, "n > 1 is only supported in streaming"),
)


@pytest.mark.parametrize(("agent", "text"), NOTHING)
async def test_words_about_something_else(tmp_path: Path, agent: dict[str, Any], text: str):
    async with model_server(lambda _: http(400, error(text))) as server:
        run = await played(crew_at(tmp_path, server.url, agent))
    assert (run.row.status, warnings(run)) == ("failed", [])


async def test_a_number_with_separators(tmp_path: Path):
    text = "max_tokens is too large: 32,000. This model supports at most 16,384 completion tokens"
    refuses = refusing(error(text), lambda request: request["max_tokens"] > 16_384)
    async with model_server(refuses) as server:
        await played(crew_at(tmp_path, server.url, {"max_tokens": 32_000}))
    assert [one["max_tokens"] for one in server.asked] == [32_000, 16_384]


async def test_little_room_shortens_the_history(tmp_path: Path):
    """An answer of a part of what is wanted is none that is wanted."""
    text = BESIDE[0].replace("has 312 input", "has 3000 input")
    refuses = refusing(
        error(text), lambda request: len(request["messages"]) > 2, {"tool_calls": [call()]}
    )
    async with model_server(refuses) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 4096}))
    assert run.of("error")[0]["metadata"]["code"] == "context_overflow"
    assert {one["max_tokens"] for one in server.asked} == {4096}


async def test_a_server_that_has_less_each_time(tmp_path: Path):
    """It is asked for a shorter answer once."""

    def reply(request: dict[str, Any]) -> bytes:
        room = 4096 - request["max_tokens"] + 1
        return http(400, error(BESIDE[0].replace("has 312 input", f"has {room} input")))

    async with model_server(reply) as server:
        await played(crew_at(tmp_path, server.url, {"max_tokens": 4000}))
    assert len(server.asked) <= 3
