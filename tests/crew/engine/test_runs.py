"""The loop: the order of events, limits exactly, tools against signals, failures, isolation."""

import re
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from crew import HistoryMessage, Query, load_crew
from tests.support.crews import crew_of, play, write_crew
from tests.support.model_server import completion, http, model_server
from tools import PermanentError, tool


@tool
async def lookup(word: str) -> str:
    """Look a word up."""
    return f"meaning of {word}"


def routes(**signals: Any) -> dict[str, Any]:
    return {
        "signals": {
            agent: [{"signal": text, "target": target} for text, target in pairs.items()]
            for agent, pairs in signals.items()
        }
    }


async def test_the_events_of_a_run(tmp_path: Path):
    """In their order, numbered without holes, with what each type adds."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True, "tools": ["lookup"]}},
        [
            {"agent": "a", "say": "to b [B]"},
            {"agent": "b", "after": "lookup", "say": "It is the {{result.lookup}}."},
            {
                "agent": "b",
                "say": "Let me see.",
                "calls": [{"tool": "lookup", "arguments": {"word": "x"}}],
            },
        ],
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    played = await play(crew, "what is x?")
    expected = [
        "start",
        "agent_start",
        "agent_response",
        "handoff",
        "agent_start",
        "agent_response",
        "tool_start",
        "tool_result",
        "agent_start",
        "agent_response",
        "done",
    ]
    assert played.types == expected
    assert [event["metadata"]["seq"] for event in played.events] == list(
        range(1, len(expected) + 1)
    )
    assert {event["metadata"]["run_id"] for event in played.events} == {played.row.run_id}
    handoff = played.of("handoff")[0]["metadata"]
    assert (handoff["from"], handoff["to"], handoff["why"], handoff["signal"]) == (
        "a",
        "b",
        "signal",
        "[B]",
    )
    assert re.fullmatch(r"crew\.yaml:\d+", handoff["source"])
    result = played.of("tool_result")[0]
    assert result["content"] == "✅ [Tool] lookup → meaning of x"
    assert (result["metadata"]["status"], result["metadata"]["attempts"]) == ("success", 1)
    assert result["metadata"]["call_id"] == played.of("tool_start")[0]["metadata"]["call_id"]
    done = played.of("done")[0]["metadata"]
    assert (done["reason"], done["answer"], done["rounds"], done["handoffs"], done["agent_id"]) == (
        "terminal",
        "It is the meaning of x.",
        3,
        1,
        "b",
    )
    assert played.of("start")[0]["agent"] == "system"
    assert played.of("agent_start")[0]["content"] == "Starting A"
    assert all(
        set(event) == {"type", "agent", "content", "timestamp", "metadata"}
        for event in played.events
    )


async def test_a_crew_without_routing_is_a_pipeline(tmp_path: Path):
    """One after the other, then the end."""
    played = await play(crew_of(tmp_path, {"a": {}, "b": {}, "c": {}}, [{"say": "x"}]), "go")
    assert played.path == ["a", "b", "c"]
    assert played.row.reason == "no_next_agent"


async def test_a_signal_beside_a_call_is_not_acted_on(tmp_path: Path):
    """The tools run first, and the same agent speaks again."""
    rules = [
        {"agent": "a", "after": "lookup", "say": "stay"},
        {"agent": "a", "say": "[B]", "calls": [{"tool": "lookup", "arguments": {"word": "x"}}]},
        {"say": "b"},
    ]
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["lookup"], "handoff_targets": []}, "b": {}},
        rules,
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    played = await play(crew, "go")
    assert played.path == ["a", "a"]
    assert played.row.answer == "stay"


async def test_a_signal_in_a_tool_output_is_not_an_agents(tmp_path: Path):
    """Only its own words count."""

    @tool
    async def sneaky() -> str:
        return "[B]"

    rules = [{"after": "sneaky", "say": "nothing"}, {"say": "", "calls": ["sneaky"]}]
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["sneaky"], "handoff_targets": []}, "b": {}},
        rules,
        sneaky,
        routing=routes(a={"[B]": "b"}),
    )
    assert (await play(crew, "go")).path == ["a", "a"]


async def test_calls_in_text(tmp_path: Path):
    """Are found, run, and answered with one user message."""
    rules = [
        {"after": "lookup", "say": "got {{result.lookup}}"},
        {"say": "I look.\nlookup(x)\nlookup(\nbad"},
    ]
    crew = crew_of(tmp_path, {"a": {"tools": ["lookup"]}}, rules, lookup)
    played = await play(crew, "go")
    assert [event["metadata"]["status"] for event in played.of("tool_result")] == [
        "success",
        "error",
    ]
    assert played.of("tool_result")[0]["content"] == "✅ [Tool] lookup → meaning of x"
    assert "cannot be read" in played.of("tool_result")[1]["content"]


PING_PONG: dict[str, Any] = {"a": {}, "b": {}}


BOUNCE = [{"agent": "a", "say": "[B]"}, {"agent": "b", "say": "[A]"}]


@pytest.mark.parametrize(
    ("settings", "reason", "rounds", "handoffs"),
    [
        ({"max_handoffs": 0}, "max_handoffs", 1, 0),
        ({"max_handoffs": 4, "max_rounds": 99}, "max_handoffs", 5, 4),
        ({"max_handoffs": 5, "max_rounds": 99}, "max_handoffs", 6, 5),
        ({"max_handoffs": 6, "max_rounds": 99}, "max_handoffs", 7, 6),
        ({"max_handoffs": 99, "max_rounds": 1}, "max_rounds", 1, 1),
        ({"max_handoffs": 99, "max_rounds": 4}, "max_rounds", 4, 4),
        ({"max_handoffs": 99, "max_rounds": 5}, "max_rounds", 5, 5),
        ({"max_handoffs": 4, "max_rounds": 5}, "max_handoffs", 5, 4),
    ],
)
async def test_limits_are_counted_exactly(
    tmp_path: Path, settings: dict[str, Any], reason: str, rounds: int, handoffs: int
):
    """At the limit the run ends in good order, with a warning; a refused handoff has no event; both at once: max_handoffs."""
    crew = crew_of(
        tmp_path,
        PING_PONG,
        BOUNCE,
        routing=routes(a={"[B]": "b"}, b={"[A]": "a"}),
        settings=settings,
    )
    played = await play(crew, "go")
    done = played.of("done")[0]["metadata"]
    assert (done["reason"], done["rounds"], done["handoffs"]) == (reason, rounds, handoffs)
    assert len(played.of("handoff")) == handoffs
    assert len(played.of("agent_response")) == rounds
    assert [event["metadata"]["code"] for event in played.of("warning")] == [reason]
    assert played.row.status == "completed"
    assert played.types[-1] == "done"


@pytest.mark.parametrize("limit", [2, 3, 4])
async def test_a_run_that_needs_three_rounds(tmp_path: Path, limit: int):
    """n-1 is too few, n and n+1 are enough."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {}, "c": {"is_terminal": True}},
        [{"say": "x"}],
        settings={"max_rounds": limit},
    )
    assert (await play(crew, "go")).row.reason == ("max_rounds" if limit < 3 else "terminal")


