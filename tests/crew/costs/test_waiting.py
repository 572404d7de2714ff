"""Runs that wait for room in a budget: one answer for all of them."""

from pathlib import Path

import pytest

from crew import Answer, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.journal.query import CallDecision
from crew.journal.records.audit import AuditEntry, AuditFilter
from tests.crew.costs.test_budgets import crew_with


@pytest.mark.parametrize("backend", ["memory", "sqlite"])
async def test_all_that_wait_go_on_together(tmp_path: Path, backend: str):
    """At the same pot, by one answer, which adds once; others wait on. One may also just try again."""
    folder = crew_with(tmp_path / "crew", {"tokens": 60, "then": "pause", "scope": "user"})
    store = MemoryStore() if backend == "memory" else SqliteStore(tmp_path / "x.db")
    async with Runs(load_crew(folder), store) as runs:
        waiting: dict[str, list[str]] = {"ann": [], "bob": []}
        for user in ("ann", "bob"):
            for _ in range(4):
                run = await runs.start(Query("hello", user_id=user))
                if (await run.outcome()).status == "paused":
                    waiting[user].append(run.id)
        assert [len(one) for one in waiting.values()] == [3, 3]
        first, *others = waiting["ann"]
        more = CallDecision("budget", "approve", arguments={"tokens": 1000, "for": "all"})
        entry = AuditEntry("2026-01-01T00:00:00.000Z", "answer", "eve", "10.0.0.1")
        resumed_by = Answer(decisions=(more,), by="eve")
        await (await runs.resume(first, resumed_by, entry=entry)).outcome()
        for run_id in others:
            row = await runs.outcome(run_id)
            assert (row.status, row.reason) == ("completed", "terminal")
            assert [
                one.name for one in await store.audit.entries(9, AuditFilter(run_id=run_id))
            ] == ["eve"]
            resumed = [
                one
                async for one in runs.stored(run_id)
                if one.type == "start" and one.metadata.get("resumed")
            ]
            assert len(resumed) == 1
        pots = {one.key.value: one for one in await store.budgets.pots(["today"])}
        assert (pots["ann"].more_tokens, pots["bob"].more_tokens) == (1000, 0)
        statuses = [(await runs.row(one)).status for one in waiting["bob"]]
        assert statuses == ["paused"] * 3
        # room that came another way
        await store.budgets.add(pots["bob"].key, "", 0, 1000)
        again = CallDecision("budget", "approve", arguments={"again": True})
        row = await (await runs.resume(waiting["bob"][0], Answer(decisions=(again,)))).outcome()
        assert (row.status, row.reason) == ("completed", "terminal")
