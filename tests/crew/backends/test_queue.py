"""What a worker gets with a job: all that is stored of its run, where that is known."""

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from crew.backends.conformance.samples import begin_run, sample_records
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.jobs.queue_statements import FETCH_JOB, PUT, PUT_AGAIN
from crew.backends.postgres.schema import prepare, prepare_queue
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.journal.records.rows import FIRST_EPOCH, Capacity
from crew.journal.store import RunStore
from tests.support.postgres import Postgres, needs_postgres

pytestmark = needs_postgres


@pytest.fixture
async def places(postgres: Postgres) -> AsyncIterator[tuple[RunStore, JobQueue]]:
    url = postgres.database()
    time = await prepare(url)
    await prepare_queue(url)
    store = PostgresStore(PostgresServer(url, 2, time))
    async with JobQueue(PostgresServer(url, 2, time, of_queue=True)) as queue:
        yield store, queue
    await store.aclose()


async def test_a_new_run_comes_with_its_events(places: tuple[RunStore, JobQueue]):
    """As the store has them, so that nobody reads them once more."""
    store, queue = places
    for run_id, events in (("one", 1), ("many", 700)):
        await begin_run(store, run_id, events)
        await queue.put(run_id, FIRST_EPOCH)
        fetched = await queue.fetch(await queue.manager.register_worker())
        assert fetched.job is not None
        assert fetched.job.lock == run_id
        assert fetched.opened is not None
        assert fetched.opened == await store.opened(run_id)
        assert list(fetched.opened.page) == sample_records(1, events)[: len(fetched.opened.page)]
        assert fetched.opened.page.is_last == (run_id == "one")


async def test_what_others_may_write_to_does_not(places: tuple[RunStore, JobQueue]):
    """A run that was at work, one of another epoch, one that is gone."""
    store, queue = places
    worker = await queue.manager.register_worker()
    for run_id, epoch, again in (("again", FIRST_EPOCH, True), ("claimed", FIRST_EPOCH, False)):
        await begin_run(store, run_id)
        if run_id == "claimed":
            assert await store.claim(run_id) is not None
        await queue.put(run_id, epoch, again=again)
        fetched = await queue.fetch(worker)
        assert fetched.job is not None
        assert fetched.opened is None
    assert (await queue.fetch(worker)).job is None


@pytest.mark.parametrize("capacity", [Capacity(), Capacity(runs=5)])
async def test_a_row_of_another_version_is_left_to_the_claim(
    places: tuple[RunStore, JobQueue], capacity: Capacity
):
    """It fails its run, not the worker that would fetch it."""
    store, queue = places
    queue.limit(capacity)
    await begin_run(store, "r1")
    async with queue.server.connection() as connection:
        await connection.execute("UPDATE crew_runs SET row = '{}'")
    await queue.put("r1", FIRST_EPOCH)
    fetched = await queue.fetch(await queue.manager.register_worker())
    assert fetched.job is not None
    assert fetched.opened is None


@pytest.mark.parametrize("capacity", [Capacity(), Capacity(runs=1), Capacity(runs_per_owner=1)])
async def test_ended_jobs_make_room_for_others(
    places: tuple[RunStore, JobQueue], capacity: Capacity
):
    """For the next job of the same run, and where only so many may be at work."""
    store, queue = places
    queue.limit(capacity)
    worker = await queue.manager.register_worker()
    for run_id in ("r1", "r2"):
        await begin_run(store, run_id)
    await queue.put("r1", FIRST_EPOCH)
    first = (await queue.fetch(worker)).job
    assert first is not None
    assert first.id is not None
    # goes before others: it was at work
    await queue.put("r1", FIRST_EPOCH, again=True)
    if capacity != Capacity():
        await queue.put("r2", FIRST_EPOCH)
    waits = await queue.fetch(worker)
    assert (waits.job, waits.some_wait) == (None, True)
    second = (await queue.fetch(worker, [first.id])).job
    assert second is not None
    assert second.lock == "r1"
    assert second.id is not None
    assert await queue.end([first.id, second.id]) == 1
    assert await queue.end([first.id, second.id]) == 0


@pytest.mark.parametrize("are_few", [False, True])
@pytest.mark.parametrize("sql", [PUT, PUT_AGAIN, FETCH_JOB])
async def test_no_statement_reads_all_runs(
    places: tuple[RunStore, JobQueue], sql: str, *, are_few: bool
):
    """Also by a plan that was made while there were few, and is kept."""
    store, queue = places
    await begin_run(store, "r1")
    await queue.put("r1", FIRST_EPOCH)
    if are_few:
        # and PostgreSQL knows it
        async with queue.server.connection() as connection:
            await connection.execute("ANALYZE")
    put: dict[str, Any] = {"run_id": "r1", "arguments": {}, "at": None}
    taken: dict[str, Any] = {"ended": [1], "most": None, "each": None, "worker_id": 1}
    async with queue.server.connection() as connection:
        # as one that is used often is planned; a plan of another kind has the values in it
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        found = await queue.connector.fetch(connection, f"EXPLAIN {sql}", put | taken)
    plan = "\n".join(line["QUERY PLAN"] for line in found)
    assert "procrastinate_jobs_" in plan
    assert "Seq Scan" not in plan


async def test_others_are_judged_while_the_database_is_there(postgres: Postgres):
    """While the heartbeats of one worker come in time, also by one that has just started."""
    url = postgres.database()
    time = await prepare(url)
    await prepare_queue(url)

    def pass_by(seconds: float, *columns: str) -> None:
        """Let so much time have passed."""
        changes = ", ".join(f"{one} = {one} - make_interval(secs => {seconds})" for one in columns)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"UPDATE crew_workers SET {changes}")

    async with JobQueue(PostgresServer(url, 2, time, of_queue=True)) as queue:
        assert not await queue.has_been_there(5.0)
        await queue.announce_worker(1, 5.0)
        assert not await queue.has_been_there(5.0)
        # its heartbeats come in time
        for _ in range(6):
            pass_by(1.0, "since", "until")
            await queue.announce_worker(1, 5.0)
        assert await queue.has_been_there(5.0)
        await queue.announce_worker(2, 5.0)
        assert await queue.has_been_there(5.0)
        # none comes any more, and after a while they come again
        pass_by(4.0, "since", "until")
        assert not await queue.has_been_there(5.0)
        await queue.announce_worker(1, 5.0)
        assert not await queue.has_been_there(5.0)
