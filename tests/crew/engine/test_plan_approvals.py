"""A person approves a plan, changes it, has it planned anew, or denies it."""

import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from crew.journal.records.rows import RunRow
from crew.runs.errors import WrongDecision
from tests.support.crews import write_crew
from tests.support.planning import FAILING, WORK, failing, planning, task

ASKS = {"approve": True}


async def stored(runs: Runs, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(one.encoded) async for one in runs.stored(run_id)]


async def asked(runs: Runs, run_id: str) -> dict[str, Any]:
    """The newest question: the plan stands as one call."""
    pauses = [one["metadata"] for one in await stored(runs, run_id) if one["type"] == "pause"]
    assert pauses[-1]["question"] == "plan"
    (call,) = pauses[-1]["calls"]
    found: dict[str, Any] = call
    return found


async def decide(runs: Runs, run_id: str, decision: Any, **more: Any) -> RunRow:
    call = await asked(runs, run_id)
    one = CallDecision(call["call_id"], decision, call["agent_id"], hash=call["hash"], **more)
    return await (await runs.resume(run_id, Answer(decisions=(one,)))).outcome()


async def test_the_question_says_what_comes_first(tmp_path: Path):
    crew = load_crew(planning(tmp_path, [task("a"), task("b", "a")], plan=ASKS))
    async with Runs(crew, MemoryStore()) as runs:
        row = await (await runs.start(Query("go"))).outcome()
        assert row.asks == "approve the plan?\na (w): work\nb (w): work (after a)"


