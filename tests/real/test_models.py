"""A real model, a strict template, and a gateway: what crews meet outside of our own fakes."""

import asyncio
import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.query import HistoryMessage
from crew.journal.records.rows import RunRow
from crew.journal.wire import RunEvent
from tests.real.installed import needs_real
from tests.real.served_models import MASTER_KEY, Gateway, gateway, llama
from tests.support.crews import write_crew
from tests.support.model_server import Reply, completion, http, model_server
from tests.support.processes import BIN, clean_environment

pytestmark = needs_real

THREE = ("a", "b", "d")
ROUTING = {"defaults": {"a": "b", "b": "d"}}
LOOK = {"look": {"kind": "python", "function": "look.py:look"}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama(tmp_path_factory.mktemp("llama") / "log") as url:
        yield url


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same model, whose template refuses a system prompt and roles out of turn."""
    with llama(tmp_path_factory.mktemp("strict") / "log", "strict.jinja") as url:
        yield url


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[Gateway]:
    with gateway(tmp_path_factory.mktemp("litellm"), model) as found:
        yield found


def crew_at(folder: Path, url: str, model: str = "smol", **more: Any) -> Path:
    """A crew of one agent or of several, whose model is served there."""
    # its server ends a connection now and then, as a request is sent on it
    provider = {"base_url": url, "api_key": MASTER_KEY, "max_retries": 1, "timeout_seconds": 120}
    agent = {"provider": "far", "model": model, "max_tokens": 24, **more.pop("agent", {})}
    agents = dict.fromkeys(more.pop("agents", ("a",)), agent)
    return write_crew(folder, agents, providers={"far": provider}, **more)


async def play(folder: Path, *queries: Query) -> list[tuple[RunRow, list[RunEvent]]]:
    """Runs, one after the other, of one process; each with its events, those in pieces too."""
    played = []
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        for query in queries:
            run = await runs.start(query)
            events = [one async for one in runs.follow(run.id) if one is not None]
            played.append((await run.outcome(), events))
    return played


def doctor(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(BIN / "crew"), "doctor", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=clean_environment())


def warnings(events: list[RunEvent]) -> list[str]:
    return [str(one.metadata["code"]) for one in events if one.type == "warning"]


async def test_a_run_a_stream_and_a_conversation(model: str, tmp_path: Path):
    """The pieces are the answer, the server counts, the second exchange knows the first."""
    folder = crew_at(tmp_path / "crew", model, conversations={})
    first = Query("Say hello.", deltas=True, conversation_id="c1")
    second = Query("What did I ask?", conversation_id="c1")
    (one, events), (two, _) = await play(folder, first, second)
    assert (one.status, two.status) == ("completed", "completed")
    pieces = [event.content for event in events if event.type == "agent_delta"]
    assert len(pieces) > 1
    assert "".join(pieces).strip() == (one.answer or "").strip()
    assert one.usage.completion_tokens > 1
    assert not one.usage.estimated
    assert two.usage.prompt_tokens > one.usage.prompt_tokens


IN_A_ROW: dict[str, Any] = {"agents": THREE, "routing": ROUTING}
GROUPS = {"g": {"agents": ["b", "d"], "next_agent": "e"}}
IN_A_GROUP = {
    "agents": (*THREE, "e"),
    "routing": {"defaults": {"a": "g"}, "parallel_groups": GROUPS},
}


@pytest.mark.parametrize(
    "more", [IN_A_ROW, IN_A_GROUP, {**IN_A_ROW, "tools": LOOK, "agent": {"tools": ["look"]}}]
)
async def test_agents_of_a_strict_template(strict: str, tmp_path: Path, more: dict[str, Any]):
    """What it refuses is found out once, and known to the next run; a group and tools work too."""
    folder = crew_at(tmp_path, strict, conversations={}, **copy.deepcopy(more))
    (folder / "look.py").write_text('def look() -> str:\n    """Look."""\n    return "x"\n')
    queries = [Query(text, conversation_id="c1") for text in ("Say hello.", "And now?")]
    (one, events), (two, later) = await play(folder, *queries)
    assert (one.status, two.status) == ("completed", "completed"), (one.answer, two.answer)
    assert 1 <= warnings(events).count("endpoint_learned") <= 3
    assert "endpoint_learned" not in warnings(later)


async def test_too_long_for_its_window(model: str, tmp_path: Path):
    """A long history is made shorter, twice at most; a long query fails with the server's words."""
    settings = {"max_input_size_kb": 100, "max_context_window": 100_000}
    folder = crew_at(tmp_path, model, settings=settings)
    long = "All work and no play. " * 90
    said = tuple(HistoryMessage("assistant" if n % 2 else "user", long) for n in range(6))
    (one, events), (two, _) = await play(
        folder, Query("Go on.", said), Query("All work and no play. " * 900)
    )
    assert one.status == "completed", one.answer
    assert 1 <= warnings(events).count("context_overflow") <= 2
    assert two.status == "failed"
    assert "exceeds the available context size" in (two.answer or "")


def test_doctor_knows_its_models(model: str, tmp_path: Path):
    """One that it serves, and one that it does not."""
    for name, told in (("smol", "answers"), ("other", "smol")):
        folder = crew_at(tmp_path / name, model, name)
        done = doctor(folder)
        assert (told in done.stdout, done.returncode) == (True, int(name == "other")), done.stdout


async def test_a_gateway_before_the_model(proxy: Gateway, tmp_path: Path):
    """Streams, usage, three agents, its list of models; a wrong key is told in its words."""
    folder = crew_at(tmp_path / "crew", proxy.url, agents=THREE, routing=ROUTING)
    ((row, events),) = await play(folder, Query("Say hello.", deltas=True))
    assert row.status == "completed", row.answer
    assert any(event.type == "agent_delta" for event in events)
    assert row.usage.total_tokens > 0
    assert "answers" in (await asyncio.to_thread(doctor, folder)).stdout
    text = (folder / "crew.yaml").read_text().replace(MASTER_KEY, "sk-wrong-0123456789")
    (folder / "crew.yaml").write_text(text)
    ((row, _),) = await play(folder, Query("Say hello."))
    assert row.status == "failed"
    assert "401" in (row.answer or "") or "400" in (row.answer or "")
    assert "sk-wrong-0123456789" not in (row.answer or "")


async def behind(
    proxy: Gateway, folder: Path, reply: Reply | list[bytes], name: str = "scripted", **agent: Any
) -> tuple[RunRow, list[RunEvent], list[dict[str, Any]]]:
    """A run whose model is a fake behind the proxy, and what the fake was asked."""
    (folder / "look.py").write_text('def look() -> str:\n    """Look."""\n    return "seen"\n')
    crew_at(folder, proxy.url, name, tools=LOOK, agent={"tools": ["look"], **agent})
    async with model_server(reply, proxy.scripted_port) as server:
        ((row, events),) = await play(folder, Query("go"))
    return row, events, server.asked


async def test_calls_and_thoughts_through_a_gateway(proxy: Gateway, tmp_path: Path):
    """A call is made, and what the model thought goes back with it."""
    call = completion("", [("look", {})])
    call["choices"][0]["message"]["reasoning_content"] = "I need to look."
    row, _, asked = await behind(
        proxy, tmp_path, [http(200, call), http(200, completion("all done"))]
    )
    assert (row.status, row.answer) == ("completed", "all done")
    assert [one["role"] for one in asked[1]["messages"]][-2:] == ["assistant", "tool"]
    assert asked[1]["messages"][-1]["content"] == "seen"
    assert asked[1]["messages"][-2]["reasoning_content"] == "I need to look."


async def test_what_a_gateway_refuses_is_found_out(proxy: Gateway, tmp_path: Path):
    """LiteLLM itself refuses a temperature that the model behind it would not take."""
    row, events, asked = await behind(
        proxy, tmp_path, [http(200, completion("well"))], "gpt-5-mini", temperature=0.7
    )
    assert (row.status, row.answer) == ("completed", "well")
    assert warnings(events) == ["parameter_refused"]
    assert len(asked) == 1
    assert "temperature" not in asked[0]


async def test_a_spent_quota_behind_a_gateway_is_not_tried_again(proxy: Gateway, tmp_path: Path):
    """Though the gateway leaves its code out."""
    words = "You exceeded your current quota, please check your plan and billing details."
    error = {
        "error": {"message": words, "type": "insufficient_quota", "code": "insufficient_quota"}
    }
    row, _, asked = await behind(proxy, tmp_path, [http(429, error)])
    assert row.status == "failed"
    assert "exceeded your current quota" in (row.answer or "")
    assert len(asked) == 1


TYPED = {
    "properties": {
        "kind": {"enum": ["greeting", "question"]},
        "sure": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["kind", "sure"],
}


@pytest.mark.parametrize("server", ["model", "strict"])
async def test_a_typed_answer_of_a_real_model(
    tmp_path: Path, server: str, request: pytest.FixtureRequest
):
    """llama.cpp makes a grammar of the schema: the answer is right, whatever the model knows."""
    url = request.getfixturevalue(server)
    routes = [{"when": {"kind": ["greeting", "question"]}}]
    folder = crew_at(
        tmp_path,
        url,
        agent={"output": TYPED, "max_tokens": 60, "output_retries": 0},
        routing={"outputs": {"a": routes}},
    )
    ((row, events),) = await play(folder, Query("Hello there!"))
    assert (row.status, row.reason) == ("completed", "output"), row.answer
    (response,) = [one for one in events if one.type == "agent_response"]
    assert response.metadata["output"]["kind"] in ("greeting", "question")
    assert isinstance(response.metadata["output"]["sure"], bool)
    assert not [one for one in events if one.type == "warning"]


def test_rehearsals_are_played_by_it(tmp_path: Path, model: str):
    """In place of `says`: how many plays pass, what they cost in tokens, and how long an answer takes."""
    folder = crew_at(tmp_path, model, agent={"is_terminal": True})
    (folder / "tests").mkdir()
    (folder / "tests" / "a.yaml").write_text(
        "rehearsals:\n"
        "  - { name: short, query: Say hello, says: { a: [hi] }, expect: { end: terminal, answer: { min_chars: 1 } } }\n"
        "  - { name: never, query: Say hello, says: { a: [hi] }, expect: { end: terminal, answer: { is: no one says this } } }\n"
    )
    ended = subprocess.run(
        [
            BIN / "crew",
            "test",
            folder,
            "--model",
            "own",
            "--times",
            "3",
            "--max-tokens",
            "5000",
            "--json",
        ],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=280,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    short, never, last = map(json.loads, ended.stdout.splitlines())
    assert (short["passed"], short["plays"], never["passed"], never["plays"]) == (3, 3, 0, 3)
    assert 0 < short["seconds"] < 60
    assert 100 < last["summary"]["tokens"] < 5000
    assert {one["kind"] for one in never["problems"]} == {"answer"}
