"""The queue of runs that wait for a worker: Procrastinate's tables in the runs' own PostgreSQL.

A job is `advance(run_id, epoch)`: one at a time of each run, by its lock. Procrastinate keeps the
jobs, gives each to one
worker and knows which workers have died.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import psycopg_pool
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.schema import SchemaManager

from crew.backends.postgres.server import migrating, stands_at
from crew.errors import StoreError, StoreUnavailable

log = logging.getLogger(__name__)

QUEUE = "crew"
# how long a worker's sign of life is waited for before its runs go to others
STALLED_SECONDS = 5.0
# for an answer; for a connection that is free; between tries to connect
TIMEOUT_SECONDS = 5.0
WAIT_SECONDS = 1.5
AGAIN_SECONDS = 0.5
# a server that is gone without a word is noticed after some ten seconds, also while something was
# sent to it
KEEP_ALIVE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
FAILURES = (
    ConnectorException,
    StoreUnavailable,
    psycopg.Error,
    psycopg_pool.PoolTimeout,
    OSError,
    TimeoutError,
)

# of Procrastinate's tables, in order
MIGRATIONS = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))

# runs that go on, and have no job that does or will
ORPHANS = """
SELECT run_id, epoch FROM crew_runs AS run WHERE status = 'running'
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = run.run_id AND status = 'doing')
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE queueing_lock = run.run_id AND status = 'todo')
LIMIT 500
"""
# a run that a worker has which is alive
HELD = """
SELECT EXISTS (
    SELECT FROM procrastinate_jobs AS job JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
    WHERE job.lock = %(run_id)s AND job.status = 'doing' AND worker.last_heartbeat > now() - %(seconds)s * interval '1 second'
) AS held
"""
KNOWN = "SELECT EXISTS (SELECT FROM procrastinate_workers WHERE id = %(id)s) AS known"
COUNTS = """
SELECT (SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second') AS workers,
    (SELECT count(*) FROM crew_runs AS run WHERE status = 'running' AND NOT EXISTS (
        SELECT FROM procrastinate_jobs AS job JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE job.lock = run.run_id AND job.status = 'doing' AND worker.last_heartbeat > now() - %(seconds)s * interval '1 second'
    )) AS waiting
"""


async def prepare_queue(url: str) -> None:
    """Bring Procrastinate's tables up to date; several processes may do so at once.

    Raises:
        StoreError: the database cannot be reached, or its tables are of a later Procrastinate.
    """
    newest = MIGRATIONS[-1].name
    if await stands_at(url, "crew_queue_schema", "max(newest)") == newest:
        return
    async with migrating(url) as connection:
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS crew_queue_schema (newest text NOT NULL)"
        )
        found: str = await connection.fetchval(
            "SELECT coalesce(max(newest), '') FROM crew_queue_schema"
        )
        if found > newest:
            raise StoreError(
                f"the queue's tables are of {found}, newer than this program's {newest}: update procrastinate"
            )
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
        """`url`: of the runs' database, prepared by `prepare_queue`.

        `connections`: at most so many at once.
        """
        connector = PsycopgConnector(
            conninfo=url,
            kwargs={
                "application_name": "crew queue",
                "connect_timeout": int(TIMEOUT_SECONDS),
                **KEEP_ALIVE,
            },
            min_size=0,
            max_size=connections,
            # the pool's waits between tries grow, and who waits for it is not woken when it gives
            # up; ours are short
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
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await task.defer_async(run_id=run_id, epoch=epoch)
        except AlreadyEnqueued:
            return
        except FAILURES as error:
            log.warning(
                "run %s is queued when the database can be used again: %s", run_id, said(error)
            )

    async def has(self, run_id: str) -> bool:
        """See crew.starting.Queue."""
        (found,) = await self._asked(HELD, run_id=run_id, seconds=STALLED_SECONDS)
        return bool(found["held"])

    async def counts(self) -> tuple[int, int]:
        """See crew.starting.Queue."""
        (found,) = await self._asked(COUNTS, seconds=STALLED_SECONDS)
        return found["workers"], found["waiting"]

    async def knows(self, worker_id: int) -> bool:
        """Whether a worker is registered; raises StoreError."""
        (found,) = await self._asked(KNOWN, id=worker_id)
        return bool(found["known"])

    async def orphans(self) -> list[tuple[str, int]]:
        """Runs that go on and have no job, with their epochs; raises StoreError."""
        return [(orphan["run_id"], orphan["epoch"]) for orphan in await self._asked(ORPHANS)]

    async def _asked(self, query: LiteralString, **values: Any) -> list[dict[str, Any]]:
        with _unavailable():
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self.app.connector.execute_query_all_async(query, **values)


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StoreUnavailable(f"the queue cannot be used for now: {said(error)}") from error


def said(error: Exception) -> str:
    """Why, on one line; the library's own errors have the cause behind them."""
    return " ".join(str(error.__cause__ or error).split()) or type(error).__name__