async def test_it_is_worked_on_once_it_is_approved(tmp_path: Path):
    async with Runs(load_crew(planning(tmp_path, [task("a")], plan=ASKS)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        assert (row.status, row.asks) == ("paused", "approve the plan?\na (w): work")
        call = await asked(runs, run.id)
        assert call["arguments"] == {"tasks": [task("a")]}
        assert call["may"] == ["approve", "deny", "edit"]
        assert not any(one["type"] == "task_start" for one in await stored(runs, run.id))
        assert (await decide(runs, run.id, "approve")).answer == "all is done"


async def test_it_can_be_changed(tmp_path: Path):
    """And is checked as a model's is: a cycle is refused, and nothing has happened."""
    async with Runs(load_crew(planning(tmp_path, [task("a")], plan=ASKS)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        cycle = {"tasks": [task("b", "c"), task("c", "b")]}
        with pytest.raises(WrongDecision, match="need each other"):
            await decide(runs, run.id, "approve", arguments=cycle)
        with pytest.raises(WrongDecision, match="one of w"):
            await decide(runs, run.id, "approve", arguments={"tasks": [task("b", agent="z")]})
        changed = {"tasks": [task("b"), task("c", "b")]}
        assert (await decide(runs, run.id, "approve", arguments=changed)).answer == "all is done"
        (plan,) = [one["metadata"] for one in await stored(runs, run.id) if one["type"] == "plan"]
    assert [one["id"] for one in plan["tasks"]] == ["b", "c"]


async def test_a_change_is_read_as_a_model_s_plan_is(tmp_path: Path):
    """Case and spaces of a worker's name are no mistake in either."""
    async with Runs(load_crew(planning(tmp_path, [task("a")], plan=ASKS)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        changed = {"tasks": [task("b", agent=" W ")]}
        assert (await decide(runs, run.id, "approve", arguments=changed)).answer == "all is done"
        (plan,) = [one["metadata"] for one in await stored(runs, run.id) if one["type"] == "plan"]
    assert [one["agent"] for one in plan["tasks"]] == ["w"]


@pytest.mark.parametrize("approve", [False, True])
async def test_an_approval_changes_no_way(tmp_path: Path, approve: bool):
    """The planner has spoken, also where it stands last in the order."""
    agents: dict[str, Any] = {
        "w": {},
        "mid": {},
        "p": {"plan": {"workers": ["w"], "then": "mid", "approve": approve}},
        "end": {"is_terminal": True},
    }
    said = [{"agent": one, "say": f"{one} speaks"} for one in ("w", "mid", "end")]
    rules = [{"agent": "p", "say": {"tasks": [task("a")]}}, *said]
    folder = write_crew(tmp_path, agents, rules, entry_point="p")
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        assert row.status == ("paused" if approve else "completed")
        if approve:
            row = await decide(runs, run.id, "approve")
        events = await stored(runs, run.id)
    assert row.answer == "end speaks"
    spoke = [one["metadata"]["agent_id"] for one in events if one["type"] == "agent_response"]
    assert spoke == ["p", "w", "mid", "end"]


@pytest.mark.parametrize("on_timeout", ["end", None])
async def test_nobody_approves_it_in_time(tmp_path: Path, on_timeout: str | None):
    """The pause ends as the planner's do; a later planner is asked about, too."""
    rule = {"wait_timeout_seconds": 60, **({"on_wait_timeout": on_timeout} if on_timeout else {})}
    folder = planning(tmp_path, [task("a")], plan=ASKS, routing={"agent_behaviors": {"p": rule}})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        assert (row.status, row.paused_until is not None) == ("paused", True)
        await runs.expire(row)
        row = await runs.outcome(run.id)
        events = await stored(runs, run.id)
    assert (row.status, row.reason) == ("completed", "terminal" if on_timeout else "no_answer")
    assert not any(one["type"] == "plan" for one in events)


async def test_words_have_it_planned_anew(tmp_path: Path):
    """Three times; then a decision is wanted."""
    plans = [[task(name)] for name in ("a", "b", "c", "d")]
    async with Runs(load_crew(planning(tmp_path, *plans, plan=ASKS)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        for name in ("b", "c", "d"):
            row = await (await runs.resume(run.id, Answer("not so"))).outcome()
            assert row.status == "paused"
            assert (await asked(runs, run.id))["arguments"]["tasks"][0]["id"] == name
        (*_, pause) = [one for one in await stored(runs, run.id) if one["type"] == "pause"]
        assert pause["metadata"]["words_left"] == 0
        with pytest.raises(WrongDecision):
            await runs.resume(run.id, Answer("not so, either"))
        assert (await decide(runs, run.id, "approve")).answer == "all is done"
        planned = [one["metadata"] for one in await stored(runs, run.id) if one["type"] == "plan"]
    assert [(one["revision"], one["tasks"][0]["id"]) for one in planned] == [(1, "d")]


@pytest.mark.parametrize("then", ["end", None])
async def test_denied_the_planner_speaks_without_workers(tmp_path: Path, then: str | None):
    rules = [{"agent": "p", "seen": "has denied the plan: too dear", "say": "then not"}]
    folder = planning(
        tmp_path, [task("a")], rules=[*rules, *(WORK if then else WORK[:1])], plan=ASKS, then=then
    )
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        row = await decide(runs, run.id, "deny", reason="too dear")
        assert row.status == "completed"
        events = await stored(runs, run.id)
    said = [one["content"] for one in events if one["type"] == "agent_response"]
    assert said[1] == "then not"
    assert row.answer == ("all is done" if then else "then not")
    assert not any(one["type"] == "task_start" for one in events)


async def test_each_revision_is_asked_about(tmp_path: Path):
    """What is done may be needed, also by a plan that a person has changed."""
    first, second = failing(task("a"), task("x")), [task("b", "a")]
    folder = planning(tmp_path, first, second, rules=FAILING, plan=ASKS)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        assert (await decide(runs, run.id, "approve")).status == "paused"
        again = {"tasks": [task("c", "a")]}
        assert (await decide(runs, run.id, "approve", arguments=again)).answer == "all is done"
        events = await stored(runs, run.id)
    plans = [one["metadata"] for one in events if one["type"] == "plan"]
    assert [(one["revision"], one["tasks"][-1]["id"]) for one in plans] == [(1, "x"), (2, "c")]


async def test_behind_whatever_event_a_process_ends(tmp_path: Path):
    """The same answer; a copy asks anew where nothing was decided for it."""
    async with Runs(load_crew(planning(tmp_path, [task("a")], plan=ASKS)), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        assert (await decide(runs, run.id, "approve")).answer == "all is done"
        for event in (await stored(runs, run.id))[:-1]:
            other = (await runs.fork(run.id, event["metadata"]["seq"])).id
            row = await runs.outcome(other)
            if row.status == "paused":
                row = await decide(runs, other, "approve")
            assert row.answer == "all is done", event
