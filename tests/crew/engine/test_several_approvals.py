"""Several calls that a person decides on: what was decided outlives other questions and times."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import Write
from tests.support.crews import write_crew

ACTS = """
from pathlib import Path
LEDGER = Path(__file__).parent / "ledger"

def pay(to: str) -> str:
    '''Pay someone.'''
    with LEDGER.open("a") as out:
        out.write(to + "\\n")
    return f"paid {to}"
"""


def paying(folder: Path, calls: list[tuple[str, str]], **tools: Any) -> Path:
    """A crew whose agent makes these calls of tools that pay, in one answer."""
    folder.mkdir(exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    made = [{"tool": name, "arguments": {"to": to}} for name, to in calls]
    rules = [{"turn": 1, "calls": made}, {"say": "done"}]
    entries = {
        name: {"kind": "python", "function": "acts.py:pay", **entry}
        for name, entry in tools.items()
    }
    return write_crew(folder, {"a": {"tools": list(tools)}}, rules, tools=entries)


def paid(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return ledger.read_text().splitlines() if ledger.exists() else []


async def events(runs: Runs, run_id: str, kind: str) -> list[dict[str, Any]]:
    told = [json.loads(one.encoded) async for one in runs.stored(run_id)]
    return [one["metadata"] for one in told if one["type"] == kind]


async def test_a_decision_outlives_another_question(tmp_path: Path):
    """Two calls were approved, and the process ended in the first: the other is not asked again."""
    both = [("pay", "bob"), ("pay", "eve")]
    folder = paying(tmp_path / "crew", both, pay={"requires_approval": True, "effect": "once"})
    before, store = MemoryStore(), MemoryStore()
    async with Runs(load_crew(folder), before) as runs:
        run = await runs.start(Query("pay both"))
        await run.outcome()
        row = await (await runs.resume(run.id, Answer(decision="approve", by="ann"))).outcome()
    records = await before.records(run.id)
    started = next(n for n, one in enumerate(records, 1) if "ToolStarted" in one.event)
    (folder / "ledger").unlink()
    left = replace(row, status="running", ended_at=None)
    await store.append(Write(run.id, records[:started], left))
    async with Runs(load_crew(folder), store) as runs:
        (again,) = await runs.recover()
        assert (await again.outcome()).status == "paused"
        ended = await (await runs.resume(run.id, Answer(decision="retry", by="eve"))).outcome()
        pauses = [one["question"] for one in await events(runs, run.id, "pause")]
        begun = [one["approved_by"] for one in await events(runs, run.id, "tool_start")]
    assert (ended.status, paid(folder)) == ("completed", ["bob", "eve"])
    assert pauses == ["approval", "unknown_outcome"]
    # who has approved each, also of the one that was made again
    assert begun == ["ann", "ann", "ann"]


async def test_calls_with_times_of_their_own(tmp_path: Path):
    """Whose time is over is refused; the others are asked about again, without it."""
    times = {"soon": (60, "refuse"), "late": (90, "refuse"), "never": (60, "wait")}
    tools = {
        name: {"requires_approval": {"deadline_seconds": seconds, "on_deadline": way}}
        for name, (seconds, way) in times.items()
    }
    folder = paying(tmp_path / "crew", [(name, name) for name in times], **tools)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("pay"))
        await run.outcome()
        for _ in range(2):
            await runs.expire(await runs.row(run.id))
            row = await runs.outcome(run.id)
        assert (row.status, row.paused_until) == ("paused", None)
        row = await (await runs.resume(run.id, Answer(decision="approve"))).outcome()
        pauses = await events(runs, run.id, "pause")
    asked = [[call["tool"] for call in one["calls"]] for one in pauses]
    assert asked == [["soon", "late", "never"], ["late", "never"], ["never"]]
    assert (row.status, paid(folder)) == ("completed", ["never"])


async def test_a_time_that_would_end_the_run(tmp_path: Path):
    """Only when it is over itself."""
    times = {"soon": (60, "refuse"), "late": (90, "fail")}
    tools = {
        name: {"requires_approval": {"deadline_seconds": seconds, "on_deadline": way}}
        for name, (seconds, way) in times.items()
    }
    folder = paying(tmp_path / "crew", [(name, name) for name in times], **tools)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("pay"))
        await run.outcome()
        statuses = []
        for _ in range(2):
            await runs.expire(await runs.row(run.id))
            statuses.append((await runs.outcome(run.id)).status)
    assert statuses == ["paused", "failed"]
