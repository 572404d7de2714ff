"""Another run that begins with the first events of one: it goes on from there, and repeats nothing before."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.journal.query import CallDecision
from crew.runs.errors import NotForkable, UnknownRun
from tests.support.crews import write_crew

ACTS = '''
from pathlib import Path

def pay(to: str) -> str:
    """Pay."""
    with (Path(__file__).parent / "ledger").open("a") as out:
        out.write(to + " ")
    return "paid " + to
'''
RULES: list[dict[str, Any]] = [
    {"agent": "a", "say": "both [G]"},
    {"agent": "b", "say": "b looked"},
    {"agent": "c", "say": "c looked"},
    {"agent": "d", "after": "pay", "say": "{{result.pay}}"},
    {"agent": "d", "say": "I pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
]
ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}]},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}


def folder_of(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    (path / "acts.py").write_text(ACTS)
    pay = {"kind": "python", "function": "acts.py:pay", "requires_approval": True, "effect": "once"}
    agents: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    agents["d"] = {"tools": ["pay"], "is_terminal": True}
    return write_crew(path, agents, RULES, {"pay": pay}, routing=ROUTING)


def paid(folder: Path) -> int:
    ledger = folder / "ledger"
    return len(ledger.read_text().split()) if ledger.exists() else 0


async def answered(runs: Runs, run_id: str, decision: Any) -> str:
    """Decide on the call that a run asks about; the answer that it ends with."""
    row = await runs.outcome(run_id)
    pause = await runs.pause_of(row)
    assert pause is not None
    (asked,) = pause.metadata["calls"]
    one = CallDecision(asked["call_id"], decision, asked["agent_id"], hash=asked["hash"])
    row = await (await runs.resume(run_id, Answer(decisions=(one,)))).outcome()
    assert row.status == "completed", row
    return str(row.answer)


async def seqs(runs: Runs, run_id: str) -> dict[str, int]:
    """The numbers of a run's events, by their types; of several, the last."""
    return {one.type: one.seq or 0 async for one in runs.stored(run_id)}


async def test_it_is_answered_otherwise(tmp_path: Path):
    """From a pause: the other run waits again, and each goes its own way, in another process too."""
    folder = folder_of(tmp_path)
    path = tmp_path / "x.db"
    async with Runs(load_crew(folder), SqliteStore(path)) as runs:
        first = (await runs.start(Query("go"))).id
        assert (await runs.outcome(first)).status == "paused"
        pause = (await seqs(runs, first))["pause"]
        assert "Denied" in await answered(runs, first, "deny")
        forked = await runs.fork(first, pause + 1, owner="eve")
    async with Runs(load_crew(folder), SqliteStore(path)) as runs:
        row = await runs.row(forked)
        assert (row.status, row.owner, row.paused_until) == ("paused", "eve", None)
        assert await answered(runs, forked, "approve") == "paid bob"
        assert paid(folder) == 1
        events = [one async for one in runs.stored(forked)]
        assert {one.metadata["run_id"] for one in events} == {forked}
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        assert (await runs.row(first)).answer != (await runs.row(forked)).answer


@settings(max_examples=25)
@given(share=st.integers(0, 99))
def test_from_every_event(tmp_path_factory: pytest.TempPathFactory, share: int):
    """It ends as the first one did; an act that the copy records is not made again."""
    folder = folder_of(tmp_path_factory.mktemp("crew"))

    async def play() -> None:
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            first = (await runs.start(Query("go"))).id
            whole = await answered(runs, first, "approve")
            numbers = await seqs(runs, first)
            last = numbers["done"]
            after = 1 + share * (last - 1) // 100
            with pytest.raises(NotForkable, match="had ended"):
                await runs.fork(first, last)
            forked = await runs.fork(first, after)
            row = await runs.outcome(forked)
            if row.status == "paused":
                pause = await runs.pause_of(row)
                assert pause is not None
                # a call that had started without a result is asked about anew
                approves = pause.metadata["question"] == "approval"
                assert await answered(runs, forked, "approve" if approves else "retry") == whole
            else:
                assert (row.status, row.answer) == ("completed", whole)
            # once by the first run, and by the other one unless its copy has the result
            assert paid(folder) == (1 if after >= numbers["tool_result"] else 2)

    asyncio.run(play())


async def test_what_cannot_be_forked(tmp_path: Path):
    """Nothing that is not there."""
    async with Runs(load_crew(folder_of(tmp_path)), MemoryStore()) as runs:
        run_id = (await runs.start(Query("go"))).id
        await runs.outcome(run_id)
        with pytest.raises(NotForkable, match="there is no event 999"):
            await runs.fork(run_id, 999)
        with pytest.raises(UnknownRun):
            await runs.fork("nope", 1)
