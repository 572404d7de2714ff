"""What runs cost, by what their providers say, over real HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import Played, write_crew
from tests.support.endpoints import answer_as, played
from tests.support.model_server import chunks, completion, http, model_server

PRICES = {"input": 1, "output": 10, "cache_read": 0.1, "thinking": 20}
LIMITED = http(429, {"error": {"message": "slow down"}}, "retry-after: 0\r\n")


def crew_at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    """A crew of one agent with a model of known price."""
    keys = {
        "model": "dear",
        "provider": "gw",
        "is_terminal": True,
        "max_tokens": 50,
        **(agent or {}),
    }
    models = {
        "dear": {"provider": "gw", "model": "m-1", "prices": PRICES},
        "cheap": {"provider": "gw", "model": "m-2", "prices": {"input": 0.5, "output": 1}},
        **crew.pop("models", {}),
    }
    return write_crew(
        folder,
        {"a": keys},
        providers={"gw": {"base_url": url, "max_retries": 2, "timeout_seconds": 5}},
        models=models,
        settings={"retry_backoff_min_millis": 1, "retry_backoff_max_seconds": 0.01},
        **crew,
    )


def cost_of(run: Played) -> dict[str, Any]:
    """What the end says, as the row and the answers do."""
    (done,) = run.of("done")
    cost: dict[str, Any] = done["metadata"]["cost"]
    assert cost == run.row.usage.cost_document()
    answers = [one["metadata"].get("cost", {"usd": 0}) for one in run.of("agent_response")]
    assert round(sum(one["usd"] for one in answers), 9) == cost["usd"]
    return cost


async def test_each_kind_of_token_has_its_price(tmp_path: Path):
    """The parts are taken out of their sums."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    async with model_server([http(200, completion(usage=usage))]) as server:
        run = await played(crew_at(tmp_path, server.url))
    usd = (40 * 1 + 60 * 0.1 + 10 * 10 + 20 * 20) / 1e6
    assert cost_of(run) == {"usd": usd, "unpriced": 0, "estimated": 0}


async def test_refused_requests_cost_nothing(tmp_path: Path):
    """And the answer behind them what it says."""
    async with model_server([LIMITED, LIMITED, http(200, completion())]) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert len(server.asked) == 3
    assert cost_of(run) == {"usd": (10 + 50) / 1e6, "unpriced": 0, "estimated": 0}


async def test_a_backup_has_its_own_price(tmp_path: Path):
    """Not that of the model that it replaces."""

    def reply(request: dict[str, Any]) -> bytes:
        return http(400, {}) if request["model"] == "m-1" else http(200, completion())

    agent = {"backup": {"model": "cheap"}}
    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url, agent))
    assert cost_of(run) == {"usd": (5 + 5) / 1e6, "unpriced": 0, "estimated": 0}


async def test_a_model_that_answers_by_another_name_has_the_price_of_its_alias(tmp_path: Path):
    """Providers name versions, or what they route to."""
    async with model_server([http(200, completion(model="m-1-2026-11"))]) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert cost_of(run)["usd"] == (10 + 50) / 1e6


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -5}, {"prompt_tokens": 10**12}, {"prompt_tokens": "x"}]
)
async def test_an_answer_without_usage_is_estimated(tmp_path: Path, usage: Any):
    """By our own count of what went in and came out."""
    body = completion("one two three")
    body["usage"] = usage
    async with model_server([http(200, body)]) as server:
        run = await played(crew_at(tmp_path, server.url))
    cost = cost_of(run)
    assert cost["estimated"] == 1
    used = run.row.usage
    assert used.completion_tokens >= 3
    usd = (used.prompt_tokens + 10 * used.completion_tokens) / 1e6
    assert cost["usd"] == pytest.approx(usd)


async def test_a_stream_that_is_cut_is_paid_for(tmp_path: Path):
    """As far as it came; the answer of the next try beside it."""
    cut = chunks({"content": "one two three four "}, finish=None, end=False)

    def reply(request: dict[str, Any]) -> bytes:
        return cut if len(server.asked) == 1 else answer_as(request, {"content": "done"}, "stop")

    async with model_server(reply) as server:
        run = await played(crew_at(tmp_path, server.url), deltas=True)
    assert run.row.answer == "done"
    cost = cost_of(run)
    assert cost["estimated"] == 1
    # 10 and 5 of the second try
    assert run.row.usage.prompt_tokens > 10
    assert run.row.usage.completion_tokens >= 5 + 4
    assert cost["usd"] > (10 + 50) / 1e6


async def test_failures_of_a_run_that_fails_are_paid_for(tmp_path: Path):
    """Its row and its last event have what its requests have used."""
    empty = completion("", usage={"prompt_tokens": 20, "completion_tokens": 3})
    async with model_server([http(200, empty)] * 3) as server:
        run = await played(crew_at(tmp_path, server.url))
    assert run.row.status == "failed"
    tries = len(server.asked)
    assert run.row.usage.prompt_tokens == 20 * tries
    assert run.row.usage.cost_usd == pytest.approx((20 + 30) * tries / 1e6)
    (error,) = run.of("error")
    assert error["metadata"]["cost"] == run.row.usage.cost_document()
    assert error["metadata"]["usage"] == run.row.usage.document()


async def test_a_request_that_takes_too_long_is_estimated(tmp_path: Path):
    """Its model was at work meanwhile."""

    async def reply(request: dict[str, Any]) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    folder = crew_at(tmp_path, "http://127.0.0.1:9/v1")
    async with model_server(lambda request: reply(request)) as server:
        text = (folder / "crew.yaml").read_text()
        text = text.replace("http://127.0.0.1:9/v1", server.url).replace(
            "timeout_seconds: 5", "timeout_seconds: 0.3"
        )
        (folder / "crew.yaml").write_text(text)
        run = await played(folder)
    assert run.row.status == "failed"
    assert run.row.usage.estimated == len(server.asked)
    assert run.row.usage.prompt_tokens > 0
    assert run.row.usage.completion_tokens == 0


async def test_an_unknown_price_is_counted(tmp_path: Path):
    """It is none of 0."""
    async with model_server([http(200, completion())]) as server:
        run = await played(crew_at(tmp_path, server.url, {"model": "other", "provider": "gw"}))
    assert cost_of(run) == {"usd": 0.0, "unpriced": 1, "estimated": 0}
    assert "cost_usd" not in run.of("done")[0]["metadata"]["usage"]
    assert [one["metadata"]["code"] for one in run.of("warning")] == ["unpriced"]


async def test_the_agent_and_prices_json_say_what_a_model_costs(tmp_path: Path):
    """In this order, behind `models`."""
    listed = (
        '{"source": "x", "date": "2026-11-28", "models": {"gw/other": {"input": 3, "output": 0}}}'
    )
    own = {"input_token_price_per_million": 2, "output_token_price_per_million": 0}
    found: list[float] = []
    for agent in (
        {"model": "other", "provider": "gw"},
        {"model": "other", "provider": "gw", "cost_limits": own},
        {"model": "dear", "cost_limits": own},
    ):
        async with model_server([http(200, completion())]) as server:
            folder = crew_at(tmp_path / str(len(found)), server.url, agent)
            (folder / "prices.json").write_text(listed)
            found.append(cost_of(await played(folder))["usd"])
    assert found == [30 / 1e6, 20 / 1e6, 60 / 1e6]
