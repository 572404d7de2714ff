"""What a model thinks: shown as it comes, counted, never repeated elsewhere; and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from crew import MemoryStore, Query, Runs, load_crew
from crew.crew import check
from server.telemetry.metrics import Metrics
from tests.agents.dialects.test_anthropic import MODEL, at, thinking_then_done
from tests.support.endpoints import crew_at, played, warnings
from tests.support.model_server import chunks, http, model_server
from tests.support.strict.anthropic import call, text, thought
from tests.support.strict.responses import document, events, message
from tests.support.strict.served import PLACE, claude, streamed


async def shown(folder: Path, *, deltas: bool = True) -> list[tuple[str, str]]:
    """The pieces of a run as they were published, joined by their kind."""
    crew = load_crew(folder)
    out: list[tuple[str, str]] = []
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go", deltas=deltas))
        async for event in runs.follow(run.id):
            if event is not None and event.type in ("agent_thinking", "agent_delta"):
                known = out[-1] if out and out[-1][0] == event.type else None
                piece = event.content
                out = (
                    [*out[:-1], (event.type, known[1] + piece)]
                    if known
                    else [*out, (event.type, piece)]
                )
    return out


async def test_it_is_shown_where_it_is_wanted(tmp_path: Path):
    async with model_server(claude(thinking_then_done)) as server:
        settings = {"show_thinking": True}
        folder = at(tmp_path, server.url, {"thinking": "low"}, settings=settings)
        assert await shown(folder) == [
            ("agent_thinking", "I need the sum."),
            ("agent_delta", "Let me see."),
            ("agent_thinking", "so it is"),
            ("agent_delta", "done"),
        ]
        assert await shown(folder, deltas=False) == []
        folder = at(tmp_path / "2", server.url, {"thinking": "low"})
        assert [kind for kind, _ in await shown(folder)] == ["agent_delta"]
    assert server.asked[0]["thinking"] == {"type": "adaptive", "display": "summarized"}


async def test_it_is_shown_of_chat_completions(tmp_path: Path):
    answer = chunks({"reasoning_content": "hm, "}, {"reasoning_content": "so"}, {"content": "done"})
    async with model_server([answer]) as server:
        folder = crew_at(tmp_path, server.url, settings={"show_thinking": True})
        assert await shown(folder) == [("agent_thinking", "hm, so"), ("agent_delta", "done")]


async def test_it_is_shown_of_responses(tmp_path: Path):
    whole = events(document("g-1", [message("done", 1)]))
    part = {"type": "response.reasoning_summary_text.delta", "delta": "hm"}
    async with model_server([streamed([whole[0], part, *whole[1:]])]) as server:
        provider = {"base_url": server.url, "dialect": "responses"}
        settings = {"show_thinking": True}
        folder = crew_at(tmp_path, server.url, providers={"gw": provider}, settings=settings)
        assert await shown(folder) == [("agent_thinking", "hm"), ("agent_delta", "done")]
    assert server.asked[0]["reasoning"] == {"summary": "auto"}


async def test_a_secret_in_it_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In what is shown; and what is signed does not go back changed: it is left out."""
    monkeypatch.setenv("TOKEN_OF_TEST", "s3cret-value-1")

    def say(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["content"][0]["type"] == "tool_result":
            return [text("done")]
        return [thought(PLACE, MODEL, "it is s3cret-value-1."), call("t1", "add", {"a": 1})]

    async with model_server(claude(say)) as server:
        provider = {
            "base_url": server.url,
            "dialect": "anthropic",
            "headers": {"X-Token": "${TOKEN_OF_TEST}"},
        }
        settings = {"show_thinking": True}
        agent = {"model": MODEL, "thinking": "low"}
        folder = crew_at(tmp_path, server.url, agent, providers={"gw": provider}, settings=settings)
        pieces = await shown(folder)
    assert "s3cret" not in str(pieces)
    second = server.asked[1]["messages"][1]["content"]
    assert [block["type"] for block in second] == ["tool_use"]


async def test_metrics(tmp_path: Path):
    """Tokens by kind; messages that went without what another endpoint wants back."""

    def first(body: dict[str, Any]) -> bytes:
        if len(body["messages"]) > 1:
            return http(503, {"type": "error", "error": {"type": "api_error", "message": "x"}})
        return claude(thinking_then_done)(body)

    async with (
        model_server(first) as one,
        model_server(claude(lambda body: [text("done")], "there")) as other,
    ):
        providers = {
            "gw": {"base_url": one.url, "dialect": "anthropic", "max_retries": 0},
            "two": {"base_url": other.url, "dialect": "anthropic"},
        }
        agent = {"model": MODEL, "thinking": "low", "backup": {"model": MODEL, "provider": "two"}}
        crew = load_crew(crew_at(tmp_path, one.url, agent, providers=providers))
        metrics = Metrics(crew)
        async with Runs(crew, MemoryStore(), listeners=(metrics,)) as runs:
            run = await runs.start(Query("go"))
            assert (await run.outcome()).answer == "done"
    lines = generate_latest(metrics.registry).decode().splitlines()
    assert 'crew_kept_dropped_total{provider="two"} 1.0' in lines
    assert f'crew_model_tokens_total{{model="{MODEL}",type="cache_read"}} 40.0' in lines
    assert f'crew_model_tokens_total{{model="{MODEL}",type="prompt"}} 120.0' in lines


@pytest.mark.parametrize(
    ("provider", "agent", "code"),
    [
        ({"dialect": "chat"}, {"thinking": {"budget_tokens": 2000}}, "thinking-budget"),
        ({"dialect": "responses"}, {"thinking": {"budget_tokens": 2000}}, "thinking-budget"),
        (
            {"dialect": "anthropic"},
            {"thinking": {"budget_tokens": 2000}, "max_tokens": 2000},
            "thinking-budget",
        ),
        ({"dialect": "anthropic"}, {"thinking": "low", "temperature": 1}, "thinking-sampling"),
        ({"dialect": "anthropic"}, {"thinking": "low", "top_p": 0.9}, "thinking-sampling"),
        (
            {"dialect": "anthropic"},
            {"thinking": {"budget_tokens": 2000}, "tool_choice": "required"},
            "thinking-tool-choice",
        ),
        ({"dialect": "anthropic"}, {"thinking": {"budget_tokens": 1000}}, "out-of-range"),
    ],
)
def test_what_a_provider_would_refuse(tmp_path: Path, provider: Any, agent: Any, code: str):
    """With the line that says it; and nothing else is wrong."""
    url = "http://127.0.0.1:1/v1"
    folder = crew_at(tmp_path, url, agent, providers={"gw": {"base_url": url, **provider}})
    (found,) = check(folder).problems
    assert (found.code, found.file) == (code, "agents/a.yaml")


@pytest.mark.parametrize("key", ["max_tokens", "system", "thinking"])
def test_a_key_that_the_dialect_writes(tmp_path: Path, key: str):
    """Each dialect has its own."""
    url = "http://127.0.0.1:1/v1"
    models = {"m-1": {"body": {key: 1, "service_tier": "auto"}}}
    providers = {"gw": {"base_url": url, "dialect": "anthropic"}}
    folder = crew_at(tmp_path, url, providers=providers, models=models)
    assert [one.code for one in check(folder).problems] == ["body-key"]


async def test_a_body_has_what_the_files_add(tmp_path: Path):
    async with model_server(claude(lambda body: [text("done")])) as server:
        models = {MODEL: {"provider": "gw", "body": {"service_tier": "auto"}}}
        run = await played(at(tmp_path, server.url, models=models))
    assert (run.row.answer, warnings(run)) == ("done", [])
    assert server.asked[0]["service_tier"] == "auto"


@pytest.mark.parametrize(
    ("dialect", "cache", "is_told"),
    [("chat", "1h", True), ("responses", "1h", True), ("responses", "off", False)],
)
def test_a_time_of_caches_without_effect(tmp_path: Path, dialect: str, cache: str, is_told: bool):
    url = "http://127.0.0.1:1/v1"
    models = {"m-1": {"provider": "gw", "prompt_cache": cache}}
    providers = {"gw": {"base_url": url, "dialect": dialect}}
    folder = crew_at(tmp_path, url, providers=providers, models=models)
    found = [one for one in check(folder).problems if "prompt_cache" in one.message]
    assert bool(found) == is_told
