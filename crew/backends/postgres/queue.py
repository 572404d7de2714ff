"""The queue of runs that wait for a worker: Procrastinate, in the runs' own PostgreSQL database.

A job is `advance(run_id, epoch)`, one at a time for each run, by its lock. Procrastinate keeps the
jobs, gives each to one worker, and knows which workers have stopped. See docs, project, decisions.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
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
# Procrastinate has no such question: to list all jobs takes 5 s with 200,000 runs that wait, and
# this 0.2 s. Its indexes are on these two columns.
RUNS_WITHOUT_JOB = """
SELECT run_id, epoch FROM crew_runs AS run WHERE status = 'running'
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = run.run_id AND status = 'doing')
    AND NOT EXISTS (
        SELECT FROM procrastinate_jobs WHERE queueing_lock = run.run_id AND status = 'todo'
    )
LIMIT 500
"""
ANNOUNCE_WORKER = """
INSERT INTO crew_workers VALUES ($1, now() + $2 * interval '1 second')
ON CONFLICT (id) DO UPDATE SET until = excluded.until
"""
# and workers that ended without a word, long ago
WITHDRAW_WORKER = """
DELETE FROM crew_workers WHERE id = $1 OR until < now() - interval '1 day'
"""


class JobQueue:
    """Puts runs into the queue; an async context manager."""

    def __init__(self, server: PostgresServer) -> None:
        """`server`: not the store's; closed with the queue."""
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
        await self.server.aclose()

    async def put(self, run_id: str, epoch: int, in_seconds: float = 0.0) -> None:
        """See crew.runs.queue."""
        now = self.server.time.now()
        at = now + timedelta(seconds=in_seconds) if in_seconds else None
        task = self.app.configure_task(
            TASK,
            queue=QUEUE,
            lock=run_id,
            queueing_lock=run_id,
            # by the database's clock, not by this machine's
            schedule_at=at,
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

    async def withdraw_worker(self, worker_id: int) -> None:
        """A worker stops; raises StoreError."""
        async with self.server.connection(writes=True) as connection:
            await connection.execute(WITHDRAW_WORKER, worker_id)

    async def runs_without_job(self) -> list[tuple[str, int]]:
        """Some runs that go on and have no job, with their epochs; raises StoreError."""
        async with _answer_in_time(), self.server.connection() as connection:
            found = await connection.fetch(RUNS_WITHOUT_JOB)
            return [(row["run_id"], row["epoch"]) for row in found]


@asynccontextmanager
async def _answer_in_time() -> AsyncIterator[None]:
    """A time limit that is raised as StoreUnavailable."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield
    except TimeoutError as late:
        text = f"the queue did not answer within {TIMEOUT_SECONDS:g} s"
        raise StoreUnavailable(text) from late
