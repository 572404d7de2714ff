"""What tasks of plans do: approvals, kills, deadlines; and what the files may say of them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.crew import check
from crew.journal.query import CallDecision
from tests.support.crews import play
from tests.support.planning import WORK, ends, planning, task

PAY = {
    "kind": "python",
    "function": "acts.py:pay",
    "effect": "once",
    "requires_approval": True,
}
PAYING: list[dict[str, Any]] = [
    {"agent": "w", "after": "pay", "say": "{{result.pay}}"},
    {"agent": "w", "hears": "bob", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"agent": "w", "hears": "eve", "calls": [{"tool": "pay", "arguments": {"to": "eve"}}]},
    {"agent": "w", "say": "did it"},
    WORK[1],
]
PAID = [task("a", ask="pay bob"), task("b", ask="pay eve"), task("c")]


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text().split() if path.exists() else []


async def test_approvals_of_all_tasks_are_asked_together(tmp_path: Path):
    """The others go on; of two calls with the same id from their model one is made."""
    folder = planning(tmp_path, PAID, rules=PAYING, tools={"pay": PAY})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "paused"
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        (pause,) = [one["metadata"] for one in events if one["type"] == "pause"]
        ids = [one["call_id"] for one in pause["calls"]]
        assert [one.split(".")[0] for one in ids] == ["a", "b"]
        over = [one["metadata"]["task"] for one in events if one["type"] == "task_end"]
        assert over == ["c"]
        decided = (CallDecision(ids[0], "deny"), CallDecision(ids[1], "approve"))
        row = await (await runs.resume(run.id, Answer("", decisions=decided))).outcome()
        assert row.answer == "all is done"
    assert ledger(folder) == ["eve"]


async def test_no_done_task_is_made_again(tmp_path: Path):
    """Whatever event the process ends behind: the same answer, each act once."""
    tasks = [task("a", ask="pay bob"), task("b"), task("c", "a", "b", ask="work")]
    tool = {key: value for key, value in PAY.items() if key != "requires_approval"}
    folder = planning(tmp_path, tasks, rules=PAYING, tools={"pay": tool})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        answer = (await run.outcome()).answer
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
        for event in events[:-1]:
            seq = event["metadata"]["seq"]
            other = (await runs.fork(run.id, seq)).id
            row = await runs.outcome(other)
            if row.status == "paused":
                # it ended within the act, of which it is not known whether it was made
                row = await (await runs.resume(other, Answer("", decision="retry"))).outcome()
            assert row.answer == answer, event
            after = [json.loads(one.encoded) async for one in runs.stored(other)]
            spoken = [
                (one["metadata"].get("task"), one["metadata"]["round"])
                for one in after
                if one["type"] == "agent_response" and one["metadata"].get("task")
            ]
            assert len(spoken) == len(set(spoken)), event


async def test_a_task_that_hangs_fails(tmp_path: Path):
    rules: list[dict[str, Any]] = [
        {"agent": "w", "hears": "hang", "calls": ["wait"]},
        {"agent": "w", "say": "did it"},
        WORK[1],
    ]
    tools = {"wait": {"kind": "python", "function": "acts.py:wait", "timeout_seconds": 60}}
    plan = {"timeout_seconds": 0.2, "replan": 0}
    folder = planning(
        tmp_path, [task("a", ask="hang"), task("b")], rules=rules, tools=tools, plan=plan
    )
    played = await play(load_crew(folder), "go")
    assert ends(played) == {"a": "failed", "b": "done"}
    assert "(failed: member_timeout)" in played.of("plan_end")[0]["content"]


async def test_a_plan_can_be_cancelled(tmp_path: Path):
    rules: list[dict[str, Any]] = [{"agent": "w", "calls": ["wait"]}, WORK[1]]
    tools = {"wait": {"kind": "python", "function": "acts.py:wait", "timeout_seconds": 60}}
    folder = planning(tmp_path, [task("a"), task("b")], rules=rules, tools=tools)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        async for event in runs.follow(run.id):
            if event is not None and event.type == "tool_start" and event.metadata["task"] == "b":
                await runs.cancel(run.id)
        assert (await run.outcome()).status == "cancelled"
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
    results = [one["metadata"]["task"] for one in events if one["type"] == "tool_result"]
    assert sorted(results) == ["a", "b"]


async def test_signals_in_a_task_lead_nowhere(tmp_path: Path):
    rules = [{"agent": "w", "say": "[GO] did it"}, WORK[1]]
    routing = {"signals": {"w": [{"signal": "[GO]", "target": "p"}]}}
    folder = planning(tmp_path, [task("a", ask="[GO]")], rules=rules, routing=routing)
    played = await play(load_crew(folder), "go")
    assert [one["metadata"]["to"] for one in played.of("handoff")] == ["end"]


def crew_of(folder: Path) -> Crew:
    return load_crew(folder)


def test_workers_have_no_place_in_the_order(tmp_path: Path):
    """Nor as entry; they are not unreachable."""
    folder = planning(tmp_path, [task("a")])
    text = (folder / "crew.yaml").read_text().replace("- p\n- w\n", "- w\n- p\n")
    (folder / "crew.yaml").write_text(text)
    crew = crew_of(folder)
    assert crew.entry_point == "p"
    assert crew.warnings == ()
    kinds = {(edge.from_, edge.to): edge.kind for edge in crew.graph.drawn()}
    assert kinds[("p", "w")] == "member"
    assert kinds[("p", "end")] == "plan"
    assert all(from_ != "w" for from_, _ in kinds)


@pytest.mark.parametrize(
    ("plan", "more", "code"),
    [
        ({"workers": ["z"]}, {}, "plan-worker"),
        ({"workers": ["p"]}, {}, "plan-worker"),
        ({"workers": ["w", "w"]}, {}, "plan-worker"),
        ({"then": "z"}, {}, "unknown-agent"),
        (
            {},
            {"routing": {"signals": {"p": [{"signal": "[X]", "target": "end"}]}}},
            "output-signals",
        ),
        ({}, {"routing": {"outputs": {"p": [{"target": "end"}]}}}, "output-agent"),
    ],
)
def test_what_is_wrong_with_a_plan(tmp_path: Path, plan: Any, more: Any, code: str):
    problems = check(planning(tmp_path, [task("a")], plan=plan, **more)).problems
    assert code in [one.code for one in problems]


def test_a_plan_stands_in_place_of_an_output(tmp_path: Path):
    folder = planning(tmp_path, [task("a")])
    path = folder / "agents" / "p.yaml"
    path.write_text(path.read_text() + "output: { properties: { x: { type: string } } }\n")
    assert "plan-output" in [one.code for one in check(folder).problems]


def test_acts_of_workers_without_a_decision_are_told(tmp_path: Path):
    tool = {key: value for key, value in PAY.items() if key != "requires_approval"}
    for number, (given_tool, codes) in enumerate(((tool, ["unguarded-plan"]), (PAY, []))):
        folder = planning(tmp_path / str(number), PAID, rules=PAYING, tools={"pay": given_tool})
        assert [one.code for one in check(folder).problems] == codes


async def test_plans_at_the_same_time_do_not_meet(tmp_path: Path):
    crew = load_crew(planning(tmp_path, [task("a"), task("b", "a")]))
    async with Runs(crew, MemoryStore()) as runs:
        started = [await runs.start(Query("go")) for _ in range(20)]
        rows = await asyncio.gather(*(one.outcome() for one in started))
    assert {row.answer for row in rows} == {"all is done"}
