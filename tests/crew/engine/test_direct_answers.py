"""What a tool gives is the answer, is shown to people, or is used again."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.crew import check
from tests.support.crews import Played, play, write_crew
from tools.text.secrets import Secrets

CODE = '''
import json

CALLS = []


def chart(name: str = "sales") -> str:
    """Draw."""
    CALLS.append(name)
    if name == "bad":
        raise ValueError("no such chart")
    if name == "text":
        return "no JSON"
    if name == "deep":
        return "[" * 150 + "]" * 150
    if name == "nan":
        return '{"summary": NaN}'
    if name == "secret":
        return '{"points": [4711081523], "summary": "s"}'
    if name == "half":
        return '{"summary": "\\\\ud800"}'
    if name == "large":
        return json.dumps(["x" * 70_000])
    return json.dumps({"points": [1, 2], "summary": "Chart: " + name, "calls": len(CALLS)})


def note(text: str = "") -> str:
    """Note."""
    return "noted [GO]"
'''
CHART = {"kind": "python", "function": "t.py:chart", "effect": "read"}
NOTE = {"kind": "python", "function": "t.py:note"}
SHOW = {"component": "chart", "text": "/summary"}


def call(*names: str, tool: str = "chart") -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": {"name": name}} for name in names]


def crew_at(
    folder: Path, rules: list[Any], chart: dict[str, Any], agents: Any = None, **crew: Any
) -> Path:
    tools = {"chart": {**CHART, **chart}, "note": NOTE}
    known = {"a": {"tools": ["chart", "note"]}, "b": {"is_terminal": True}, **(agents or {})}
    write_crew(folder, known, rules, tools, **crew)
    (folder / "t.py").write_text(CODE)
    return folder


def results(played: Played) -> list[dict[str, Any]]:
    return [event["metadata"] for event in played.of("tool_result")]


async def test_the_output_is_the_answer(tmp_path: Path):
    """The model is not asked again, and no signal in it leads anywhere."""
    rules = [{"agent": "a", "calls": call("[GO]")}, {"agent": "b", "say": "b"}]
    routing = {"signals": {"a": [{"signal": "[GO]", "target": "b"}]}}
    folder = crew_at(tmp_path, rules, {"respond": "direct", "show": SHOW}, routing=routing)
    played = await play(load_crew(folder), "go")
    assert (played.row.reason, played.row.answer) == ("direct", "Chart: [GO]")
    assert played.path == ["a"]
    done = played.of("done")[0]["metadata"]
    assert (done["reason"], done["agent_id"]) == ("direct", "a")


@pytest.mark.parametrize(
    "calls",
    [call("sales", "bad"), [*call("sales"), {"tool": "note", "arguments": {"text": "x"}}]],
    ids=["one fails", "one is not direct"],
)
async def test_beside_others_it_is_a_result(tmp_path: Path, calls: Any):
    rules = [
        {"agent": "a", "after": "chart", "say": "in words"},
        {"agent": "a", "calls": calls},
        {"agent": "b", "say": "b"},
    ]
    folder = crew_at(tmp_path, rules, {"respond": "direct"}, routing={"defaults": {"a": ""}})
    played = await play(load_crew(folder), "go")
    assert (played.row.reason, played.row.answer) == ("no_next_agent", "in words")


async def test_of_several_it_is_all(tmp_path: Path):
    rules = [{"agent": "a", "calls": call("one", "two")}, {"agent": "b", "say": "b"}]
    folder = crew_at(tmp_path, rules, {"respond": "direct", "show": SHOW})
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "Chart: one\n\nChart: two"


async def test_in_a_group_it_is_the_members_answer(tmp_path: Path):
    rules = [
        {"agent": "a", "calls": call("[GO]")},
        {"agent": "c", "say": "words"},
        {"agent": "b", "seen": "[a]\nChart: [GO]", "say": "heard"},
        {"agent": "s", "say": "x"},
    ]
    folder = crew_at(
        tmp_path,
        rules,
        {"respond": "direct", "show": SHOW},
        {"c": {}, "s": {}},
        routing={
            "parallel_groups": {"g": {"agents": ["a", "c"], "next_agent": "b"}},
            "defaults": {"s": "g"},
        },
        entry_point="s",
    )
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "heard"


async def test_a_component_shows_the_output(tmp_path: Path):
    """The whole to people, a part to the model."""
    rules = [
        {"agent": "a", "after": "chart", "say": "It says: {{result.chart}}"},
        {"agent": "a", "calls": call("sales")},
        {"agent": "b", "say": "b"},
    ]
    folder = crew_at(tmp_path, rules, {"show": SHOW}, routing={"defaults": {"a": ""}})
    played = await play(load_crew(folder), "go")
    assert played.row.answer == "It says: Chart: sales"
    (shown,) = [event["metadata"] for event in played.of("show")]
    assert (shown["component"], shown["tool"]) == ("chart", "chart")
    assert shown["data"]["points"] == [1, 2]
    assert shown["call_id"] == results(played)[0]["call_id"]
    (again,) = played.of("done")[0]["metadata"]["shows"]
    assert again == {key: shown[key] for key in ("component", "tool", "call_id", "data")}


@pytest.mark.parametrize(
    ("name", "words"),
    [("text", "is no JSON"), ("large", "65,536 bytes"), ("deep", "32 levels"), ("nan", "no JSON")],
)
async def test_what_cannot_be_shown_is_a_result_as_any(tmp_path: Path, name: str, words: str):
    rules = [
        {"agent": "a", "after": "chart", "say": "done"},
        {"agent": "a", "calls": call(name)},
        {"agent": "b", "say": "b"},
    ]
    folder = crew_at(
        tmp_path, rules, {"show": "chart", "max_output_kb": 100}, routing={"defaults": {"a": ""}}
    )
    played = await play(load_crew(folder), "go")
    assert played.of("show") == []
    (warning,) = played.of("warning")
    assert warning["metadata"]["code"] == "not_shown"
    assert words in warning["content"]
    assert played.row.answer == "done"


TWICE: list[dict[str, Any]] = [
    {"agent": "a", "turn": 3, "say": "{{result.chart}}"},
    {"agent": "a", "calls": call("sales")},
    {"agent": "b", "say": "b"},
]
ENDS = {"routing": {"defaults": {"a": ""}}}


async def test_a_result_is_used_again(tmp_path: Path):
    """For the same user and arguments, in this run and in others."""
    crew = load_crew(crew_at(tmp_path, TWICE, {"cache_seconds": 60}, **ENDS))
    async with Runs(crew, MemoryStore()) as runs:
        cached = []
        for user in ("ann", "ann", "bob"):
            run = await runs.start(Query("go", user_id=user))
            answer = (await run.outcome()).answer
            events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
            found = [one["metadata"] for one in events if one["type"] == "tool_result"]
            cached.append(
                ([one.get("cached", False) for one in found], json.loads(answer or "")["calls"])
            )
    assert cached == [([False, True], 1), ([True, True], 1), ([False, True], 2)]


async def test_an_owner_is_no_user(tmp_path: Path):
    """The name of a token and the id of another token's user may be the same."""
    crew = load_crew(crew_at(tmp_path, TWICE, {"cache_seconds": 60}, **ENDS))
    async with Runs(crew, MemoryStore()) as runs:
        calls = []
        for owner, user in (("bob", ""), ("acme", "bob"), ("bob", "")):
            run = await runs.start(Query("go", user_id=user), owner=owner)
            calls.append(json.loads((await run.outcome()).answer or "")["calls"])
    assert calls == [1, 2, 1]


