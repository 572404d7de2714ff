"""Budgets of a plan's workers, and prices that change while runs are under way."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.query import CallDecision
from tests.crew.costs.test_budgets import PRICES, WRITER, crew_with
from tests.support.planning import task

WORKERS = 8


def plan_of_eight(folder: Path, budget: dict[str, Any]) -> Path:
    """Eight tasks at once; each call has 40 tokens to write at most."""
    agents = {
        "p": {
            "model": "large",
            "max_tokens": 300,
            "plan": {"workers": ["w"], "then": "end", "at_once": WORKERS},
        },
        "w": {**WRITER, "is_terminal": False},
        "end": WRITER,
    }
    tasks = [task(f"t{number}") for number in range(WORKERS)]
    rules = [
        {"agent": "p", "say": {"tasks": tasks}},
        {"agent": "w", "say": "one two three", "delay_seconds": 0.02},
        {"agent": "end", "say": "done"},
    ]
    return crew_with(folder, budget, agents=agents, rules=rules)


@pytest.mark.parametrize("then", ["block", "end", "pause", "warn"])
async def test_a_plan_of_eight_shares_a_pot(tmp_path: Path, then: str):
    """It goes over it by nothing, and ends, waits or goes on as `then` says."""
    limit = 150
    # the planner's own call is not counted
    budget = {"agents": ["w"], "tokens": limit, "reserve": "worst", "then": then, "wait_seconds": 0}
    crew = load_crew(plan_of_eight(tmp_path, budget))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await runs.start(Query("hello"))
        row = await run.outcome()
        (pot,) = await runs.store.budgets.pots(["today"])
        assert (pot.tokens <= limit, pot.held_tokens) == (then != "warn", 0)
        assert 1 <= pot.calls < WORKERS or then == "warn"
        while row.status == "paused":
            decided = CallDecision("budget", "approve", arguments={"tokens": 10**4})
            run = await runs.resume(run.id, Answer(decisions=(decided,)))
            row = await run.outcome()
        calls = await runs.store.costs.calls_of(run.id)
    expected = {"block": ("failed", "budget"), "end": ("completed", "budget")}
    assert (row.status, row.reason) == expected.get(then, ("completed", "terminal"))
    if then in ("pause", "warn"):
        # no task was worked on twice
        assert [one.agent_id for one in calls].count("w") == WORKERS


async def test_a_price_that_changes_under_way(tmp_path: Path):
    """A call is paid by the price with which it began; what comes later by that of its files."""
    rules = [{"say": "one two three", "delay_seconds": 0.05}]
    folder = crew_with(tmp_path, {"usd": 10**6}, rules=rules)
    crew = load_crew(folder)
    dearer = folder / "crew.yaml"
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        first = await runs.start(Query("hello"))
        async for event in runs.follow(first.id):
            # its call begins behind that
            if event is not None and event.type == "agent_start":
                break
        text = dearer.read_text()
        dearer.write_text(text.replace(f"input: {PRICES['input']}", "input: 7000"))
        assert dearer.read_text() != text
        runs.adopt(load_crew(folder))
        second = await runs.start(Query("hello"))
        costs = []
        for one in (first, second):
            await one.outcome()
            (call,) = await runs.store.costs.calls_of(one.id)
            costs.append((call.input, call.output, call.nanos))
        (pot,) = await runs.store.budgets.pots(["today"])
    (come, go, paid), (come2, go2, paid2) = costs
    assert paid == (come * 1000 + go * 2000) * 1000
    assert paid2 == (come2 * 7000 + go2 * 2000) * 1000
    assert pot.nanos == paid + paid2
