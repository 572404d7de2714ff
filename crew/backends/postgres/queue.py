"""The queue of runs that wait for a worker: Procrastinate, in the runs' own PostgreSQL database.

A job is `advance(run_id, epoch)`, one at a time for each run, by its lock. Procrastinate keeps the
jobs, gives each to one worker, and knows which workers have stopped. See docs, project, decisions.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.jobs import Status

from crew.backends.postgres.connector import AsyncpgConnector
from crew.backends.postgres.server import PostgresServer
from crew.journal.errors import StoreError, StoreUnavailable

log = logging.getLogger(__name__)

QUEUE = "crew"
TASK = "advance"
# a worker without a heartbeat for so long has stopped, and its runs go to others
STALLED_SECONDS = 5.0
# for one answer of the database
TIMEOUT_SECONDS = 5.0
# runs in one page of a search
PAGE = 1000

OPEN_RUNS = """
SELECT run_id, epoch FROM crew_runs WHERE status = 'running' AND run_id > $1
ORDER BY run_id LIMIT $2
"""
ANNOUNCE_WORKER = """
INSERT INTO crew_workers VALUES ($1, now() + $2 * interval '1 second')
ON CONFLICT (id) DO UPDATE SET until = excluded.until
"""


class JobQueue:
    """Puts runs into the queue; an async context manager."""

    def __init__(self, server: PostgresServer) -> None:
        """`server`: shared with the store, and closed by it."""
        self.server = server
        self.app = App(connector=AsyncpgConnector(server))
        self.manager = self.app.job_manager

    async def __aenter__(self) -> "JobQueue":
        await self.app.open_async()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        await self.app.close_async()

    async def put(self, run_id: str, epoch: int, in_seconds: float = 0.0) -> None:
        """See crew.runs.queue."""
        task = self.app.configure_task(
            TASK,
            queue=QUEUE,
            lock=run_id,
            queueing_lock=run_id,
            schedule_in={"seconds": in_seconds} if in_seconds else None,
            allow_unknown=True,
        )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await task.defer_async(run_id=run_id, epoch=epoch)
        except AlreadyEnqueued:
            return
        except (StoreError, TimeoutError) as error:
            text = "run %s is queued when the database can be used again: %s"
            log.warning(text, run_id, error)

    async def is_played(self, run_id: str) -> bool:
        """See crew.runs.queue."""
        async with _answer_in_time():
            status = Status.DOING.value
            jobs = await self.manager.list_jobs_async(queue=QUEUE, lock=run_id, status=status)
            workers = await self._workers()
            return any(job.worker_id in workers for job in jobs)

    async def counts(self) -> tuple[int, int]:
        """See crew.runs.queue."""
        async with _answer_in_time():
            # runs are counted, not jobs: a run that was cancelled leaves its job, and a worker that
            # has stopped leaves its run
            sql = "SELECT count(*) FROM crew_runs WHERE status = 'running'"
            async with self.server.connection() as connection:
                running = int(await connection.fetchval(sql))
            status = Status.DOING.value
            doing = await self.manager.list_jobs_async(queue=QUEUE, status=status)
            workers = await self._workers()
            played = sum(job.worker_id in workers for job in doing)
            return len(workers), max(0, running - played)

    async def _workers(self) -> set[int]:
        """The workers that are alive."""
        sql = "SELECT id FROM crew_workers WHERE until > now()"
        async with self.server.connection() as connection:
            return {row["id"] for row in await connection.fetch(sql)}

    async def announce_worker(self, worker_id: int, seconds: float) -> None:
        """Announce that a worker is alive for so long; raises StoreError."""
        async with self.server.connection(writes=True) as connection:
            await connection.execute(ANNOUNCE_WORKER, worker_id, seconds)

    async def runs_without_job(self) -> list[tuple[str, int]]:
        """Runs that go on and have no job, with their epochs; raises StoreError."""
        runs: dict[str, int] = {}
        async with _answer_in_time():
            last = ""
            while True:
                async with self.server.connection() as connection:
                    page = await connection.fetch(OPEN_RUNS, last, PAGE)
                runs |= {row["run_id"]: row["epoch"] for row in page}
                if len(page) < PAGE:
                    break
                last = page[-1]["run_id"]
            # asked for after the runs: a job that has ended meanwhile has left its run ended too,
            # or queued again
            jobs = await self.manager.list_jobs_async(queue=QUEUE) if runs else ()
        for job in jobs:
            runs.pop(str(job.lock), None)
        return list(runs.items())


@asynccontextmanager
async def _answer_in_time() -> AsyncIterator[None]:
    """A time limit that is raised as StoreUnavailable."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield
    except TimeoutError as late:
        text = f"the queue did not answer within {TIMEOUT_SECONDS:g} s"
        raise StoreUnavailable(text) from late
