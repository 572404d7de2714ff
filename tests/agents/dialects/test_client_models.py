"""A request may name the model of the agents that take it."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.crew import check
from crew.runs.errors import UnknownModel
from tests.support.endpoints import answering, call, crew_at
from tests.support.model_server import completion, http, model_server
from tests.support.processes import client, serving
from tests.support.strict.anthropic import text
from tests.support.strict.served import claude


def named(folder: Path, chat: str, other: str, **agent: Any) -> Path:
    providers = {"two": {"base_url": other, "dialect": "anthropic"}}
    models = {"m-1": {"provider": "gw"}, "claude": {"provider": "two", "model": "c-1"}}
    keys = {"model_from_client": True, **agent}
    settings = {"client_models": ["claude"]}
    return crew_at(folder, chat, keys, providers=providers, models=models, settings=settings)


async def test_the_model_that_a_request_names(tmp_path: Path):
    """In its own dialect; who names none has the agent's own."""
    async with (
        model_server([http(200, completion("by chat"))]) as chat,
        model_server(claude(lambda body: [text("by the other")])) as other,
    ):
        crew = load_crew(named(tmp_path, chat.url, other.url))
        async with Runs(crew, MemoryStore()) as runs:
            for model, answer in (("claude", "by the other"), ("", "by chat")):
                run = await runs.start(Query("go", model=model))
                assert (await run.outcome()).answer == answer
            with pytest.raises(UnknownModel, match="'gpt'"):
                await runs.start(Query("go", model="gpt"))
    assert other.asked[0]["model"] == "c-1"


async def test_it_is_part_of_the_run(tmp_path: Path):
    """Also behind a pause, on another process, and where the list of now does not have it."""
    async with (
        model_server(answering({"content": "by chat"})) as chat,
        model_server(claude(lambda body: [text("Which one?")])) as other,
    ):
        folder = named(tmp_path, chat.url, other.url, is_terminal=False)
        text_of = (folder / "crew.yaml").read_text()
        routing = "\nrouting: { agent_behaviors: { a: { wait_for_signal: true } } }\n"
        (folder / "crew.yaml").write_text(text_of + routing)
        store = MemoryStore()
        async with Runs(load_crew(folder), store) as runs:
            run = await runs.start(Query("go", model="claude"))
            assert (await run.outcome()).status == "paused"
        async with Runs(load_crew(folder), store) as runs:
            assert (await (await runs.resume(run.id, Answer("go on"))).outcome()).status == "paused"
        without = (folder / "crew.yaml").read_text().replace("- claude", "- m-1")
        (folder / "crew.yaml").write_text(without)
        async with Runs(load_crew(folder), store) as runs:
            await (await runs.resume(run.id, Answer("go on"))).outcome()
    assert (len(other.asked), len(chat.asked)) == (3, 0)


def test_over_http(tmp_path: Path):
    folder = named(tmp_path, "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1")
    with serving(folder) as server, client(server) as http_:
        refused = http_.post("/api/crew/runs", json={"query": "go", "model": "gpt"})
        assert refused.status_code == 400
        assert "settings.client_models does not name 'gpt'" in refused.text
        assert http_.post("/api/crew/runs", json={"query": "go", "model": "claude"}).is_success
        (model,) = http_.get("/api/crew/models").json()["models"]
        assert (model["name"], model["provider"], model["model"]) == ("claude", "two", "c-1")
        assert model["agents"] == ["a"]
        tools = http_.get("/api/crew/tools").json()["tools"]
        assert [one["tool"] for one in tools] == ["add", "note", "ping", "get_weather"]


@pytest.mark.parametrize(
    ("settings", "agent", "code"),
    [
        ({"client_models": ["gpt"]}, {"model_from_client": True}, "client-model"),
        ({"client_models": ["m-1"]}, {}, "ignored-key"),
        ({}, {"model_from_client": True}, "ignored-key"),
    ],
)
def test_what_is_wrong_with_the_files(tmp_path: Path, settings: Any, agent: Any, code: str):
    models = {"m-1": {"provider": "gw"}}
    folder = crew_at(tmp_path, "http://127.0.0.1:1/v1", agent, models=models, settings=settings)
    assert code in [one.code for one in check(folder).problems]


async def test_a_tool_describes_the_crew(tmp_path: Path):
    """Its agents, their tools; no prompts."""
    calls = {"tool_calls": [call("DescribeCrew", "{}")]}
    async with model_server(answering(calls)) as server:
        folder = crew_at(tmp_path, server.url, {"tools": ["DescribeCrew"]})
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            assert (await (await runs.start(Query("go"))).outcome()).answer == "done"
    shown = server.asked[1]["messages"][-1]["content"]
    assert '"agents":[{"id":"a"' in shown
    assert "You are a." not in shown
