"""Parameters that an endpoint refuses, in a crew's runs: found out once, asked again without."""

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from tests.support.crews import Played
from tests.support.endpoints import (
    answer_as,
    both,
    crew_at,
    error,
    played,
    refusing,
    warnings,
)
from tests.support.model_server import http, model_server

MAX_TOKENS = error(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
TEMPERATURE = error(
    "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) "
    "value is supported.",
    param="temperature",
    code="unsupported_value",
)
LITELLM_TEMPERATURE = error(
    "litellm.UnsupportedParamsError: gpt-5-mini doesn't support temperature=0.7 while reasoning is "
    "active. Only temperature=1 is supported unless reasoning_effort resolves to 'none', … To drop "
    "unsupported params set `litellm.drop_params = True`\n\nLiteLLM: model group "
    "'openai/gpt-5-mini' failed with the error above. No fallback was attempted.",
    type="invalid_request_error",
    param=None,
    code="400",
)
BOTH = error(
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
)
PARAMETERS: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
    "max_tokens": (
        MAX_TOKENS,
        lambda r: "max_tokens" in r,
        {"max_tokens": 500},
        {"max_completion_tokens": 500},
    ),
    "max_tokens-elsewhere": (
        error("Unrecognized request argument supplied: max_tokens, use max_completion_tokens"),
        lambda r: "max_tokens" in r,
        {"max_tokens": 500},
        {"max_completion_tokens": 500},
    ),
    "temperature": (
        TEMPERATURE,
        lambda r: r.get("temperature", 1) != 1,
        {"temperature": 0.7},
        {},
    ),
    "temperature-litellm": (
        LITELLM_TEMPERATURE,
        lambda r: r.get("temperature", 1) != 1,
        {"temperature": 0.7},
        {},
    ),
    "both": (
        BOTH,
        lambda r: "temperature" in r and "top_p" in r,
        {"temperature": 0.7, "top_p": 0.9},
        {"temperature": 0.7},
    ),
}


@both
@pytest.mark.parametrize("name", PARAMETERS)
async def test_a_parameter_that_is_refused_is_found_out_once(
    tmp_path: Path, name: str, deltas: bool
):
    """One more request, one warning; then it is known."""
    refusal, refuses, keys, sent = PARAMETERS[name]
    async with model_server(refusing(refusal, refuses)) as server:
        async with Runs(load_crew(crew_at(tmp_path, server.url, keys)), MemoryStore()) as runs:
            rows = []
            for _ in range(2):
                run = await runs.start(Query("go", deltas=deltas))
                rows.append(await run.outcome())
            events = [json.loads(one.encoded) async for one in runs.stored(rows[0].run_id)]
    assert [row.answer for row in rows] == ["done", "done"]
    assert len(server.asked) == 3
    options = {key: server.asked[-1].get(key) for key in sent}
    assert options == sent
    assert not refuses(server.asked[-1])
    is_left_out = any(sent.get(key) is None for key in ("temperature", "top_p") if key in keys)
    told = "parameter_refused" if is_left_out else "endpoint_learned"
    assert warnings(Played(rows[0], events)) == [told]


async def test_runs_at_once_keep_what_each_has_found_out(tmp_path: Path):
    """Refused at the same time, each for something else; the next run needs one request."""
    both_are_here, refusals = asyncio.Event(), [TEMPERATURE, MAX_TOKENS]

    async def refuse(refusal: dict[str, Any]) -> bytes:
        if not refusals:
            both_are_here.set()
        await both_are_here.wait()
        return http(400, refusal)

    def reply(request: dict[str, Any]) -> bytes | Awaitable[bytes]:
        if refusals:
            return refuse(refusals.pop())
        for key, refusal in (("temperature", TEMPERATURE), ("max_tokens", MAX_TOKENS)):
            if key in request:
                return http(400, refusal)
        return answer_as(request, {"content": "done"}, "stop")

    keys = {"temperature": 0.7, "max_tokens": 500}
    async with model_server(reply) as server:
        async with Runs(load_crew(crew_at(tmp_path, server.url, keys)), MemoryStore()) as runs:
            started = [await runs.start(Query("go")) for _ in range(2)]
            rows = [await run.outcome() for run in started]
            told = [json.loads(one.encoded) for run in started async for one in runs.stored(run.id)]
            so_far = len(server.asked)
            rows.append(await (await runs.start(Query("go"))).outcome())
    assert [row.answer for row in rows] == ["done"] * 3
    assert len(server.asked) == so_far + 1
    assert server.asked[-1]["max_completion_tokens"] == 500
    assert sum(event["type"] == "warning" for event in told) == 2


async def test_the_reverse_of_max_tokens(tmp_path: Path):
    """A server that knows the older name alone; declared keys are sent as declared."""
    text = "Unknown parameter: max_completion_tokens. Did you mean max_tokens?"
    declared = {"quirks": {"max_tokens_key": "max_completion_tokens"}}
    async with model_server(
        refusing(error(text), lambda r: "max_completion_tokens" in r)
    ) as server:
        folder = crew_at(
            tmp_path,
            server.url,
            {"max_tokens": 5},
            providers={"gw": {"base_url": server.url, **declared}},
        )
        run = await played(folder)
    assert run.row.answer == "done"
    assert server.asked[0]["max_completion_tokens"] == 5
    assert server.asked[1]["max_tokens"] == 5


async def test_a_value_out_of_range_is_no_lesson(tmp_path: Path):
    """The run ends with the server's words; nothing is left out in silence."""
    text = "max_tokens is out of range"
    async with model_server(refusing(error(text), lambda r: True)) as server:
        run = await played(crew_at(tmp_path, server.url, {"max_tokens": 50_000}))
    assert (run.row.status, len(server.asked)) == ("failed", 1)
    assert text in run.of("error")[0]["content"]
