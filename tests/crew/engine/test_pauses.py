"""Pauses: counts after an answer, who answers first, what another process needs."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from crew import Answer, HistoryMessage, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.runs.errors import NotPaused, RunEnded, UnknownRun
from tests.crew.engine.test_runs import routes
from tests.support.crews import crew_of, play, write_crew
from tests.support.model_server import completion, http, model_server

PAUSING = {
    "routing": {**routes(a={"[B]": "b"}), "agent_behaviors": {"a": {"wait_for_signal": True}}}
}


ASKING = [
    {"agent": "a", "hears": "enough", "say": "thanks [B]"},
    {"agent": "a", "say": "tell me more"},
    {"agent": "b", "say": "{{heard}}!"},
]


async def test_a_pause_and_its_answers(tmp_path: Path):
    """It pauses as often as the agent asks; counts begin anew, numbers and usage go on; one start and one end a segment."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    played = await play(crew, "help", "not yet", "enough")
    assert played.types == [
        "start",
        "agent_start",
        "agent_response",
        "pause",
        "done",
        "start",
        "answered",
        "agent_start",
        "agent_response",
        "pause",
        "done",
        "start",
        "answered",
        "agent_start",
        "agent_response",
        "handoff",
        "agent_start",
        "agent_response",
        "done",
    ]
    assert [event["metadata"]["resumed"] for event in played.of("start")] == [False, True, True]
    assert [event["metadata"]["reason"] for event in played.of("done")] == [
        "paused",
        "paused",
        "terminal",
    ]
    assert played.of("pause")[0]["content"] == "[PAUSE:a] Waiting for user input"
    assert [event["metadata"]["seq"] for event in played.events] == list(range(1, 20))
    assert [event["metadata"]["round"] for event in played.of("agent_start")] == [1, 1, 1, 2]
    totals = [event["metadata"]["usage"]["total_tokens"] for event in played.of("done")]
    assert totals == sorted(totals)
    assert len(set(totals)) == 3
    assert played.row.answer == "[A]: thanks [B]!"


async def test_handoffs_and_who_has_spoken_count_anew(tmp_path: Path):
    """With each answer of a person: one handoff before it, one after it, and the first agent may be led to again."""
    routing = {**routes(a={"[B]": "b"}), "agent_behaviors": {"b": {"wait_for_signal": True}}}
    routing["signals"]["b"] = [{"signal": "[A]", "target": "a"}]
    rules = [
        {"agent": "a", "turn": 1, "say": "[B]"},
        {"agent": "a", "say": "home"},
        {"agent": "b", "hears": "go on", "say": "[A]"},
        {"agent": "b", "say": "shall I?"},
    ]
    agents: dict[str, Any] = {"a": {"handoff_targets": []}, "b": {}}
    played = await play(
        crew_of(tmp_path, agents, rules, routing=routing, settings={"max_handoffs": 1}),
        "start",
        "go on",
    )
    assert played.path == ["a", "b", "b", "a"]
    assert [event["metadata"]["handoffs"] for event in played.of("done")] == [1, 1]
    assert played.row.reason == "no_next_agent"


async def test_the_history_of_a_pause_is_kept(tmp_path: Path):
    """What was said before is what the model is sent after."""
    crew_file: dict[str, Any] = {**PAUSING, "providers": {"mine": {"base_url": "http://x/v1"}}}
    async with model_server(
        lambda request: http(
            200, completion("tell me more" if len(request["messages"]) < 4 else "[B]")
        )
    ) as server:
        crew_file["providers"]["mine"]["base_url"] = server.url
        write_crew(
            tmp_path,
            {"a": {"provider": "mine"}, "b": {"provider": "mine", "is_terminal": True}},
            **crew_file,
        )
        await play(load_crew(tmp_path), "first", "second")
    assert [(m["role"], m["content"]) for m in server.asked[1]["messages"][1:]] == [
        ("user", "first"),
        ("assistant", "tell me more"),
        ("user", "second"),
    ]
    assert server.asked[2]["messages"][-1] == {"role": "user", "content": "[A]: [B]"}


async def test_two_answers_at_once(tmp_path: Path):
    """The first wins, the other is refused; later ones too."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("help"))
        await run.outcome()
        outcomes: list[str] = []

        async def answer() -> None:
            try:
                await (await runs.resume(run.id, Answer("enough"))).outcome()
                outcomes.append("won")
            except NotPaused:
                outcomes.append("lost")

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(answer)
        assert sorted(outcomes) == ["lost"] * 7 + ["won"]
        with pytest.raises(NotPaused):
            await runs.resume(run.id, Answer("late"))


async def test_a_pause_is_answered_by_another_process(tmp_path: Path):
    """All that is needed is in the store."""
    folder = write_crew(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(
            Query(
                "help",
                history=(HistoryMessage("user", "earlier"), HistoryMessage("assistant", "words")),
            )
        )
        assert (await run.outcome()).status == "paused"
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        resumed = await runs.resume(run.id, Answer("enough"))
        row = await resumed.outcome()
        lines = [json.loads(line.encoded) async for line in runs.follow(run.id) if line]
    assert (row.status, row.answer) == ("completed", "[A]: thanks [B]!")
    assert [line["metadata"]["seq"] for line in lines] == list(range(1, len(lines) + 1))


async def test_cancelling(tmp_path: Path):
    """A running run and a paused one end as cancelled; one that has ended does not."""
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True}},
        [{"hears": "slow", "say": "x", "delay_seconds": 30}, *ASKING],
        **PAUSING,
    )
    async with Runs(crew, MemoryStore()) as runs:
        running, paused = await runs.start(Query("slow")), await runs.start(Query("ask me"))
        assert (await paused.outcome()).status == "paused"
        for run in (running, paused):
            await runs.cancel(run.id)
            lines = [json.loads(line.encoded) async for line in runs.follow(run.id) if line]
            assert (lines[-1]["type"], lines[-1]["metadata"]["reason"]) == ("done", "cancelled")
            assert (await runs.row(run.id)).status == "cancelled"
            with pytest.raises(RunEnded):
                await runs.cancel(run.id)
        with pytest.raises(UnknownRun):
            await runs.cancel("nope")


async def test_an_answer_that_is_given_is_given(tmp_path: Path):
    """Also when whoever gave it goes away at that moment."""
    crew = crew_of(tmp_path, {"a": {}, "b": {"is_terminal": True}}, ASKING, **PAUSING)
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("help"))
        await run.outcome()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await runs.resume(run.id, Answer("enough"))
        lines = [line async for line in runs.follow(run.id) if line]
        assert json.loads(lines[-1].encoded)["metadata"]["reason"] in ("terminal", "paused")
        while (await runs.row(run.id)).status != "completed":
            await anyio.lowlevel.checkpoint()


async def test_cancelling_in_the_moment_of_a_pause(tmp_path: Path):
    """Ends the run, whether the pause is stored already or not."""
    crew = crew_of(tmp_path, {"a": {}, "b": {}}, ASKING, **PAUSING)
    for turns in range(12):
        async with Runs(crew, SqliteStore(tmp_path / f"{turns}.db")) as runs:
            run = await runs.start(Query("help"))
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            await runs.cancel(run.id)
            await run.stopped()
            if run.id in runs.live:
                live = runs.live.get(run.id)
                assert live is not None
                await live.stopped()
            assert (await runs.row(run.id)).status == "cancelled"