async def test_a_shared_result_is_for_all(tmp_path: Path):
    keys = {"cache_seconds": 60, "cache_shared": True}
    crew = load_crew(crew_at(tmp_path, TWICE, keys, **ENDS))
    async with Runs(crew, MemoryStore()) as runs:
        for user in ("ann", "bob"):
            run = await runs.start(Query("go", user_id=user))
            assert json.loads((await run.outcome()).answer or "")["calls"] == 1


@pytest.mark.parametrize("seconds", [0.001, 60])
async def test_not_after_its_time_and_not_after_an_act(tmp_path: Path, seconds: float):
    """What was changed may be seen by the next call."""
    rules = [
        {"agent": "a", "turn": 4, "say": "{{result.chart}}"},
        {"agent": "a", "turn": 2, "calls": [{"tool": "note", "arguments": {"text": "x"}}]},
        {"agent": "a", "calls": call("sales")},
        {"agent": "b", "say": "b"},
    ]
    played = await play(
        load_crew(crew_at(tmp_path, rules, {"cache_seconds": seconds}, **ENDS)), "go"
    )
    charts = [one for one in results(played) if one["tool"] == "chart"]
    assert [one.get("cached", False) for one in charts] == [False, False]
    assert json.loads(played.row.answer or "")["calls"] == 2


