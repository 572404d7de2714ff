"""What no other agent is shown of typed answers: wrong ones, unchecked ones, those without words."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import completion, http, model_server
from tests.support.typed_answers import AGENTS, OUTPUT, REST, RIGHT, ROUTES, answers, sorting, ways

SECRET = {**RIGHT, "question": "SECRET"}


def leak(*agents: str) -> dict[str, Any]:
    """A rule of agents that are shown what they must not be."""
    return {"agent": list(agents), "seen": ["secret", "wrongval", "must be"], "say": "leaked"}


LOOK = {"look": {"kind": "python", "function": "t.py:look", "effect": "read"}}
CODE = "def look(x: str = '') -> str:\n    return 'saw ' + x\n"


def with_tool(folder: Path, rules: list[Any], sort: dict[str, Any], **crew: Any) -> Path:
    folder = sorting(folder, rules, {"tools": ["look"], **sort}, tools=LOOK, **crew)
    (folder / "t.py").write_text(CODE)
    return folder


async def test_what_stands_beside_calls_is_for_no_other(tmp_path: Path):
    """Nor is it the run's answer."""
    rules = [
        leak("doer", "talker"),
        {"agent": "sort", "after": "look", "say": RIGHT},
        {"agent": "sort", "say": '{"tools": "WRONGVAL"}', "calls": ["look"]},
        *REST,
    ]
    played = await play(load_crew(with_tool(tmp_path, rules, {})), "go")
    assert played.row.answer == "done"
    short = with_tool(tmp_path / "short", rules, {}, settings={"max_rounds": 1})
    played = await play(load_crew(short), "go")
    assert (played.row.reason, played.row.answer) == ("max_rounds", "")


async def test_a_group_joins_words(tmp_path: Path):
    rules = [
        leak("end"),
        {"agent": "sort", "say": SECRET},
        {"agent": "other", "say": {**RIGHT, "question": "my words"}},
        {"agent": "end", "seen": "[other]\nmy words", "say": "heard"},
        {"agent": "begin", "say": "x"},
    ]
    agents = {
        "begin": {},
        "sort": {"output": OUTPUT},
        "other": {"output": OUTPUT, "output_text": "question"},
        "end": {"is_terminal": True},
    }
    routing = {
        "parallel_groups": {"g": {"agents": ["sort", "other"], "next_agent": "end"}},
        "defaults": {"begin": "g"},
    }
    folder = write_crew(tmp_path, agents, rules, routing=routing, entry_point="begin")
    assert (await play(load_crew(folder), "go")).row.answer == "heard"


async def talk(folder: Path, *queries: str) -> list[str | None]:
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        said = []
        for text in queries:
            run = await runs.start(Query(text, conversation_id="c", user_id="u"))
            said.append((await run.outcome()).answer)
    return said


@pytest.mark.parametrize("transcripts", [False, True])
async def test_a_later_run_is_not_shown_it(tmp_path: Path, transcripts: bool):
    """A typed answer that ended a run, one that was wrong, and what was said of it."""
    rules = [
        leak("doer", "talker"),
        {
            "agent": "sort",
            "seen": "must be true",
            "hears": "later",
            "say": {"tools": True, "kind": "complex"},
        },
        {"agent": "sort", "hears": "later", "say": {"tools": False, "kind": "simple"}},
        {"agent": "sort", "hears": "must be", "say": SECRET},
        {"agent": "sort", "say": {"tools": "WRONGVAL", "kind": "simple"}},
        *REST,
    ]
    routes = [
        {"when": {"tools": True, "kind": "simple"}},
        {"when": {"tools": True}, "target": "doer"},
        {"target": "talker"},
    ]
    history = {"kind": "history", "transcripts": transcripts}
    folder = sorting(
        tmp_path, rules, routes=routes, conversations={}, context={"blocks": [history]}
    )
    first, second = await talk(folder, "go", "later")
    assert json.loads(first or "") == SECRET
    assert second == "talked"


