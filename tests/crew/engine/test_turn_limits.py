"""What bounds a turn: its rounds, failed calls, equal calls, and what it may do with tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.crew import check
from crew.journal.query import Answer
from tests.support.crews import Played, play, write_crew
from tests.support.model_server import completion, http, model_server

CODE = '''
def look(x: str = "") -> str:
    """Look."""
    if x == "bad":
        raise ValueError("no such thing")
    return "saw " + x
'''
TOOLS = {"look": {"kind": "python", "function": "t.py:look", "effect": "read"}}
ENDS = {"is_terminal": True, "tools": ["look"]}


def crew_at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    keys = {**ENDS, "provider": "gw", "model": "m", **(agent or {})}
    providers = {"gw": {"base_url": url, **crew.pop("provider", {})}}
    write_crew(
        folder, {"a": keys, **crew.pop("agents", {})}, [], TOOLS, providers=providers, **crew
    )
    (folder / "t.py").write_text(CODE)
    return folder


def calling(*arguments: str, text: str | None = None) -> bytes:
    return http(200, completion(text, [("look", {"x": one}) for one in arguments]))


def saying(text: str) -> bytes:
    return http(200, completion(text))


def codes(played: Played) -> list[str]:
    return [event["metadata"]["code"] for event in played.of("warning")]


def choices(asked: list[dict[str, Any]]) -> list[Any]:
    return [one.get("tool_choice") for one in asked]


NAMED = {"type": "function", "function": {"name": "look"}}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("auto", [None, None]),
        ("required", ["required", None]),
        ({"tool": "look"}, [NAMED, None]),
    ],
)
async def test_a_turns_first_answer_may_have_to_call_a_tool(tmp_path: Path, given: Any, sent: Any):
    async with model_server([calling("1"), saying("done")]) as server:
        played = await play(load_crew(crew_at(tmp_path, server.url, {"tool_choice": given})), "go")
    assert choices(server.asked) == sent
    assert all("tools" in one for one in server.asked)
    assert played.row.answer == "done"


async def test_each_turn_has_a_first_answer(tmp_path: Path):
    """Entered again, it must call a tool again."""
    agents = {"b": {"provider": "gw", "model": "m"}}
    routing = {"defaults": {"a": "b", "b": "a"}, "signals": {"b": [{"signal": "[END]"}]}}
    said = [calling("1"), saying("x"), saying("y"), calling("2"), saying("z")]
    async with model_server(said) as server:
        keys = {"tool_choice": "required", "is_terminal": False}
        folder = crew_at(
            tmp_path, server.url, keys, agents=agents, routing=routing, settings={"max_handoffs": 2}
        )
        await play(load_crew(folder), "go")
    assert choices(server.asked) == ["required", None, None, "required", None]


async def test_a_decision_on_calls_begins_no_turn(tmp_path: Path):
    """The first answer must call a tool; the one behind an approval need not."""
    async with model_server([calling("1"), calling("1"), saying("done")]) as server:
        folder = crew_at(
            tmp_path, server.url, {"tool_choice": "required"}, settings={"max_same_calls": 1}
        )
        text = (folder / "tools.yaml").read_text()
        (folder / "tools.yaml").write_text(f"{text}    requires_approval: true\n")
        played = await play(load_crew(folder), "go", Answer(decision="approve"))
    assert choices(server.asked) == ["required", None, None]
    statuses = [event["metadata"]["status"] for event in played.of("tool_result")]
    assert statuses == ["success", "error"]


async def test_a_server_that_refuses_what_its_model_does(tmp_path: Path):
    """As Groq: a call where none may be made is a refusal; then no tools are shown."""

    def reply(request: dict[str, Any]) -> bytes:
        if request.get("tool_choice") == "none":
            return http(400, {"error": {"message": "Tool choice is none, but model called a tool"}})
        return saying("done")

    async with model_server(reply) as server:
        played = await play(load_crew(crew_at(tmp_path, server.url, {"tool_choice": "none"})), "go")
    assert played.row.answer == "done"
    assert [("tools" in one) for one in server.asked] == [True, False]


async def test_a_server_that_takes_no_such_choice(tmp_path: Path):
    """It is asked again without, and the process remembers it; `none` is then no tools at all."""

    def reply(request: dict[str, Any]) -> bytes:
        if "tool_choice" in request:
            return http(400, {"error": {"message": "tool_choice is not supported by this model"}})
        return saying("done")

    async with model_server(reply) as server:
        played = await play(
            load_crew(crew_at(tmp_path, server.url, {"tool_choice": "required"})), "go"
        )
        none = crew_at(
            tmp_path / "none",
            server.url,
            {"tool_choice": "none"},
            provider={"quirks": {"tool_choice": False}},
        )
        await play(load_crew(none), "go")
    assert codes(played) == ["endpoint_learned"]
    assert choices(server.asked) == ["required", None, None]
    assert [("tools" in one) for one in server.asked] == [True, True, False]


@pytest.mark.parametrize("text", [None, "in words"])
async def test_calls_that_may_not_be_made_are_not_made(tmp_path: Path, text: str | None):
    """A model that calls all the same is asked once more, unless it said something."""
    async with model_server([calling("1", text=text), saying("done")]) as server:
        played = await play(load_crew(crew_at(tmp_path, server.url, {"tool_choice": "none"})), "go")
    assert codes(played) == ["calls_refused"]
    assert played.of("tool_start") == []
    assert played.row.answer == (text or "done")
    assert choices(server.asked)[0] == "none"
    assert "tool_calls" not in json.dumps(server.asked[-1])


async def test_at_its_limit_an_agent_answers(tmp_path: Path):
    """The last call may use no tools, and is told so."""
    said = [calling("1"), calling("2"), saying("that is all")]
    async with model_server(said) as server:
        keys = {"max_rounds": 3, "on_limit": "answer"}
        played = await play(load_crew(crew_at(tmp_path, server.url, keys)), "go")
    assert choices(server.asked) == [None, None, "none"]
    assert server.asked[-1]["messages"][-1]["role"] == "user"
    assert "no more tools" in server.asked[-1]["messages"][-1]["content"]
    assert (played.row.reason, played.row.answer) == ("terminal", "that is all")


@pytest.mark.parametrize(
    ("text", "mode"),
    [("look(x='2')", "text"), ('<tool_call>{"name": "look", "arguments": {}}</tool_call>', "auto")],
)
async def test_a_call_in_words_is_no_answer_at_the_limit(tmp_path: Path, text: str, mode: str):
    async with model_server([saying(text), saying("in words")]) as server:
        keys = {"tool_choice": "none", "tool_call_mode": mode}
        played = await play(load_crew(crew_at(tmp_path, server.url, keys)), "go")
    assert codes(played) == ["calls_refused"]
    assert played.row.answer == "in words"


async def test_the_setting_is_the_limit_of_a_turn_without_its_own(tmp_path: Path):
    async with model_server([calling("1"), saying("that is all")]) as server:
        folder = crew_at(tmp_path, server.url, {"on_limit": "answer"}, settings={"max_rounds": 2})
        played = await play(load_crew(folder), "go")
    assert choices(server.asked) == [None, "none"]
    assert played.row.answer == "that is all"


@pytest.mark.parametrize("on_limit", ["end", "answer"])
async def test_without_an_answer_the_run_ends(tmp_path: Path, on_limit: str):
    async with model_server([calling("1")]) as server:
        keys = {"max_rounds": 2, "on_limit": on_limit}
        played = await play(load_crew(crew_at(tmp_path, server.url, keys)), "go")
    assert len(server.asked) == 2
    assert played.row.reason == "max_rounds"
    assert codes(played)[-1] == "max_rounds"
    assert "A has no answer after its max_rounds = 2" in played.of("warning")[-1]["content"]


async def test_a_member_without_an_answer_has_failed(tmp_path: Path):
    agents = {"b": {"provider": "gw", "model": "m"}, "s": {"provider": "gw", "model": "m"}}
    routing = {
        "parallel_groups": {"g": {"agents": ["a", "b"]}},
        "defaults": {"s": "g"},
        "signals": {"b": [{"signal": "[END]"}]},
    }

    def reply(request: dict[str, Any]) -> bytes:
        return calling("1") if "tools" in request else saying("x")

    async with model_server(reply) as server:
        keys = {"max_rounds": 2, "is_terminal": False}
        folder = crew_at(
            tmp_path, server.url, keys, agents=agents, routing=routing, entry_point="s"
        )
        played = await play(load_crew(folder), "go")
    assert played.of("parallel_end")[0]["metadata"]["failed"] == ["a"]


async def test_after_failed_calls_an_answer_without_tools(tmp_path: Path):
    """A success in between counts anew."""
    said = [calling("bad"), calling("1"), calling("bad"), calling("bad", "bad"), saying("I cannot")]
    async with model_server(said) as server:
        folder = crew_at(tmp_path, server.url, settings={"max_failed_sequences": 2})
        played = await play(load_crew(folder), "go")
    assert choices(server.asked) == [None, None, None, None, "none"]
    assert played.row.answer == "I cannot"


async def test_the_same_call_is_made_so_often(tmp_path: Path):
    """Keys in another order are the same; another turn counts anew."""
    said = [calling("1"), calling("1", "2"), calling("1"), saying("done")]
    async with model_server(said) as server:
        folder = crew_at(tmp_path, server.url, settings={"max_same_calls": 2})
        played = await play(load_crew(folder), "go")
    results = [event["metadata"] for event in played.of("tool_result")]
    assert [one["status"] for one in results] == ["success", "success", "success", "error"]
    assert results[-1]["repeated"] is True
    assert "settings.max_same_calls = 2" in results[-1]["output"]
    assert len(played.of("tool_start")) == 3
    assert played.row.answer == "done"


@pytest.mark.parametrize(
    ("agent", "code", "words"),
    [
        ({"tools": [], "tool_choice": "required"}, "ignored-key", "it has no tools"),
        ({"tool_choice": {"tool": "loo"}}, "unknown-tool", "loo"),
        (
            {"tool_call_mode": "text", "tool_choice": "required"},
            "ignored-key",
            "cannot be required",
        ),
        ({"max_rounds": 11}, "ignored-key", "settings.max_rounds = 10"),
    ],
)
def test_what_has_no_effect_is_told(tmp_path: Path, agent: Any, code: str, words: str):
    found = check(crew_at(tmp_path, "http://127.0.0.1:1/v1", agent), environment={}).problems
    assert any(one.code == code and words in one.message for one in found), found


async def test_a_group_that_ran_out_of_rounds_can_be_retried(tmp_path: Path):
    """Its members have their rounds anew."""
    routing = {
        "parallel_groups": {"g": {"agents": ["a"], "next_agent": "b"}},
        "defaults": {"s": "g"},
    }
    model = {"provider": "gw", "model": "m"}
    agents = {"b": {**model, "is_terminal": True}, "s": model}
    said = [saying("x"), calling("1"), calling("2"), calling("3"), saying("found"), saying("end")]
    async with model_server(said) as server:
        keys = {"max_rounds": 2, "is_terminal": False}
        folder = crew_at(
            tmp_path, server.url, keys, agents=agents, routing=routing, entry_point="s"
        )
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            run = await runs.start(Query("go"))
            assert (await run.outcome()).status == "failed"
            row = await (await runs.retry(run.id)).outcome()
    assert (row.status, row.answer) == ("completed", "end")


async def test_calls_that_cannot_be_read_are_not_the_same(tmp_path: Path):
    """Each is told what is wrong with it."""
    wrong = [http(200, completion(None, [("look", text)])) for text in ('{"x": "a', '{"x": b,,')]
    async with model_server([*wrong, saying("done")]) as server:
        folder = crew_at(tmp_path, server.url, settings={"max_same_calls": 1})
        played = await play(load_crew(folder), "go")
    outputs = [event["metadata"]["output"] for event in played.of("tool_result")]
    assert len(outputs) == 2
    assert not any("max_same_calls" in one for one in outputs)
