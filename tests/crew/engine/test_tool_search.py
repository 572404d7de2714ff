"""An agent with many tools: it finds them, and is shown what it has found."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, check, load_crew
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import ModelServer, completion, http, model_server
from tools import Tool, tool


def thing(number: int) -> str:
    """A word of its own; a number beside letters would be another word."""
    return f"thing{chr(97 + number // 26)}{chr(97 + number % 26)}"


def many(count: int, chars: int = 0) -> list[Tool]:
    """Tools t0, t1, … that act on a thing of their own."""

    def made(number: int) -> Tool:
        @tool(name=f"t{number}", description=f"Act on {thing(number)}. {'x' * chars}")
        async def act() -> str:
            return f"acted on {number}"

        return act

    return [made(number) for number in range(count)]


def folder_of(
    folder: Path, url: str, tools: list[Tool], routing: dict[str, Any], **settings: Any
) -> Path:
    agent = {"tools": [one.name for one in tools], "provider": "far", "model": "m"}
    providers = {"far": {"base_url": url, "max_retries": 0}}
    return write_crew(folder, {"a": agent}, providers=providers, settings=settings, routing=routing)


def crew_of(folder: Path, url: str, tools: list[Tool], **settings: Any) -> Crew:
    folder = folder_of(folder, url, tools, {"defaults": {"a": None}}, **settings)
    return load_crew(folder, tools=tools)


def shown(server: ModelServer) -> list[list[str]]:
    """The tools that each request had."""
    return [[one["function"]["name"] for one in asked.get("tools", [])] for asked in server.asked]


def answers(*calls: tuple[str, dict[str, Any]]) -> list[bytes]:
    """One call an answer, then words."""
    each = [http(200, completion(None, [(name, arguments)])) for name, arguments in calls]
    return [*each, http(200, completion("done"))]


def find(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("tool_search", {"query": query, **more})


async def test_what_is_found_is_shown_from_then_on(tmp_path: Path):
    """In the order found; the first request has nothing but the search."""
    said = answers(find(thing(7)), ("t7", {}), find(f"{thing(3)} {thing(7)}"))
    async with model_server(said) as server:
        told = await play(crew_of(tmp_path, server.url, many(30), tool_search="always"), "x")
        assert shown(server) == [
            ["tool_search"],
            ["tool_search", "t7"],
            ["tool_search", "t7"],
            ["tool_search", "t7", "t3"],
        ]
    results = [one["metadata"] for one in told.of("tool_result")]
    assert [one.get("found") for one in results] == ["t7", None, "t3 t7"]
    assert results[1]["output"] == "acted on 7"
    assert results[0]["output"].startswith("You can call these now:\nt7: Act on thingah.")


@pytest.mark.parametrize(
    ("chars", "setting", "searches"),
    [(0, "auto", False), (800, "auto", True), (800, "never", False), (0, "always", True)],
)
async def test_who_gets_it(tmp_path: Path, chars: int, setting: str, searches: bool):
    """Whose tools take more than 20,000 characters, unless the crew says otherwise."""
    tools = many(30, chars)
    async with model_server(answers()) as server:
        await play(crew_of(tmp_path, server.url, tools, tool_search=setting), "x")
        names = ["tool_search"] if searches else [one.name for one in tools]
        assert shown(server) == [names]


async def test_no_more_than_twenty(tmp_path: Path):
    """The newest; a tool that is not shown any more can be called all the same."""
    said = answers(find("act", limit=20), find(thing(25)), ("t0", {}))
    async with model_server(said) as server:
        told = await play(crew_of(tmp_path, server.url, many(30), tool_search="always"), "x")
        before, after = shown(server)[1], shown(server)[2]
    assert (len(before), len(after), after[-1]) == (21, 21, "t25")
    assert after[1:-1] == before[2:]
    again = answers(find("act", limit=20), find(f"{thing(0)} {thing(25)} {thing(26)}"))
    async with model_server(again) as server:
        await play(crew_of(tmp_path, server.url, many(30), tool_search="always"), "x")
        assert {"t0", "t25", "t26"} < set(shown(server)[2])
        assert len(shown(server)[2]) == 21
    assert told.of("tool_result")[-1]["metadata"]["status"] == "success"


async def test_another_process_shows_the_same(tmp_path: Path):
    """What was found is in the log."""
    said = [*answers(find(thing(7)))[:1], http(200, completion("which one?"))]
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    store, tools = MemoryStore(), many(30)
    async with model_server([*said, http(200, completion("done"))]) as server:
        folder = folder_of(tmp_path, server.url, tools, routing, tool_search="always")
        async with Runs(load_crew(folder, tools=tools), store) as runs:
            run = await runs.start(Query("x"))
            assert (await run.outcome()).status == "paused"
        async with Runs(load_crew(folder, tools=tools), store) as runs:
            await (await runs.resume(run.id, Answer("the first"))).outcome()
        assert shown(server)[-1] == ["tool_search", "t7"]


async def test_on_the_script(tmp_path: Path):
    """The scripted model calls it as any tool; members of a group find their own."""
    rules = [
        {"agent": "b", "after": "t1", "say": "{{result.t1}}"},
        {"agent": "b", "after": "tool_search", "say": "", "calls": ["t1"]},
        {"say": "", "calls": [{"tool": "tool_search", "arguments": {"query": thing(1)}}]},
    ]
    folder = write_crew(
        tmp_path,
        {"b": {"tools": ["t0", "t1"], "is_terminal": True}},
        rules,
        settings={"tool_search": "always"},
    )
    assert check(folder, tools=many(2)).problems == ()
    told: Played = await play(load_crew(folder, tools=many(2)), "x")
    assert told.row.answer == "acted on 1"


def test_its_name_is_its_own(tmp_path: Path):
    """No tool of a crew may have it; without the search the script cannot call it."""
    calls = [{"calls": [{"tool": "tool_search", "arguments": {"query": "x"}}]}, {"say": "x"}]
    entry = {"kind": "python", "function": "acts.py:tool_search"}
    (tmp_path / "acts.py").write_text("def tool_search(query: str) -> str: ...\n")
    folder = write_crew(tmp_path, {"a": {"tools": ["tool_search"]}}, calls, {"tool_search": entry})
    assert "tool-twice" in [one.code for one in check(folder).problems]
    folder = write_crew(tmp_path / "b", {"a": {}}, calls, settings={"tool_search": "never"})
    assert "script-tool" in [one.code for one in check(folder).problems]
