"""The queue of runs that wait for a worker: Procrastinate, in the runs' own PostgreSQL database.

A job is `advance(run_id, epoch)`, one at a time for each run, by its lock. Procrastinate keeps the
jobs, gives each to one worker, and knows which workers have stopped. See docs, project, decisions.

The jobs of each owner are a queue of Procrastinate's, so that owners who have as many runs at work
as they may are left out. A job's priority has the run's and, below it, its turn: see
`crew.runs.capacity`, which has the same order for one process.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType

from procrastinate import App
from procrastinate.exceptions import UniqueViolation
from procrastinate.jobs import Job, Status

from crew.backends.postgres.jobs.connector import AsyncpgConnector
from crew.backends.postgres.jobs.queue_statements import (
    ANNOUNCE_WORKER,
    ASK_FOR_PLACE,
    DROP_OLD_PLACES,
    END_JOBS,
    FETCH_JOB,
    HAS_BEEN_THERE,
    IS_TAKEN,
    KEEP_PLACE,
    LATE_SECONDS,
    LEAVE_PLACE,
    LOCK_PLACES,
    PUT,
    PUT_AGAIN,
    RUNS_WITHOUT_JOB,
    TASK,
    WAITING,
    WITHDRAW_WORKER,
)
from crew.backends.postgres.reading import opened_of
from crew.backends.postgres.server import Connection, PostgresServer
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.records.rows import Capacity, Opened

log = logging.getLogger(__name__)

# for one answer of the database
TIMEOUT_SECONDS = 5.0
# of the advisory lock under which jobs are fetched while their number is limited
FETCH_LOCK = 0x1A4B8


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a worker got from the queue."""

    job: Job | None
    # all that is stored of its run; None: not known
    opened: Opened | None
    # there may be another job
    some_wait: bool


