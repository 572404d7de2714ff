"""What a person adds to a budget is added once, wherever the process ends."""

from pathlib import Path
from typing import Any

import pytest

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.errors import StoreError
from crew.journal.query import CallDecision
from crew.journal.records.rows import AppendResult, Write
from tests.crew.costs.test_budgets import crew_with
from tools.clock import Clock


class DyingStore(MemoryStore):
    """A store that takes no event of a run any more once a pot has got more."""

    is_dead = has_died = False

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        add = self.budgets.add

        async def add_and_die(*given: Any) -> None:
            await add(*given)
            self.is_dead, self.has_died = not self.has_died, True

        # a role of this store
        vars(self.budgets)["add"] = add_and_die

    async def append(self, write: Write) -> AppendResult:
        """See RunLog."""
        if self.is_dead:
            raise StoreError("the process has ended")
        return await super().append(write)


async def test_more_is_added_once(tmp_path: Path):
    """Also where the process ends between the addition and the event that says so."""
    folder = crew_with(tmp_path, {"tokens": 60, "then": "pause"})
    crew = load_crew(folder)
    store = DyingStore(crew.clock)
    async with Runs(crew, store) as runs:
        await (await runs.start(Query("hello"))).outcome()
        paused = await runs.start(Query("hello"))
        assert (await paused.outcome()).status == "paused"
        decision = CallDecision("budget", "approve", arguments={"tokens": 100})
        with pytest.raises(StoreError):
            await (await runs.resume(paused.id, Answer(decisions=(decision,)))).outcome()
    store.is_dead = False
    async with Runs(load_crew(folder), store) as runs:
        for run in await runs.recover():
            await run.outcome()
        assert (await runs.row(paused.id)).status == "completed"
    (pot,) = await store.budgets.pots(["today"])
    assert pot.more_tokens == 100


@pytest.mark.parametrize("limit", ["calls", "tokens"])
async def test_a_limit_that_is_raised_while_a_run_waits(tmp_path: Path, limit: str):
    """By a reload: the run goes on by it when it is to look again."""
    few, many = (1, 100) if limit == "calls" else (60, 1000)
    folder = crew_with(tmp_path, {limit: few, "then": "pause"})
    crew = load_crew(folder)
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        assert (await (await runs.start(Query("hello"))).outcome()).status == "completed"
        run = await runs.start(Query("hello"))
        assert (await run.outcome()).status == "paused"
        crew_with(tmp_path, {limit: many, "then": "pause"})
        runs.adopt(crew.load_again())
        again = CallDecision("budget", "approve", arguments={"again": True})
        row = await (await runs.resume(run.id, Answer(decisions=(again,)))).outcome()
        assert (row.status, row.reason) == ("completed", "terminal"), row
        assert row.revision == crew.revision