async def test_what_failed_is_not_kept(tmp_path: Path):
    rules = [{**rule, "calls": call("bad")} if "calls" in rule else rule for rule in TWICE]
    played = await play(load_crew(crew_at(tmp_path, rules, {"cache_seconds": 60}, **ENDS)), "go")
    assert [one["status"] for one in results(played)] == ["error", "error"]
    assert not any("cached" in one for one in results(played))


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ({"cache_seconds": 60, "effect": "idempotent"}, "cache-effect", "chart"),
        ({"cache_shared": True}, "ignored-key", "cache_seconds is not given"),
        ({"show": {"component": "x", "text": "summary"}}, "show-text", "summary"),
        ({"show": {"component": "x y"}}, "bad-name", "without spaces"),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, keys: Any, code: str, words: str):
    found = check(crew_at(tmp_path, TWICE, keys, **ENDS)).problems
    assert any(one.code == code and words in one.message for one in found), found
    assert all(one.file == "tools.yaml" for one in found if one.code == code)


async def test_a_secret_number_is_not_shown(tmp_path: Path):
    rules = [{"agent": "a", "calls": call("secret")}, {"agent": "b", "say": "b"}]
    folder = crew_at(tmp_path, rules, {"respond": "direct", "show": SHOW})
    secrets = Secrets()
    secrets.add("4711081523")
    played = await play(load_crew(folder, secrets=secrets), "go")
    assert played.of("show")[0]["metadata"]["data"]["points"] == ["***"]
    assert "4711081523" not in json.dumps(played.events)


async def test_halves_of_pairs_can_be_shown(tmp_path: Path):
    rules = [{"agent": "a", "calls": call("half")}, {"agent": "b", "say": "b"}]
    folder = crew_at(tmp_path, rules, {"respond": "direct", "show": SHOW})
    played = await play(load_crew(folder), "go")
    assert played.row.reason == "direct"
    assert played.of("show")[0]["metadata"]["data"] == {"summary": played.row.answer}


@pytest.mark.parametrize("parallel", [False, True])
async def test_not_behind_an_act_of_the_same_answer(tmp_path: Path, parallel: bool):
    """Nor in a member of a group, which goes on for several answers."""
    act = {"tool": "note", "arguments": {"text": "x"}}
    rules = [
        {"agent": "a", "turn": 3, "say": "{{result.chart}}"},
        {"agent": "a", "turn": 2, "calls": [act, *call("sales")]},
        {"agent": "a", "calls": call("sales")},
        {"say": "b"},
    ]
    routing: dict[str, Any] = {"defaults": {"a": ""}}
    crew: dict[str, Any] = {}
    if parallel:
        routing = {
            "parallel_groups": {"g": {"agents": ["a"], "next_agent": "b"}},
            "defaults": {"s": "g"},
        }
        crew = {"entry_point": "s", "agents": {"s": {}}}
    folder = crew_at(tmp_path, rules, {"cache_seconds": 60}, routing=routing, **crew)
    charts = [one for one in results(await play(load_crew(folder), "go")) if one["tool"] == "chart"]
    assert [one.get("cached", False) for one in charts] == [False, False]
