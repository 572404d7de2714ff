"""How many runs are at work at the same time, and in which order the others follow."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew import MemoryStore, Query, Runs, SqliteStore
from crew.backends.conformance.samples import sample_records
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.schema import prepare, prepare_queue
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.journal.query import IdempotencyKey
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import Capacity, RunRow, Write
from crew.journal.store import RunStore
from crew.runs.capacity import Slots
from crew.runs.errors import AlreadyStarted, TooManyWait
from tests.support.crews import crew_of
from tests.support.postgres import Postgres, needs_postgres

# (owner, priority) of runs in the order in which they were started
LINES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(3, 5)), min_size=1, max_size=15)


def row(number: int, owner: str, priority: int = 5) -> RunRow:
    return RunRow(f"r{number:05}", "crew", "running", "?", "", "", owner=owner, priority=priority)


class Crowd:
    """Runs in slots; each is at work until it is told to end."""

    def __init__(self, capacity: Capacity) -> None:
        self.slots = Slots(capacity)
        self.order: list[str] = []
        self.working: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, run: RunRow) -> None:
        self.tasks[run.run_id] = asyncio.create_task(self._play(run))

    async def _play(self, run: RunRow) -> None:
        async with self.slots.slot(run):
            self.order.append(run.run_id)
            self.working[run.run_id] = asyncio.Event()
            try:
                await self.working[run.run_id].wait()
            finally:
                del self.working[run.run_id]

    async def end(self, run_id: str) -> None:
        self.working[run_id].set()
        await self.tasks[run_id]
        await self.settle()

    async def settle(self) -> None:
        """Let everybody go on who may."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def end_all(self) -> list[str]:
        """One after the other, as they come; the order in which they were at work."""
        await self.settle()
        while self.working:
            await self.end(next(iter(self.working)))
        await asyncio.gather(*self.tasks.values())
        return self.order


@asynccontextmanager
async def crowd(**capacity: int) -> AsyncIterator[Crowd]:
    made = Crowd(Capacity(**capacity))
    yield made
    for task in made.tasks.values():
        task.cancel()


async def test_one_run_does_not_wait_behind_thousands():
    """Of another owner; the next one neither."""
    async with crowd(runs=1) as made:
        for number in range(2000):
            made.start(row(number, "many"))
        await made.settle()
        for number in (3000, 3001):
            made.start(row(number, "few"))
        await made.settle()
        for _ in range(4):
            await made.end(next(iter(made.working)))
    assert made.order == ["r00000", "r00001", "r03000", "r00002", "r03001"]


async def test_a_higher_priority_goes_first():
    """Whoever's it is."""
    async with crowd(runs=1) as made:
        for number, priority in enumerate((5, 5, 0, 9, 5)):
            made.start(row(number, "a", priority))
        order = await made.end_all()
    assert order == ["r00000", "r00003", "r00001", "r00004", "r00002"]


@given(LINES, st.integers(1, 4), st.integers(1, 3), st.randoms())
async def test_no_more_than_may_and_all_in_the_end(
    line: list[tuple[str, int]], runs: int, each: int, chance: random.Random
):
    """Whatever is cancelled while it waits or works."""
    async with crowd(runs=runs, runs_per_owner=each) as made:
        owners = {f"r{number:05}": owner for number, (owner, _) in enumerate(line)}
        for number, (owner, priority) in enumerate(line):
            made.start(row(number, owner, priority))
        await made.settle()
        while any(not task.done() for task in made.tasks.values()):
            working = Counter(owners[run_id] for run_id in made.working)
            assert working.total() <= runs
            assert max(working.values(), default=0) <= each
            # nobody waits who may go
            waiting = {o for o in "abc" if made.slots.waiting(o)}
            is_full = working.total() == runs
            assert is_full or all(working[owner] == each for owner in waiting)
            open_runs = [one for one, task in made.tasks.items() if not task.done()]
            chosen = chance.choice(open_runs)
            if chosen in made.working:
                # in the same moment as another is cancelled
                made.tasks[chance.choice(open_runs)].cancel()
                made.working[chosen].set()
            else:
                made.tasks[chosen].cancel()
            await made.settle()
    assert made.slots.waiting() == 0
    assert all(task.cancelled() or task.exception() is None for task in made.tasks.values())


async def test_a_higher_limit_lets_others_go():
    """At once."""
    async with crowd(runs=1) as made:
        for number in range(4):
            made.start(row(number, "a"))
        await made.settle()
        made.slots.limit(Capacity(runs=3))
        await made.settle()
        assert len(made.working) == 3


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> str:
    return postgres.database()


