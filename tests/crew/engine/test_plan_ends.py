"""Where plans end, are retried, or meet limits, pauses and other agents."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.crew import check
from crew.journal.query import CallDecision
from crew.runs.errors import UnknownAgent
from tests.support.crews import play
from tests.support.planning import FAILING, WORK, ends, failing, planning, task

PAY = {"kind": "python", "function": "acts.py:pay", "effect": "once", "requires_approval": True}


async def stored(runs: Runs, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(one.encoded) async for one in runs.stored(run_id)]


async def test_a_process_that_ends_in_a_review(tmp_path: Path):
    """The review is taken again; what has failed stays so."""
    folder = planning(tmp_path, failing(task("x")), [task("a")], rules=FAILING)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).answer == "all is done"
        for event in (await stored(runs, run.id))[:-1]:
            other = (await runs.fork(run.id, event["metadata"]["seq"])).id
            assert (await runs.outcome(other)).answer == "all is done"
            after = await stored(runs, other)
            assert len([one for one in after if one["type"] == "plan_end"]) == 1


async def test_a_retry_behind_a_plan(tmp_path: Path):
    """Only the failed call is made again, not the tasks of a revision without success."""
    rules = [{"agent": "p", "fail": "unavailable"}, *FAILING[:2]]
    first, second = failing(task("a"), task("x")), failing(task("x2"))
    folder = planning(tmp_path, first, second, rules=rules, then=None)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "failed"
        before = await stored(runs, run.id)
        await (await runs.retry(run.id)).outcome()
        after = (await stored(runs, run.id))[len(before) :]
    assert {one["type"] for one in after}.isdisjoint({"task_start", "task_end", "plan_end"})


async def test_an_approval_in_a_task_changes_no_order(tmp_path: Path):
    """Who has planned is not taken for one that has not spoken."""
    rules: list[dict[str, Any]] = [
        {"agent": "w", "after": "pay", "say": "{{result.pay}}"},
        {"agent": "w", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        {"agent": "end", "say": "on"},
        {"agent": "z", "say": "the end"},
    ]
    folder = planning(tmp_path, [task("a")], rules=rules, tools={"pay": PAY})
    (folder / "agents" / "z.yaml").write_text(
        "id: z\nname: Z\nrole: z\nprovider: scripted\nsystem_prompt: z\n"
    )
    end = folder / "agents" / "end.yaml"
    end.write_text(end.read_text().replace("is_terminal: true\n", ""))
    text = (folder / "crew.yaml").read_text()
    listed = text.replace("- p\n- w\n- end\n", "- end\n- z\n- p\n- w\n") + "entry_point: p\n"
    (folder / "crew.yaml").write_text(listed)
    crew = load_crew(folder)
    ways = {(edge.from_, edge.to) for edge in crew.graph.drawn()}
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "paused"
        events = await stored(runs, run.id)
        asked = next(one["metadata"]["calls"][0] for one in events if one["type"] == "pause")
        decided = (CallDecision(asked["call_id"], "approve", "w"),)
        row = await (await runs.resume(run.id, Answer("", decisions=decided))).outcome()
        events = await stored(runs, run.id)
    assert (row.status, row.answer) == ("completed", "the end")
    hops = [
        (one["metadata"]["from"], one["metadata"]["to"])
        for one in events
        if one["type"] == "handoff"
    ]
    assert hops == [("p", "end"), ("end", "z")]
    assert set(hops) <= ways


async def test_a_plan_is_an_answer_of_its_turn(tmp_path: Path):
    """The one call that a planner may make is enough for it."""
    folder = planning(tmp_path, [task("a")])
    path = folder / "agents" / "p.yaml"
    path.write_text(path.read_text() + "max_rounds: 1\n")
    assert (await play(load_crew(folder), "go")).row.answer == "all is done"


async def test_the_answer_of_a_typed_worker_is_its_json(tmp_path: Path):
    rules = [{"agent": "w", "say": {"x": 1}}, WORK[1]]
    folder = planning(tmp_path, [task("a"), task("b", "a")], rules=rules)
    path = folder / "agents" / "w.yaml"
    path.write_text(path.read_text() + "output: { properties: { x: { type: integer } } }\n")
    played = await play(load_crew(folder), "go")
    assert '[a · w]\n{"x":1}' in played.of("plan_end")[0]["content"]


async def test_a_person_may_ask_for_another_plan(tmp_path: Path):
    """The words of a person begin another turn."""
    rules = [{"agent": "w", "say": "did it"}]
    plans = [{"agent": "p", "turn": n, "say": one} for n, one in ((2, "Enough?"), (4, "Now?"))]
    folder = planning(
        tmp_path,
        [task("a")],
        [task("gone")],
        [task("b")],
        rules=[*plans, *rules],
        then=None,
        routing={"agent_behaviors": {"p": {"wait_for_signal": True}}},
    )
    script = folder / "script.yaml"
    script.write_text(
        script.read_text().replace("turn: 2\n  say:\n    tasks", "turn: 9\n  say:\n    tasks")
    )
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).answer == "Enough?"
        row = await (await runs.resume(run.id, Answer("more"))).outcome()
        assert (row.status, row.answer) == ("paused", "Now?")
        planned = [one for one in await stored(runs, run.id) if one["type"] == "plan"]
    assert [one["metadata"]["tasks"][0]["id"] for one in planned] == ["a", "b"]
    assert [one["metadata"]["revision"] for one in planned] == [1, 1]


async def test_nothing_done_and_nothing_planned_fails(tmp_path: Path):
    folder = planning(tmp_path, failing(task("x")), [], rules=FAILING)
    played = await play(load_crew(folder), "go")
    assert (played.row.status, played.row.reason) == ("failed", "model")
    assert played.of("error")[0]["metadata"]["code"] == "plan"


async def test_a_late_call_has_its_result(tmp_path: Path):
    """Whether it has acted is not known, which is said."""
    rules: list[dict[str, Any]] = [{"agent": "w", "hears": "hang", "calls": ["wait"]}, *WORK]
    tools = {"wait": {"kind": "python", "function": "acts.py:wait", "timeout_seconds": 60}}
    tasks = [task("a", ask="hang"), task("b")]
    folder = planning(
        tmp_path, tasks, rules=rules, tools=tools, plan={"timeout_seconds": 0.2, "replan": 0}
    )
    played = await play(load_crew(folder), "go")
    (result,) = played.of("tool_result")
    assert "cut off" in result["metadata"]["output"]
    assert result["metadata"]["task"] == "a"


async def test_what_was_done_is_not_lost_at_a_limit(tmp_path: Path):
    folder = planning(
        tmp_path,
        failing(task("a"), task("x")),
        [task("b")],
        rules=FAILING,
        settings={"max_rounds": 2},
    )
    played = await play(load_crew(folder), "go")
    assert played.row.reason == "max_rounds"
    assert "did it" in str(played.row.answer)
    assert ends(played) == {"a": "done", "x": "failed"}


async def test_no_run_begins_with_a_worker(tmp_path: Path):
    async with Runs(load_crew(planning(tmp_path, [task("a")])), MemoryStore()) as runs:
        with pytest.raises(UnknownAgent, match="w"):
            await runs.start(Query("go", agent_id="w"))


def test_a_planner_is_no_member(tmp_path: Path):
    groups = {"g": {"agents": ["p", "end"]}}
    routing = {"parallel_groups": groups, "signals": {"w": [{"signal": "[G]", "target": "g"}]}}
    problems = check(planning(tmp_path, [task("a")], routing=routing)).problems
    assert "plan-worker" in [one.code for one in problems]
