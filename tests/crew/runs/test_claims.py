"""Runs that a crash left: one at a time where one may have ended the process, and time counts on."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import FIRST_EPOCH, PAGE, Claim, Page, Record, RunRow, Write
from tests.crew.runs.test_races import HeldWrites
from tests.support.crews import crew_of, write_crew
from tools import Tool, VirtualClock, tool

TWICE: list[dict[str, Any]] = [{"turn": 3, "say": "done"}, {"say": "", "calls": ["work"]}]
ONCE: list[dict[str, Any]] = [{"after": "work", "say": "done"}, {"say": "", "calls": ["work"]}]


async def recorded(crew: Crew, types: tuple[str, ...]) -> tuple[RunRow, list[Record]]:
    """A run's row, and its records up to the last event of these types, in order."""
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        records = await runs.store.records(run.id)
        events = [event async for event in runs.stored(run.id)]
    place = -1
    for wanted in types:
        place = next(n for n in range(place + 1, len(events)) if events[n].type == wanted)
    return row, records[: place + 1]


async def left(store: MemoryStore, row: RunRow, run_id: str, records: list[Record]) -> None:
    running = replace(row, run_id=run_id, status="running", ended_at=None, last_seq=0)
    await store.append(Write(run_id, records, running))


async def test_time_counts_over_a_crash(tmp_path: Path):
    """200 s before it are gone from the run's 300 s."""
    clock = VirtualClock()

    @tool(timeout_seconds=1000)
    async def work() -> str:
        await clock.sleep(200)
        return "worked"

    def loaded(seconds: int) -> Crew:
        settings = {"timeout_seconds": seconds, "tool_result_timeout_seconds": 1000}
        write_crew(tmp_path, {"a": {"tools": ["work"]}}, TWICE, settings=settings)
        return load_crew(tmp_path, tools=[work], clock=clock)

    moving = asyncio.create_task(clock.run())
    row, records = await recorded(loaded(1000), ("tool_result",))
    store = MemoryStore(clock)
    await left(store, row, "r1", records)
    async with Runs(loaded(300), store) as runs:
        (run,) = await runs.recover()
        ended = await run.outcome()
    moving.cancel()
    assert (ended.status, ended.reason) == ("failed", "timeout")
    assert ended.duration_seconds == pytest.approx(300, abs=1)


async def test_calls_are_made_again_one_run_at_a_time(tmp_path: Path):
    """Any of them may be what ended the process; a run that only speaks waits for none."""
    at_work, most = 0, 0

    @tool
    async def work() -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1
        return "worked"

    given: Tool = work
    crew = crew_of(tmp_path, {"a": {"tools": ["work"]}}, ONCE, given)
    row, records = await recorded(crew, ("tool_start",))
    store = MemoryStore()
    for number in range(5):
        await left(store, row, f"r{number}", records)
    async with Runs(crew_of(tmp_path, {"a": {"tools": ["work"]}}, ONCE, given), store) as runs:
        recovered = await runs.recover()
        assert len(recovered) == 5
        assert [(await run.outcome()).status for run in recovered] == ["completed"] * 5
    assert most == 1


async def test_a_run_that_was_claimed_in_vain_is_claimed_alone(tmp_path: Path):
    """A queue gives it with its epoch; until it gets on, it may be what ended its process."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x"}])
    row, records = await recorded(load_crew(folder), ("start",))
    store = HeldWrites()
    store.let_go.set()
    for run_id in ("new", "other", "tried"):
        await left(store, row, run_id, records)
    in_vain = await store.claim("tried")
    assert in_vain is not None
    clock = VirtualClock()
    async with Runs(load_crew(folder, clock=clock), store) as runs:
        store.let_go.clear()
        assert await runs.claim("new", FIRST_EPOCH) is not None
        assert await runs.claim("tried", in_vain.epoch) is not None
        other = asyncio.create_task(runs.claim("other", FIRST_EPOCH))
        # while the clock stands still nobody has waited for long
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        assert not other.done()
        store.let_go.set()
        moving = asyncio.create_task(clock.run())
        assert await other is not None
        await runs.drain(10)
        moving.cancel()


async def test_a_run_that_is_left_in_good_order_has_not_crashed(tmp_path: Path):
    """Any number of restarts in the middle of one slow step."""
    started = asyncio.Event()

    @tool(timeout_seconds=60)
    async def work() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    given: Tool = work
    store = MemoryStore()
    settings = {"tool_result_timeout_seconds": 100}
    crew = crew_of(tmp_path, {"a": {"tools": ["work"]}}, ONCE, given, settings=settings)
    row, records = await recorded_start(crew, started)
    await left(store, row, "r1", records)
    for _ in range(6):
        started.clear()
        runs = Runs(crew, store)
        (run,) = await runs.recover()
        await started.wait()
        await runs.drain(0)
        assert run.executor.state.status == "running"
    assert await store.claims(["r1"]) == {}


async def recorded_start(crew: Crew, started: asyncio.Event) -> tuple[RunRow, list[Record]]:
    """A run whose call has begun."""
    runs = Runs(crew, MemoryStore())
    run = await runs.start(Query("go"))
    await started.wait()
    await runs.drain(0)
    return await runs.row(run.id), await runs.store.records(run.id)


class Overtaken(MemoryStore):
    """A store in which a run's former writer writes once more right before it is claimed."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[Record] = []
        self.reads = 0

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        if self.late:
            await self.append(Write(run_id, self.late, epoch=FIRST_EPOCH))
        return await super().claim(run_id, epoch)

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        self.reads += 1
        return await super().records(run_id, after, limit)


async def test_what_the_former_writer_wrote_at_last_is_known(tmp_path: Path):
    """A call that has its result by then is not made again."""
    made = 0

    @tool
    async def work() -> str:
        nonlocal made
        made += 1
        return "worked"

    crew = crew_of(tmp_path, {"a": {"tools": ["work"]}}, ONCE, work)
    row, records = await recorded(crew, ("tool_result",))
    store = Overtaken()
    *early, last = records
    await left(store, row, "r1", early)
    store.late = [last]
    async with Runs(crew_of(tmp_path, {"a": {"tools": ["work"]}}, ONCE, work), store) as runs:
        run = await runs.claim("r1", FIRST_EPOCH)
        assert run is not None
        assert (await run.outcome()).status == "completed"
    assert made == 1


async def test_what_comes_with_a_job_is_not_read_again(tmp_path: Path):
    """Where it is all that its writer wrote."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x"}])
    row, records = await recorded(load_crew(folder), ("start",))
    store = Overtaken()
    await left(store, row, "r1", records)
    opened = await store.opened("r1")
    store.reads = 0
    async with Runs(load_crew(folder), store) as runs:
        run = await runs.claim("r1", FIRST_EPOCH, opened)
        assert run is not None
        assert (await run.outcome()).status == "completed"
        assert store.reads == 0
