"""All runs of a process: what the store refuses, draining, following, many at once."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from crew import MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.backends.conformance.samples import sample_records, sample_row
from crew.journal.errors import StoreError
from crew.journal.records.rows import MAX_PAGE_BYTES, AppendResult, Page, Record, Write
from crew.journal.wire import RunEvent
from crew.runs.errors import Draining
from crew.runs.run import new_run_id
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.reader import RunReader
from crew.runs.streams.remote import records_behind
from tests.crew.engine.test_runs import lookup, routes
from tests.support.crews import crew_of, write_crew
from tools.clock import SYSTEM_CLOCK


class Full(MemoryStore):
    """A store whose disk is full after so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes

    async def append(self, write: Write) -> AppendResult:
        """Fail once the writes are used up."""
        self.writes -= 1
        if self.writes < 0:
            raise StoreError("the disk is full")
        return await super().append(write)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_what_cannot_be_stored_is_not_published(tmp_path: Path, writes: int):
    """The run stops, who waits gets the reason, its followers' lines end without an end of the run; the others go on."""
    crew = crew_of(tmp_path, {"a": {}, "b": {}, "c": {}}, [{"say": "x", "delay_seconds": 0.01}])
    store = Full(writes)
    async with Runs(crew, store) as runs:
        if writes == 0:
            with pytest.raises(StoreError, match="disk is full"):
                await runs.start(Query("go"))
            assert len(runs.live) == 0
            return
        run = await runs.start(Query("go"))
        lines = [json.loads(line.encoded)["type"] async for line in runs.follow(run.id) if line]
        with pytest.raises(StoreError, match="disk is full"):
            await run.outcome()
        assert "done" not in lines
        assert len(lines) == len(await store.records(run.id))
        assert (await runs.row(run.id)).status == "running"
        store.writes = 99
        assert (await (await runs.start(Query("again"))).outcome()).status == "completed"


async def test_words_are_reported_as_they_are_written(tmp_path: Path):
    """Only where asked for; not stored, without a number."""
    crew = crew_of(tmp_path, {"a": {}}, [{"say": "one two three", "delay_seconds": 0.01}])
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query("go", deltas=True))
        live = [(line.seq, json.loads(line.encoded)) async for line in runs.follow(run.id) if line]
        stored = [json.loads(line.encoded) async for line in runs.follow(run.id) if line]
    deltas = [event for seq, event in live if seq is None]
    assert "".join(event["content"] for event in deltas) == "one two three"
    assert all("seq" not in event["metadata"] for event in deltas)
    assert [event["type"] for event in stored] == ["start", "agent_start", "agent_response", "done"]
    assert [event for seq, event in live if seq is not None] == stored


async def test_two_hundred_runs_at_once_never_mix(tmp_path: Path):
    """Each answer holds its own query's number, through two agents, a tool and the store."""
    rules = [
        {"agent": "a", "say": "for b: {{heard}} [B]", "delay_seconds": 0.01},
        {"agent": "b", "after": "lookup", "say": "{{heard}} = {{result.lookup}}"},
        {"agent": "b", "say": 'lookup("{{heard}}")'},
    ]
    crew = crew_of(
        tmp_path,
        {"a": {}, "b": {"is_terminal": True, "tools": ["lookup"]}},
        rules,
        lookup,
        routing=routes(a={"[B]": "b"}),
    )
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        answers: dict[int, str] = {}

        async def one(n: int) -> None:
            row = await (await runs.start(Query(f"query-{n}-"))).outcome()
            answers[n] = row.answer or ""

        async with anyio.create_task_group() as tasks:
            for n in range(200):
                tasks.start_soon(one, n)
    assert len(answers) == 200
    for n, answer in answers.items():
        assert set(re.findall(r"query-(\d+)-", answer)) == {str(n)}
        assert "meaning of" in answer


async def test_draining(tmp_path: Path):
    """No new runs; what has not ended in time stays `running`, and the next one takes it up and ends it."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x", "delay_seconds": 1}])
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("go"))
        await runs.drain(0)
        with pytest.raises(Draining):
            await runs.start(Query("late"))
        lines = [json.loads(line.encoded)["type"] async for line in runs.follow(run.id) if line]
        assert lines == ["start", "agent_start"]
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        (taken,) = await runs.recover()
        assert (await taken.outcome()).status == "completed"
        lines = [json.loads(line.encoded)["type"] async for line in runs.follow(run.id) if line]
        assert lines == ["start", "agent_start", "agent_response", "done"]


def test_run_ids_sort_by_time():
    """So that the newest is first in lists, whatever store."""
    ids = [new_run_id(datetime.now(UTC)) for _ in range(50)]
    assert len(set(ids)) == 50
    assert [run_id[:12] for run_id in ids] == sorted(run_id[:12] for run_id in ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", run_id) for run_id in ids)


class Late(MemoryStore):
    """A store that shows a run's events only from the second look on, as if they came between two."""

    looks = 0

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> Page:
        """See RunStore."""
        self.looks += 1
        return (
            Page(is_last=True) if self.looks == 1 else await super().records(run_id, after, limit)
        )


async def test_what_came_between_two_looks_is_reported():
    """A run that ended meanwhile has its events; they are not taken for purged ones."""
    store = Late()
    await store.append(Write("r1", sample_records(1, 3), sample_row("r1", "completed", last_seq=3)))
    assert [
        line.seq async for line in RunReader(LiveRuns(store, SYSTEM_CLOCK)).follow("r1") if line
    ] == [1, 2, 3]


class Forgetful(MemoryStore):
    """A store that comes back without its last commits after the first look; the run has gone on since."""

    looks = 0

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> Page:
        """See RunStore."""
        self.looks += 1
        there = sample_records(1, 3) if self.looks == 1 else OTHERS
        found = [record for record in there if record.seq > after]
        return Page(found[:limit], is_last=len(found) < limit)


OTHERS = [
    *sample_records(1, 1),
    *(replace(one, public=one.public.replace("warning", "other")) for one in sample_records(2, 5)),
]


async def test_an_event_that_fills_a_page_comes_behind_a_known_one():
    """Both are too much for one page."""
    known, large = sample_records(1, 1)[0], Record(2, "x" * MAX_PAGE_BYTES, "y")
    store = MemoryStore()
    await store.append(Write("r1", [known, large], sample_row("r1")))
    behind = await records_behind(store, "r1", RunEvent.of_record(known))
    assert (list(behind), behind.is_last) == ([large], True)


async def test_lost_events_are_told_and_all_come_again():
    """To one who had read them: a warning, and the events that are there now."""
    store = Forgetful()
    await store.append(Write("r1", sample_records(1, 5), sample_row("r1", "completed", last_seq=5)))
    followed = [one async for one in RunReader(LiveRuns(store, SYSTEM_CLOCK)).follow("r1") if one]
    assert [one.seq for one in followed] == [1, 2, 3, 0, 1, 2, 3, 4, 5]
    warning = followed[3].metadata
    assert [warning[key] for key in ("code", "from", "to")] == ["events_lost", 1, 3]
    assert [one.encoded for one in followed[4:]] == [record.public for record in OTHERS]
