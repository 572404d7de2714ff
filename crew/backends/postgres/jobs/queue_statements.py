"""The SQL of the queue; parts of it are Procrastinate's own."""

from procrastinate.sql import queries

from crew.backends.postgres.statements import OPEN

# a queue for each owner, by its name
QUEUE = "crew:"
TASK = "advance"
# a worker without a heartbeat for so long has stopped, and its runs go to others
STALLED_SECONDS = 5.0
# a heartbeat comes each second; after so long it is late
LATE_SECONDS = 2.5
# turns below a run's priority: with ten priorities it is still an int of PostgreSQL's
TURNS = 100_000_000
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
# Procrastinate's function must be called after the ended jobs are gone, as it looks for the locks
# of all jobs itself: so what it is given depends on their number.
QUEUES = "CASE WHEN gone.jobs >= 0 THEN open.names END"
FETCH = queries["fetch_job"].rstrip(" ;\n").replace("%(queues)s", QUEUES)
# What is stored of its run is left out where this statement began before the segment was stored.
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
# one that was lost is taken again, before all who wait: its call is being made
KEEP_PLACE = """
INSERT INTO crew_places (name, holder, until, number)
VALUES (
    $1, $2, clock_timestamp() + $3 * interval '1 second',
    (SELECT least(min(number), 0) - 1 FROM crew_places WHERE name = $1)
)
ON CONFLICT (holder) DO UPDATE SET until = excluded.until
"""
LEAVE_PLACE = "DELETE FROM crew_places WHERE holder = $1"
# $2: how long it counts as alive; $3: after how many seconds a heartbeat is late
ANNOUNCE_WORKER = """
INSERT INTO crew_workers AS known (id, until) VALUES ($1, now() + $2 * interval '1 second')
ON CONFLICT (id) DO UPDATE SET
    until = excluded.until,
    since = CASE
        WHEN excluded.until - known.until > $3 * interval '1 second' THEN now()
        ELSE known.since
    END
"""
# $1: how long a worker counts as alive; $2: after how many seconds a heartbeat is late
HAS_BEEN_THERE = """
SELECT EXISTS (
    SELECT FROM crew_workers
    WHERE since < now() - $1 * interval '1 second'
        AND until > now() + ($1::float8 - $2::float8) * interval '1 second'
)
"""
# of a worker, for the process beside it: its id is the first parameter
HEARTBEAT_STATEMENTS: list[tuple[str, list[float]]] = [
    (queries["update_heartbeat"].replace("%(worker_id)s", "$1"), []),
    (ANNOUNCE_WORKER, [STALLED_SECONDS, LATE_SECONDS]),
]
# and workers that ended without a word, long ago
WITHDRAW_WORKER = """
DELETE FROM crew_workers WHERE id = $1 OR until < now() - interval '1 day'
"""