async def fetched(
    url: str, line: list[tuple[str, int]], capacity: Capacity, *, crowded: int = 0
) -> list[str]:
    """Of runs that were queued in this order: those that one worker gets, each ended at once.

    The first `crowded` of them are queued at the same time.
    """
    time = await prepare(url)
    await prepare_queue(url)
    store: RunStore = PostgresStore(PostgresServer(url, 2, time))
    try:
        async with JobQueue(PostgresServer(url, 2, time)) as queue:
            await _empty(queue)
            queue.limit(capacity)
            for number, (owner, priority) in enumerate(line):
                made = row(number, owner, priority)
                await store.append(Write(made.run_id, sample_records(1, 1), made))
                if number >= crowded:
                    await queue.put(made.run_id, 1)
                elif number == crowded - 1:
                    every = (queue.put(f"r{one:05}", 1) for one in range(crowded))
                    await asyncio.gather(*every)
            worker = await queue.manager.register_worker()
            order, ended = [], list[int]()
            while True:
                found = await queue.fetch(worker, ended)
                job = found.job
                if job is None:
                    break
                order.append(str(job.lock))
                assert found.some_wait == (len(order) < len(line))
                assert job.id is not None
                ended = [job.id]
            assert not found.some_wait
            return order
    finally:
        await store.aclose()


async def _empty(queue: JobQueue) -> None:
    async with queue.server.connection() as connection:
        await connection.execute(
            "TRUNCATE crew_runs, crew_events, crew_turns, procrastinate_jobs CASCADE"
        )


@needs_postgres
@settings(max_examples=25)
@given(line=LINES)
async def test_the_queue_has_the_same_order(database: str, line: list[tuple[str, int]]):
    """As one process with one slot, once all wait."""
    async with crowd(runs=1) as made:
        # holds the slot until all wait
        made.start(row(99_999, "z", 9))
        await made.settle()
        for number, (owner, priority) in enumerate(line):
            made.start(row(number, owner, priority))
        _, *order = await made.end_all()
    assert await fetched(database, line, Capacity()) == order


@needs_postgres
async def test_one_run_does_not_wait_behind_many_that_came_at_once(database: str):
    """Their turns are counted though none of them saw the others."""
    line = [("many", 5)] * 200 + [("few", 5)]
    order = await fetched(database, line, Capacity(), crowded=200)
    assert order.index("r00200") < 20


async def test_who_waits_counts_as_nothing(tmp_path: Path):
    """Neither as time, nor as one that gets on with nothing, however often its process ends."""
    path = tmp_path / "crew.db"
    rules: list[dict[str, Any]] = [{"say": "late", "delay_seconds": 3600}]
    limits = {"max_concurrent_runs": 1, "max_recoveries": 1, "timeout_seconds": 36_000}
    crew = crew_of(tmp_path, {"a": {"is_terminal": True}}, rules, settings=limits)
    store = SqliteStore(path)
    runs = Runs(crew, store)
    for _ in range(3):
        await runs.start(Query("x"))
    for _ in range(3):
        # the process ends without a word
        await store.aclose()
        store = SqliteStore(path)
        runs = Runs(crew, store)
        recovered = await runs.recover()
        assert len(recovered) <= 1
        await asyncio.sleep(0)
    reasons = Counter(one.reason for one in await store.rows())
    assert reasons["crashed"] <= 1
    waiting = await store.rows(RunFilter("running"))
    await runs.cancel(waiting[0].run_id)
    assert (await runs.row(waiting[0].run_id)).duration_seconds < 1
    async with runs:
        pass


async def test_no_more_wait_than_may(tmp_path: Path):
    """A further run of the same owner is refused, not one of another."""
    rules: list[dict[str, Any]] = [
        {"hears": "bad", "fail": {"code": "refused"}, "say": ""},
        {"say": "late", "delay_seconds": 3600},
    ]
    limits = {"max_concurrent_runs": 1, "max_waiting_runs_per_owner": 2}
    crew = crew_of(tmp_path, {"a": {"is_terminal": True}}, rules, settings=limits)
    async with Runs(crew, MemoryStore()) as runs:
        failed = await runs.start(Query("bad"), owner="a")
        assert (await failed.outcome()).status == "failed"
        for _ in range(3):
            await runs.start(Query("x"), owner="a")
        await asyncio.sleep(0)
        for refused in (
            runs.start(Query("x"), owner="a"),
            runs.retry(failed.id),
            runs.fork(failed.id, 1, owner="a"),
        ):
            with pytest.raises(TooManyWait, match="2 runs wait already"):
                await refused
        # what was accepted with this key is told, not that there is no room for it
        key = IdempotencyKey("k", "f")
        await runs.start(Query("x"), key=key, owner="b")
        await runs.start(Query("x"), owner="b")
        with pytest.raises(AlreadyStarted):
            await runs.start(Query("x"), key=key, owner="b")
        await runs.start(Query("x"), owner="c")