class JobQueue:
    """Puts runs into the queue; an async context manager."""

    def __init__(self, server: PostgresServer) -> None:
        """`server`: not the store's; closed with the queue."""
        self.server = server
        self.connector = AsyncpgConnector(server)
        self.app = App(connector=self.connector)
        self.manager = self.app.job_manager
        self._capacity = Capacity()

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

    def limit(self, capacity: Capacity) -> None:
        """See crew.runs.queue."""
        self._capacity = capacity

    async def put(
        self, run_id: str, epoch: int, in_seconds: float = 0.0, *, again: bool = False
    ) -> None:
        """See crew.runs.queue."""
        # by the database's clock, not by this machine's
        now = self.server.time.now()
        arguments = {
            "run_id": run_id,
            "arguments": {"run_id": run_id, "epoch": epoch, "again": again},
            "at": now + timedelta(seconds=in_seconds) if in_seconds else None,
        }
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                sql = PUT_AGAIN if again else PUT
                await self.connector.execute_query_async(sql, **arguments)
        except UniqueViolation:
            # it waits already
            return
        except (StoreError, TimeoutError) as error:
            text = "run %s is queued when the database can be used again: %s"
            log.warning(text, run_id, error)

    async def waiting(self, owner: str, most: int) -> int:
        """See crew.runs.queue."""
        async with _answer_in_time(), self.server.connection() as connection:
            return int(await connection.fetchval(WAITING, owner, most))

    async def fetch(self, worker_id: int, ended: Sequence[int] = ()) -> Fetched:
        """Fetch a job that may be done now, given to a worker.

        Jobs that have ended are ended before.

        Jobs that come later are notified. Raises StoreError.
        """
        async with self.server.connection(writes=True) as connection:
            if self._capacity == Capacity():
                return await self._fetch(connection, worker_id, ended)
            async with connection.transaction():
                # one after the other, or two would take the last place
                await connection.execute("SELECT pg_advisory_xact_lock($1)", FETCH_LOCK)
                # by itself: the places of these jobs are free for the next statement
                await self.connector.fetch(connection, END_JOBS, {"ended": ended})
                return await self._fetch(connection, worker_id, ())

    async def _fetch(self, connection: Connection, worker_id: int, ended: Sequence[int]) -> Fetched:
        arguments = {
            "most": self._capacity.runs,
            "each": self._capacity.runs_per_owner,
            "worker_id": worker_id,
            "ended": ended,
        }
        found = await self.connector.fetch(connection, FETCH_JOB, arguments)
        first = found[0]
        # a function that returns no row returns one of NULLs
        if first["id"] is None:
            return Fetched(None, None, first["waiting"] > 0)
        opened = None
        # what another version has written fails its run alone, when it is claimed
        with contextlib.suppress(ValueError):
            opened = opened_of(found)
        return Fetched(Job.from_row(first), opened, first["waiting"] > 1)

    async def end(self, ended: Sequence[int]) -> int:
        """End jobs; return how many of them had not been ended before. Raises StoreError."""
        return len(await self.connector.execute_query_all_async(END_JOBS, ended=ended))

    async def take_place(self, name: str, limit: int, holder: str, seconds: float) -> bool:
        """See agents.wrappers.places."""
        with contextlib.suppress(StoreUnavailable):
            async with self.server.connection() as connection, connection.transaction():
                await connection.execute(LOCK_PLACES, name)
                await connection.execute(DROP_OLD_PLACES, name)
                number = await connection.fetchval(ASK_FOR_PLACE, name, holder, seconds)
                return bool(await connection.fetchval(IS_TAKEN, name, limit, number))
        return False

    async def keep_place(self, name: str, holder: str, seconds: float) -> None:
        """See agents.wrappers.places."""
        with contextlib.suppress(StoreError):
            async with self.server.connection() as connection, connection.transaction():
                await connection.execute(LOCK_PLACES, name)
                await connection.execute(KEEP_PLACE, name, holder, seconds)

    async def leave_place(self, holder: str) -> None:
        """See agents.wrappers.places."""
        with contextlib.suppress(StoreError):
            async with self.server.connection() as connection:
                await connection.execute(LEAVE_PLACE, holder)

    async def is_played(self, run_id: str) -> bool:
        """See crew.runs.queue."""
        async with _answer_in_time():
            status = Status.DOING.value
            jobs = await self.manager.list_jobs_async(task=TASK, lock=run_id, status=status)
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
            doing = await self.manager.list_jobs_async(task=TASK, status=status)
            workers = await self._workers()
            played = sum(job.worker_id in workers for job in doing)
            return len(workers), max(0, running - played)

    async def _workers(self) -> set[int]:
        """Return the workers that are alive."""
        sql = "SELECT id FROM crew_workers WHERE until > now()"
        async with self.server.connection() as connection:
            return {row["id"] for row in await connection.fetch(sql)}

    async def announce_worker(self, worker_id: int, seconds: float) -> None:
        """Announce that a worker is alive for so long; raises StoreError."""
        async with self.server.connection(writes=True) as connection:
            await connection.execute(ANNOUNCE_WORKER, worker_id, seconds, LATE_SECONDS)

    async def has_been_there(self, seconds: float) -> bool:
        """Return whether the database was there for so long: heartbeats of a worker came in time.

        Raises StoreError.
        """
        async with self.server.connection() as connection:
            return bool(await connection.fetchval(HAS_BEEN_THERE, seconds, LATE_SECONDS))

    async def withdraw_worker(self, worker_id: int) -> None:
        """Remove a worker that stops; raises StoreError."""
        async with self.server.connection(writes=True) as connection:
            await connection.execute(WITHDRAW_WORKER, worker_id)

    async def runs_without_job(self) -> list[tuple[str, int]]:
        """Return some runs that go on and have no job, with their epochs; raises StoreError."""
        async with _answer_in_time(), self.server.connection() as connection:
            found = await connection.fetch(RUNS_WITHOUT_JOB)
            return [(row["run_id"], row["epoch"]) for row in found]


@asynccontextmanager
async def _answer_in_time() -> AsyncIterator[None]:
    """Yield a time limit that is raised as StoreUnavailable."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield
    except TimeoutError as late:
        text = f"the queue did not answer within {TIMEOUT_SECONDS:g} s"
        raise StoreUnavailable(text) from late
