"""Runs that others have ended, or kept from going on: none is played again as if it were alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from crew.rehearsal.replaying.recording import read_recording
from crew.why.reading import explain_run
from tests.crew.rehearsal.test_hard_replays import verdict_of
from tests.crew.rehearsal.test_replays import replayed
from tests.support.crews import write_crew
from tests.support.rehearsed import RULES, repair_crew


@pytest.mark.parametrize("paused", [True, False])
async def test_a_run_that_was_cancelled_is_not_played_again(tmp_path: Path, paused: bool):
    """Nothing but who has ended it knows when; that is no answer to its pause, either."""
    rules = RULES if paused else [{"say": "slow", "delay_seconds": 3600}]
    folder = repair_crew(tmp_path, rules)
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("hello"))
        if paused:
            await run.outcome()
        await runs.cancel(run.id)
        await runs.outcome(run.id)
        (row,) = await store.rows()
        explained = await explain_run(store, row, crew)
    assert row.status == "cancelled"
    said = [one.step for one in explained.steps]
    assert not any("a person has answered" in one for one in said)
    assert ("goes on, only to end" in said) == paused
    assert await verdict_of(store, folder) == ("not kept", "", "it was cancelled from outside")


@pytest.mark.parametrize("then", ["block", "end", "pause", {"model": "cheap"}])
async def test_a_run_that_met_a_budget_of_others(tmp_path: Path, then: Any):
    """Their runs are not played again with it, so the pot is not as full as it was."""
    models = {
        "dear": {"provider": "scripted", "prices": {"input": 1000, "output": 2000}},
        "cheap": {"provider": "scripted", "prices": {"input": 1, "output": 2}},
    }
    agent = {"model": "dear", "is_terminal": True, "max_tokens": 40}
    budget = {"scope": "crew", "per": "day", "calls": 1, "then": then, "models": ["dear"]}
    folder = write_crew(
        tmp_path, {"a": agent}, [{"say": "done"}], models=models, budgets={"all": budget}
    )
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        for _ in range(2):
            run = await runs.start(Query("go"))
            await run.outcome()
    verdicts = [one.compared for one in await replayed(store, folder)]
    assert sorted(one.verdict for one in verdicts) == ["not kept", "same"]
    assert "met a budget" in "".join(one.why for one in verdicts)


async def test_a_run_that_met_a_budget_of_its_own(tmp_path: Path):
    """No other run is paid from it: it is played again."""
    agent = {"model": "dear", "is_terminal": True}
    models = {"dear": {"provider": "scripted", "prices": {"input": 1000, "output": 2000}}}
    budget = {"scope": "run", "calls": 1, "then": "end", "models": ["dear"]}
    folder = write_crew(
        tmp_path, {"a": agent}, [{"say": "done"}], models=models, budgets={"own": budget}
    )
    crew = load_crew(folder)
    store = MemoryStore(crew.clock)
    async with Runs(crew, store) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        (row,) = await store.rows()
        recording = await read_recording(store, row)
    (own,) = crew.budgets
    assert recording.changed_since([own]) == ""
    assert "paid from" in recording.changed_since([replace(own, scope="crew")])
    assert await verdict_of(store, folder) == ("same", "", "")
