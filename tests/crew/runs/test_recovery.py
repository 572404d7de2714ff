"""A run goes on from whichever event was its last: nothing recorded is made again, nothing is published twice."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs
from crew.journal.errors import StoreError
from crew.journal.events import RunDone, RunStarted, RunStatus, decode_event, encode_event
from crew.journal.records.rows import Record, RunRow, Write
from crew.runs.errors import Draining, RunEnded
from tests.support.crews import crew_of
from tools import Tool, tool

ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}]},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}
RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "note", "say": "noted [G]"},
    {
        "agent": "a",
        "say": "",
        "calls": [
            {"tool": "note", "arguments": {"text": "1"}},
            {"tool": "note", "arguments": {"text": "2"}},
        ],
    },
    {"agent": "b", "after": "note", "say": "b has {{result.note}}"},
    {"agent": "b", "say": 'note("3")'},
    {"agent": "c", "say": "c says"},
    {"agent": "d", "say": "all: {{heard}}"},
]


def crew(folder: Path, notes: list[str]) -> Crew:
    @tool
    async def note(text: str) -> str:
        notes.append(text)
        return f"note {text}"

    given: Tool = note
    agents: dict[str, Any] = {
        "a": {"tools": ["note"]},
        "b": {"tools": ["note"]},
        "c": {},
        "d": {"is_terminal": True},
    }
    return crew_of(folder, agents, RULES, given, routing=ROUTING)


async def whole(crew: Crew) -> tuple[RunRow, list[Record]]:
    """A run from start to end, and what is stored of it."""
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        return row, await runs.store.records(run.id)


def key(record: Record) -> tuple[str, Any, Any, Any]:
    event = json.loads(record.public)
    data = event["metadata"]
    return event["type"], data["agent_id"], data.get("round"), data.get("call_id")


@pytest.mark.parametrize("seed", range(3))
async def test_a_run_goes_on_from_every_event(tmp_path: Path, seed: int):
    """Cut off behind each of its events: the same answer, numbers without holes, each step published once, each tool called once more at most."""
    notes: list[str] = []
    row, records = await whole(crew(tmp_path / "whole", notes))
    assert sorted(notes) == ["1", "2", "3"]
    assert row.answer is not None
    assert isinstance(decode_event(records[-1].event)[0], RunDone)
    for cut in range(1, len(records)):
        notes.clear()
        store = MemoryStore()
        left = RunRow(row.run_id, row.crew, "running", row.query, row.started_at, "")
        await store.append(Write(row.run_id, records[:cut], left))
        async with Runs(crew(tmp_path / f"{seed}-{cut}", notes), store) as runs:
            (run,) = await runs.recover()
            ended = await run.outcome()
            after = await store.records(row.run_id)
        assert ended.answer == row.answer, cut
        assert (ended.status, ended.rounds, ended.handoffs) == (
            "completed",
            row.rounds,
            row.handoffs,
        )
        assert after[:cut] == records[:cut]
        assert [record.seq for record in after] == list(range(1, len(after) + 1))
        keys = [key(record) for record in after]
        assert len(keys) == len(set(keys)), cut
        assert sorted(keys, key=str) == sorted((key(record) for record in records), key=str), cut
        done = {
            json.loads(record.public)["content"]
            for record in records[:cut]
            if key(record)[0] == "tool_result"
        }
        assert sorted(notes) == sorted(
            text for text in "123" if f"✅ [Tool] note → note {text}" not in done
        )


async def test_one_run_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path):
    """It is logged, and stays as it is."""
    notes: list[str] = []
    store = MemoryStore()
    for run_id, event in (("bad", '["AgentStarted",{"nonsense":1}]'), ("good", "")):
        row, records = await whole(crew(tmp_path / run_id, notes))
        first = [Record(1, records[0].public, event or records[0].event)]
        await store.append(
            Write(run_id, first, RunRow(run_id, row.crew, "running", row.query, row.started_at, ""))
        )
    async with Runs(crew(tmp_path / "next", notes), store) as runs:
        taken = await runs.recover()
        assert [run.id for run in taken] == ["good"]
        assert (await taken[0].outcome()).status == "completed"
        assert (await runs.row("bad")).status == "running"


@pytest.mark.parametrize(
    "both", [("cancel", "cancel"), ("recover", "cancel"), ("recover", "recover")]
)
async def test_a_left_run_is_taken_up_once(tmp_path: Path, both: tuple[str, str]):
    """Whoever come at the same moment: no second copy of it, and nothing is held for good."""
    loaded = crew(tmp_path, [])
    row, records = await whole(loaded)
    store = MemoryStore()
    await store.append(
        Write(
            row.run_id,
            records[:4],
            RunRow(row.run_id, row.crew, "running", row.query, row.started_at, "", loaded.revision),
        )
    )
    async with Runs(crew(tmp_path, []), store) as runs:
        tasks = [
            asyncio.ensure_future(runs.recover() if what == "recover" else runs.cancel(row.run_id))
            for what in both
        ]
        await asyncio.wait(tasks)
        for run in runs.live.all():
            await run.outcome()
        found = await runs.row(row.run_id)
        assert found.status in ("completed", "cancelled")
        kept = await store.records(row.run_id)
        assert [record.seq for record in kept] == list(range(1, len(kept) + 1))
        assert sum(isinstance(decode_event(record.event)[0], RunDone) for record in kept) == 1
        assert len(runs.live) == 0
        assert all(
            task.exception() is None or isinstance(task.exception(), RunEnded) for task in tasks
        )


@pytest.mark.parametrize("status", ["running", "paused"])
async def test_what_cannot_be_read_is_not_played_and_can_be_ended(
    tmp_path: Path, status: RunStatus
):
    """An event of a later version: the run waits for that one, unless a person ends it."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "x"}])
    store = MemoryStore()
    row = RunRow("r1", crew.name, status, "go", "2026-01-01T00:00:00.000Z", "")
    start = encode_event(RunStarted(crew.name, "a", "A", "", Query("go")), 0.0)
    records = [Record(1, "{}", start), Record(2, "{}", '["FromTheFuture",0.0,{}]')]
    await store.append(Write("r1", records, row))
    async with Runs(crew, store) as runs:
        going_on = runs.resume("r1", Answer("yes")) if status == "paused" else runs.claim("r1")
        with pytest.raises(StoreError, match="written by another version"):
            await going_on
        assert (await runs.row("r1")).status == status
        await runs.cancel("r1")
        assert (await runs.outcome("r1")).status == "cancelled"
        kept = await store.records("r1")
        assert [one.seq for one in kept] == list(range(1, len(kept) + 1))
        end, _ = decode_event(kept[-1].event)
        assert isinstance(end, RunDone)
        with pytest.raises(RunEnded):
            await runs.cancel("r1")


async def test_what_is_to_end_ends(tmp_path: Path):
    """Also one that cannot be read, which holds up no other."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "x"}])
    store = MemoryStore()
    for run_id in ("r1", "r2", "r3"):
        row = RunRow(run_id, crew.name, "running", "go", "2026-01-01T00:00:00.000Z", "")
        event = encode_event(RunStarted(crew.name, "a", "A", "", Query("go")), 0.0)
        await store.append(
            Write(
                run_id, [Record(1, "{}", '["FromTheFuture",{}]' if run_id == "r2" else event)], row
            )
        )
        await store.request_cancellation(run_id, "cancelled")
    async with Runs(crew, store) as runs:
        await runs.apply_cancellations()
        for run_id in ("r1", "r2", "r3"):
            assert (await runs.row(run_id)).status == "cancelled"
        await runs.drain(0)
        with pytest.raises(Draining):
            await runs.cancel("r2")
