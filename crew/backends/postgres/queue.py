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
from procrastinate.sql import queries

from crew.backends.postgres.connector import AsyncpgConnector
from crew.backends.postgres.reading import opened_of
from crew.backends.postgres.server import Connection, PostgresServer
from crew.backends.postgres.statements import OPEN
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.rows import Capacity, Opened

log = logging.getLogger(__name__)

# a queue for each owner, by its name
QUEUE = "crew:"
TASK = "advance"
# a worker without a heartbeat for so long has stopped, and its runs go to others
STALLED_SECONDS = 5.0
# for one answer of the database
TIMEOUT_SECONDS = 5.0
# turns below a run's priority: with ten priorities it is still an int of PostgreSQL's
TURNS = 100_000_000
# of the advisory lock under which jobs are fetched while their number is limited
FETCH_LOCK = 0x1A4B8
# Procrastinate has no such question: to list all jobs takes 5 s with 200,000 runs that wait, and
# this 0.2 s. Its indexes are on these two columns.
RUNS_WITHOUT_JOB = """
SELECT run_id, epoch FROM crew_runs AS run WHERE status = 'running'
    AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = run.run_id AND status = 'doing')
    AND NOT EXISTS (
        SELECT FROM procrastinate_jobs WHERE queueing_lock = run.run_id AND status = 'todo'
    )
    -- these wait for another run of their conversation
    AND NOT EXISTS (SELECT FROM crew_conversation_queue AS one WHERE one.run_id = run.run_id)
LIMIT 500
"""
# the lowest turn of a priority that waits
LOWEST_TURN = f"""
(SELECT {TURNS} - 1 - job.priority %% {TURNS} FROM procrastinate_jobs AS job
    WHERE status = 'todo' AND scheduled_at IS NULL
        AND job.priority >= run.priority * {TURNS} AND job.priority < (run.priority + 1) * {TURNS}
    ORDER BY job.priority DESC, job.id LIMIT 1)
"""  # noqa: S608 # made of numbers of ours
TAKE_TURN = f"""
INSERT INTO crew_turns AS last (owner, priority, run_id, turn)
SELECT owner, priority, run_id, coalesce({LOWEST_TURN}, 0)
FROM crew_runs AS run WHERE run_id = %(run_id)s
ON CONFLICT (owner, priority) DO UPDATE SET run_id = excluded.run_id, turn = CASE
    -- The owner's last run was at work; another one may be so new that it is not seen here yet.
    -- With EXISTS PostgreSQL would read all runs, up to some 300,000, into a hash.
    WHEN (SELECT status FROM crew_runs WHERE run_id = last.run_id) <> 'running' OR 0 < (
        SELECT count(*) FROM procrastinate_jobs WHERE lock = last.run_id AND status = 'doing'
    ) THEN excluded.turn
    ELSE least({TURNS} - 1, greatest(excluded.turn, last.turn + 1))
END
RETURNING owner, priority * {TURNS} + {TURNS} - 1 - turn AS place
"""  # noqa: S608 # made of texts of ours
FIRST_TURN = f"""
SELECT owner, priority * {TURNS} + {TURNS} - 1 - coalesce({LOWEST_TURN}, 0) AS place
FROM crew_runs AS run WHERE run_id = %(run_id)s
"""  # noqa: S608 # as above
# the queue of a run is its owner's
NEW_JOB = f"""
ROW(
    '{QUEUE}' || owner, '{TASK}', place, %(run_id)s, %(run_id)s, %(arguments)s::jsonb,
    %(at)s::timestamptz
)
"""
# both steps in one trip to the server
DEFER = queries["defer_jobs"].rstrip(" ;\n").replace("%(jobs)s", f"ARRAY[{NEW_JOB}]")
PUT, PUT_AGAIN = (f"WITH turn AS ({turn}) {DEFER} FROM turn" for turn in (TAKE_TURN, FIRST_TURN))
# Each step of the recursion finds the next name in the index. NULL for a limit: there is none.
OPEN_QUEUES = f"""
WITH RECURSIVE known AS (
    (SELECT min(queue_name) AS name FROM procrastinate_jobs WHERE queue_name >= '{QUEUE}')
    UNION ALL
    SELECT (SELECT min(queue_name) FROM procrastinate_jobs WHERE queue_name > known.name)
    FROM known WHERE known.name IS NOT NULL
),
busy AS (
    SELECT queue_name AS name, count(*) AS jobs FROM procrastinate_jobs
    WHERE coalesce(%(each)s::int, %(most)s::int) IS NOT NULL
        AND status = 'doing' AND queue_name LIKE '{QUEUE}%%' GROUP BY queue_name
)
SELECT coalesce(array_agg(name), '{{}}') AS names, (
    SELECT count(*) FROM (
        SELECT FROM procrastinate_jobs
        WHERE queue_name LIKE '{QUEUE}%%' AND status = 'todo' LIMIT 2
    ) AS waiting
) AS waiting
FROM known LEFT JOIN busy USING (name)
WHERE name LIKE '{QUEUE}%%' AND coalesce(jobs, 0) < coalesce(%(each)s, 2147483647)
    AND (SELECT coalesce(sum(jobs), 0) FROM busy) < coalesce(%(most)s, 2147483647)
    -- or all jobs of those who may have no more would be looked through for nothing
    AND EXISTS (
        SELECT FROM procrastinate_jobs WHERE queue_name = name AND status = 'todo'
            AND (scheduled_at IS NULL OR scheduled_at <= now())
    )
"""  # noqa: S608 # as above
# Procrastinate's function for this does so for one job, and fails where that has been ended
END_JOBS = """
DELETE FROM procrastinate_jobs WHERE id = ANY(%(ended)s) AND status IN ('todo', 'doing')
RETURNING id
"""
# Procrastinate's function looks, and does not see what queues are made of, but which jobs are gone
QUEUES = "CASE WHEN gone.jobs >= 0 THEN open.names END"
FETCH = queries["fetch_job"].rstrip(" ;\n").replace("%(queues)s", QUEUES)
# With what is stored of its run; that is left out where this statement began before
# the segment was stored.
FETCH_JOB = f"""
WITH ended AS ({END_JOBS}), gone AS (SELECT count(*) AS jobs FROM ended)
SELECT open.waiting, job.*, opened.*
FROM gone, ({OPEN_QUEUES}) AS open, LATERAL ({FETCH}) AS job
LEFT JOIN LATERAL (
    {OPEN} WHERE run.run_id = job.lock AND run.epoch = (job.args ->> 'epoch')::bigint
        AND job.args ->> 'again' = 'false'
) AS opened ON true ORDER BY opened.seq
"""  # noqa: S608 # as above
WAITING = """
SELECT count(*) FROM (
    SELECT FROM crew_runs AS run WHERE owner = $1 AND status = 'running'
        AND NOT EXISTS (SELECT FROM procrastinate_jobs WHERE lock = run.run_id AND status = 'doing')
    LIMIT $2
) AS waiting
"""
# one process after the other, each with what the one before it has written
LOCK_PLACES = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
DROP_OLD_PLACES = "DELETE FROM crew_places WHERE name = $1 AND until < clock_timestamp()"
# who asks has a number from then on; whose numbers are the lowest have the places
ASK_FOR_PLACE = """
INSERT INTO crew_places (name, holder, until)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 second')
ON CONFLICT (holder) DO UPDATE SET until = excluded.until RETURNING number
"""
IS_TAKEN = "SELECT count(*) < $2 FROM crew_places WHERE name = $1 AND number < $3"
KEEP_PLACE = """
UPDATE crew_places SET until = clock_timestamp() + $2 * interval '1 second' WHERE holder = $1
"""
LEAVE_PLACE = "DELETE FROM crew_places WHERE holder = $1"
ANNOUNCE_WORKER = """
INSERT INTO crew_workers VALUES ($1, now() + $2 * interval '1 second')
ON CONFLICT (id) DO UPDATE SET until = excluded.until
"""
# of a worker, for the process beside it: its id is the first parameter
HEARTBEAT_STATEMENTS: list[tuple[str, list[float]]] = [
    (queries["update_heartbeat"].replace("%(worker_id)s", "$1"), []),
    (ANNOUNCE_WORKER, [STALLED_SECONDS]),
]
# and workers that ended without a word, long ago
WITHDRAW_WORKER = """
DELETE FROM crew_workers WHERE id = $1 OR until < now() - interval '1 day'
"""


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
        """A job that may be done now, given to a worker; jobs that have ended are ended before.

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
        return Fetched(Job.from_row(first), opened_of(found), first["waiting"] > 1)

    async def end(self, ended: Sequence[int]) -> int:
        """Jobs have ended; how many of them had not been ended before. Raises StoreError."""
        return len(await self.connector.execute_query_all_async(END_JOBS, ended=ended))

    async def take_place(self, name: str, limit: int, holder: str, seconds: float) -> bool:
        """See agents.places."""
        with contextlib.suppress(StoreUnavailable):
            async with self.server.connection() as connection, connection.transaction():
                await connection.execute(LOCK_PLACES, name)
                await connection.execute(DROP_OLD_PLACES, name)
                number = await connection.fetchval(ASK_FOR_PLACE, name, holder, seconds)
                return bool(await connection.fetchval(IS_TAKEN, name, limit, number))
        return False

    async def keep_place(self, holder: str, seconds: float) -> None:
        """See agents.places."""
        with contextlib.suppress(StoreError):
            async with self.server.connection() as connection:
                await connection.execute(KEEP_PLACE, holder, seconds)

    async def leave_place(self, holder: str) -> None:
        """See agents.places."""
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
