"""The queue of runs that wait for a worker, and who works at it: Procrastinate's tables in the runs' own PostgreSQL.

A job is `advance(run_id, epoch)`: one at a time of each run, by its lock. Procrastinate keeps the jobs, gives each to one
worker and knows which workers have died. Its own worker ends when its connection breaks, and shows no sign of life while it
drains; so the loop around its job manager is ours: it outlives the database's restarts, and runs go on meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.schema import SchemaManager

from crew.errors import StoreError, StoreUnavailable
from crew.stores.postgres_server import migrating

log = logging.getLogger(__name__)

QUEUE = "crew"
# a worker's sign of life, how long others wait for it, and how often they look
HEARTBEAT_SECONDS = 1.0
STALLED_SECONDS = 5.0
SWEEP_SECONDS = 1.0
LATE_SECONDS = 2.5
# how often a free worker looks for a job that it was not told of
POLL_SECONDS = 0.5
AGAIN_SECONDS = 0.5
TIMEOUT_SECONDS = 5.0
# for a connection that is free
WAIT_SECONDS = 1.5
# a server that is gone without a word is noticed after some ten seconds
KEEP_ALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
# rows of workers that died so long ago are forgotten
FORGET_SECONDS = 7 * 86_400.0
FAILURES = (ConnectorException, psycopg.Error, psycopg_pool.PoolTimeout, OSError, TimeoutError)

# of Procrastinate's tables, in order
MIGRATIONS = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))

# runs that go on, and have no job that does or will
ORPHANS = """
SELECT run_id, epoch FROM crew_runs AS run WHERE status = 'running'
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = run.run_id AND status = 'doing')
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = run.run_id AND status = 'todo')
LIMIT 500
"""
COUNTS = """
SELECT (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second') AS workers,
    (SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = %(queue)s) AS waiting
"""


async def prepare_queue(url: str) -> None:
    """Bring Procrastinate's tables up to date; several processes may do so at once.

    Raises:
        StoreError: the database cannot be reached, or its tables are of a later Procrastinate.
    """
    newest = MIGRATIONS[-1].name
    async with migrating(url) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS crew_queue_schema (newest text NOT NULL)")
        found: str = await connection.fetchval("SELECT coalesce(max(newest), '') FROM crew_queue_schema")
        if found > newest:
            raise StoreError(f"the queue's tables are of {found}, newer than this program's {newest}: update procrastinate")
        if found:
            for script in MIGRATIONS:
                if script.name > found:
                    await connection.execute(script.read_text())
        # tables that somebody else has made are taken to be those of this version
        elif await connection.fetchval("SELECT to_regclass('procrastinate_jobs') IS NULL"):
            await connection.execute(SchemaManager.get_schema())
        if found != newest:
            await connection.execute("INSERT INTO crew_queue_schema VALUES ($1)", newest)


class JobQueue:
    """Puts runs into the queue; use it as an async context manager."""

    def __init__(self, url: str, connections: int = 2) -> None:
        """`url`: of the runs' database, prepared by `prepare_queue`; `connections`: at most so many at once."""
        connector = PsycopgConnector(
            conninfo=url,
            kwargs={"connect_timeout": int(TIMEOUT_SECONDS), **KEEP_ALIVE},
            min_size=0,
            max_size=connections,
            # the pool's waits between tries grow, and who waits for it is not woken when it gives up; ours are short
            timeout=WAIT_SECONDS,
            reconnect_timeout=AGAIN_SECONDS,
        )
        self.app = App(connector=connector)
        self.manager = self.app.job_manager

    async def __aenter__(self) -> "JobQueue":
        with _unavailable():
            await self.app.open_async()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.app.close_async()

    async def put(self, run_id: str, epoch: int, in_seconds: float = 0.0) -> None:
        """See crew.starting.Queue."""
        task = self.app.configure_task(
            "advance",
            queue=QUEUE,
            lock=run_id,
            queueing_lock=run_id,
            schedule_in={"seconds": in_seconds} if in_seconds else None,
            allow_unknown=True,
        )
        try:
            await task.defer_async(run_id=run_id, epoch=epoch)
        except AlreadyEnqueued:
            return
        except FAILURES as error:
            log.warning("run %s is queued when the database can be used again: %s", run_id, " ".join(str(error).split()))

    async def has(self, run_id: str) -> bool:
        """See crew.starting.Queue."""
        with _unavailable():
            return bool(await self.manager.list_jobs_async(lock=run_id, status=Status.DOING.value))

    async def counts(self) -> tuple[int, int]:
        """See crew.starting.Queue."""
        with _unavailable():
            found = await self.app.connector.execute_query_one_async(COUNTS, seconds=STALLED_SECONDS, queue=QUEUE)
        return found["workers"], found["waiting"]


class Worker:
    """Takes jobs from the queue and does them, as many at once as it may."""

    def __init__(
        self, queue: JobQueue, advance: Callable[[str, int], Awaitable[None]], takes: Callable[[], bool], at_once: int
    ) -> None:
        """`advance` is given a run_id and an epoch, and sees to its own errors; `takes`: whether jobs may still be taken."""
        self.queue, self.advance, self.takes, self.at_once = queue, advance, takes, at_once
        self.manager = queue.manager
        self.jobs: dict[int, asyncio.Task[None]] = {}
        self._id = 0
        self._failing = False
        self._more = asyncio.Event()
        # a job is being fetched, or those that this worker should have are being looked at
        self._fetching = asyncio.Lock()
        # when it last gave a sign of life, and since when it has given each in time: only then may it miss those of others
        self._beaten = self._steady_since = 0.0

    async def run(self) -> None:
        """Work until this is cancelled; by then nothing may go on that takes long."""
        self._id = await self._registered()
        self._beaten = self._steady_since = _now()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._beat())
                tasks.create_task(self._listen())
                tasks.create_task(self._fetch())
                tasks.create_task(self._sweep())
        finally:
            if self.jobs:
                # their runs have been left, and are put back
                await asyncio.wait(self.jobs.values(), timeout=TIMEOUT_SECONDS)
            await self._tried(self.manager.unregister_worker(self._id))

    async def _registered(self) -> int:
        while True:
            number = await self._tried(self._register())
            if number is not None:
                return int(number)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _register(self) -> int:
        await self.manager.prune_stalled_workers(FORGET_SECONDS)
        return await self.manager.register_worker()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self._tried(self._beat_once())

    async def _beat_once(self) -> None:
        await self.manager.update_heartbeat(self._id)
        if _now() - self._beaten > LATE_SECONDS:
            self._steady_since = _now()
        self._beaten = _now()

    @property
    def _steady(self) -> bool:
        return _now() - self._beaten < LATE_SECONDS and _now() - self._steady_since > STALLED_SECONDS

    async def _listen(self) -> None:
        async def heard(**_: Any) -> None:
            self._more.set()

        while True:
            await self._tried(self.manager.listen_for_jobs(on_notification=heard, queues=[QUEUE]))
            await asyncio.sleep(AGAIN_SECONDS)

    async def _fetch(self) -> None:
        while True:
            job = None
            self._more.clear()
            if len(self.jobs) < self.at_once and self.takes():
                async with self._fetching:
                    job = await self._tried(self.manager.fetch_job(queues=[QUEUE], worker_id=self._id))
                    if job is not None and job.id is not None:
                        self.jobs[job.id] = asyncio.create_task(self._do(job))
            if job is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._more.wait()

    async def _do(self, job: Job) -> None:
        assert job.id is not None, "it was fetched"
        try:
            await self.advance(str(job.task_kwargs["run_id"]), int(str(job.task_kwargs["epoch"])))
        except Exception:
            log.exception("a job broke, and its run is found again")
        finally:
            # where this fails, the next sweep does it
            await self._tried(self._finish(job.id))
            del self.jobs[job.id]
            self._more.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self._tried(self._swept())

    async def _swept(self) -> None:
        """End jobs that nobody does, and put runs into the queue that have none."""
        async with self._fetching:
            mine = await self.manager.list_jobs_async(worker_id=self._id, status=Status.DOING.value)
            # it was given to this worker, but the answer was lost; or could not be ended when it was done
            lost = [job for job in mine if job.id not in self.jobs]
            for job in lost:
                log.info("run %s has a job that this worker was not told of, or could not end", job.lock)
        stalled = await self.manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=STALLED_SECONDS)
        # after the database was away nobody's sign of life is fresh
        for job in stalled if self._steady else ():
            log.warning("run %s has lost its worker", job.lock)
            lost.append(job)
        for job in lost:
            if job.id is not None:
                await self._finish(job.id)
        for orphan in await self.queue.app.connector.execute_query_all_async(ORPHANS):
            await self.queue.put(orphan["run_id"], orphan["epoch"])

    async def _finish(self, job_id: int) -> None:
        """End a job; nothing if somebody has done so before."""
        try:
            await self.manager.finish_job_by_id_async(job_id, Status.SUCCEEDED, delete_job=True)
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise

    async def _tried(self, doing: Coroutine[Any, Any, Any]) -> Any:
        """What comes of it; None where the database fails."""
        try:
            done = await doing
            self._failing = False
            return done
        except FAILURES as error:
            if not self._failing:
                log.warning("the queue cannot be used for now: %s", " ".join(str(error).split()))
            self._failing = True
            return None


def _now() -> float:
    return asyncio.get_running_loop().time()


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StoreUnavailable(f"the queue cannot be used for now: {error}") from error