async def test_what_is_shortened_has_no_wrong_answers(tmp_path: Path):
    """The helper that shortens a run is not sent them."""
    long = "x" * 1500
    sent = []

    def reply(request: dict[str, Any]) -> bytes:
        sent.append(json.dumps(request))
        told = request["messages"][-1]["content"] or ""
        if "Summarise" in sent[-1] or "summary" in request["messages"][0]["content"].lower():
            return http(200, completion('{"summary": "short"}'))
        if request["messages"][-1]["role"] == "tool":
            return http(200, completion(json.dumps(RIGHT)))
        if "must be" in told:
            return http(200, completion(None, [("look", {"x": long})]))
        if "tools" in request:
            return http(
                200, completion(json.dumps({"tools": f"WRONGVAL {long}", "kind": "simple"}))
            )
        return http(200, completion("done"))

    async with model_server(reply) as server:
        keys = {"provider": "gw", "model": "m"}
        agents = {"doer": {**AGENTS["doer"], **keys}, "talker": {**AGENTS["talker"], **keys}}
        blocks = [
            {"kind": "summary", "compact": "inline", "max_tokens": 50},
            {"kind": "history", "min_tokens": 50},
        ]
        folder = with_tool(
            tmp_path,
            [],
            keys,
            agents=agents,
            providers={"gw": {"base_url": server.url}},
            context={"window_tokens": 900, "answer_tokens": 50, "blocks": blocks},
            helpers={"default": keys},
            conversations={},
        )
        played = await play(load_crew(folder), "go")
    helped = [one for one in sent if "short" in one or "Summar" in one]
    shortened = [one for one in sent if "response_format" not in one and '"tools"' not in one]
    assert played.row.answer == "done"
    assert played.of("compacted"), helped[:1]
    assert not [one for one in shortened if "WRONGVAL" in one]


CALLING = '<tool_call>{"name": "look", "arguments": {"x": "1"}}</tool_call>'
NOTHING_REQUIRED = {"properties": {"kind": {"enum": ["a", "b"]}, "name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("mode", "text"),
    [("auto", CALLING), ("text", "look(x='1')"), ("text", f"I look.\n{CALLING}")],
)
async def test_a_call_in_words_is_no_answer(tmp_path: Path, mode: str, text: str):
    """Whatever the schema allows: it is made."""
    said = [
        http(200, completion(text)),
        http(200, completion('{"kind": "a"}')),
        http(200, completion("done")),
    ]
    async with model_server(said) as server:
        keys = {"provider": "gw", "model": "m"}
        agents = {name: {**AGENTS[name], **keys} for name in ("doer", "talker")}
        folder = with_tool(
            tmp_path,
            [],
            {**keys, "output": NOTHING_REQUIRED, "tool_call_mode": mode},
            routes=[{"target": "doer"}],
            agents=agents,
            providers={"gw": {"base_url": server.url}},
        )
        played = await play(load_crew(folder), "go")
    assert [event["metadata"]["arguments"] for event in played.of("tool_start")] == [{"x": "1"}]
    assert answers(played)[-1]["output"] == {"kind": "a"}
    assert ways(played) == [("sort", "doer", "output")]


@pytest.mark.parametrize(
    "text", ['{"tools": "\\udfff", "kind": "simple"}', '{"\\ud800": 1, "\\ud800": 2}']
)
async def test_halves_of_pairs_are_wrong_answers_as_any(tmp_path: Path, text: str):
    folder = sorting(tmp_path, [{"agent": "sort", "say": text}, *REST], {"on_invalid": "talker"})
    played: Played = await play(load_crew(folder), "go")
    assert ways(played) == [("sort", "talker", "invalid")]


async def test_a_question_may_be_empty(tmp_path: Path):
    """The person sees the answer, and says what is needed."""
    routes = [{"when": {"kind": "complex"}, "pause": True}, {"target": "doer"}]
    rules = [
        {"agent": "sort", "hears": "mine", "say": RIGHT},
        {"agent": "sort", "say": {"tools": True, "kind": "complex"}},
        *REST,
    ]
    folder = sorting(tmp_path, rules, {"output_text": "question"}, routes)
    played = await play(load_crew(folder), "go", "mine")
    assert played.row.answer == "done"
    assert routes != ROUTES