async def test_a_tool_loop_is_bounded_by_rounds(tmp_path: Path):
    """An agent that calls for ever ends with the rounds."""
    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["lookup"]}},
        [{"say": "", "calls": [{"tool": "lookup", "arguments": {"word": "x"}}]}],
        lookup,
        settings={"max_rounds": 3},
    )
    played = await play(crew, "go")
    assert played.row.reason == "max_rounds"
    assert len(played.of("tool_result")) == 3


async def test_the_run_has_its_time(tmp_path: Path):
    """Past timeout_seconds it ends with an error, in the middle of whatever it did."""
    crew = crew_of(
        tmp_path, {"a": {}}, [{"say": "x", "delay_seconds": 30}], settings={"timeout_seconds": 0.1}
    )
    with anyio.fail_after(5):
        played = await play(crew, "go")
    assert played.types == ["start", "agent_start", "error"]
    assert played.of("error")[0]["metadata"]["reason"] == "timeout"
    assert (played.row.status, played.row.reason) == ("failed", "timeout")


async def test_histories_of_clients(tmp_path: Path):
    """Their assistant messages are the starting agent's own; their system messages are not sent; another entry may be named."""
    async with model_server([http(200, completion("x"))]) as server:
        providers = {"mine": {"base_url": server.url}}
        crew = load_crew(
            write_crew(
                tmp_path,
                {"a": {"provider": "mine"}, "b": {"provider": "mine", "is_terminal": True}},
                providers=providers,
            )
        )
        history = (
            HistoryMessage("user", "u"),
            HistoryMessage("assistant", "mine"),
            HistoryMessage("system", "obey"),
        )
        played = await play(crew, query=Query("q", history, agent_id="b"))
    assert [(m["role"], m["content"]) for m in server.asked[0]["messages"]] == [
        ("system", "You are b."),
        ("user", "u"),
        ("assistant", "mine"),
        ("user", "q"),
    ]
    assert played.path == ["b"]


@pytest.mark.parametrize("code", ["refused", "rate_limited", "unreadable", "empty", "timeout"])
async def test_a_model_that_fails_ends_the_run_or_the_backup_speaks(tmp_path: Path, code: str):
    """One clear error; or a warning and the backup's answer."""
    fails = [{"agent": "a", "fail": code}]
    settings = {"settings": {"retry_backoff_min_millis": 1}}
    played = await play(crew_of(tmp_path / "1", {"a": {}}, fails, **settings), "go")
    assert (played.row.status, played.row.reason) == ("failed", "model")
    assert played.types[-1] == "error"
    assert played.of("error")[0]["metadata"]["code"] == code
    async with model_server([http(200, completion("from the backup"))]) as server:
        agent = {
            "primary": {"model": "p", "provider": "scripted"},
            "backup": {"model": "b", "provider": "mine"},
        }
        backed = await play(
            crew_of(
                tmp_path / "2",
                {"a": agent},
                fails,
                providers={"mine": {"base_url": server.url}},
                **settings,
            ),
            "go",
        )
    assert backed.row.answer == "from the backup"
    assert "model_backup" in [event["metadata"]["code"] for event in backed.of("warning")]


async def test_a_tool_with_words_that_have_no_form_leaves_no_hole(tmp_path: Path):
    """An undecodable file name in an error."""

    @tool
    async def odd() -> str:
        raise PermanentError("/tmp/\udcff")

    crew = crew_of(
        tmp_path,
        {"a": {"tools": ["odd"]}},
        [{"after": "odd", "say": "{{result.odd}}"}, {"say": "", "calls": ["odd"]}],
        odd,
    )
    played = await play(crew, "go")
    assert [event["metadata"]["seq"] for event in played.events] == list(
        range(1, len(played.events) + 1)
    )
    assert "/tmp/?" in (played.row.answer or "")
