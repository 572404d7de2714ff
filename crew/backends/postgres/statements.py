"""The SQL of the store."""

from crew.backends.sql.audit import COLUMNS
from crew.journal.records.rows import MAX_PAGE_BYTES, PAGE

EVENTS = """
INSERT INTO crew_events SELECT $1, seq, public, event
FROM unnest($3::bigint[], $4::text[], $5::text[]) AS new (seq, public, event)
"""
# the lock on the row keeps others from claiming the run before what is written is there
JOINS = """
(($3::bigint[])[1] - 1 <= purged_seq OR EXISTS (
    SELECT FROM crew_events WHERE run_id = $1 AND seq = ($3::bigint[])[1] - 1
))
"""
ADD = f"""
WITH held AS (SELECT FROM crew_runs WHERE run_id = $1 AND epoch = $2 AND {JOINS} FOR SHARE),
    added AS ({EVENTS} WHERE EXISTS (SELECT FROM held))
SELECT count(*) FROM held
"""  # noqa: S608 # made of texts of ours
ADD_AND_SET = f"""
WITH held AS (
        UPDATE crew_runs
        SET status = $6, row = $7, revision = $8, ended_at = $9, paused_until = $10, last_seq = $11,
            answer = $12, bytes = $13, given_until = NULL
        WHERE run_id = $1 AND epoch = $2 AND {JOINS} RETURNING 1
    ),
    added AS ({EVENTS} WHERE EXISTS (SELECT FROM held))
SELECT count(*) FROM held
"""  # noqa: S608 # made of texts of ours
# requests to models that have ended, with the events that follow from them
CALLS = """
INSERT INTO crew_calls SELECT * FROM jsonb_populate_recordset(NULL::crew_calls, {}::text::jsonb)
WHERE EXISTS (SELECT FROM held) ON CONFLICT DO NOTHING
"""
END = "SELECT count(*) FROM held"
ADD_WITH_CALLS = ADD.replace(END, f", calls AS ({CALLS.format('$6')}) {END}")
ADD_AND_SET_WITH_CALLS = ADD_AND_SET.replace(END, f", calls AS ({CALLS.format('$14')}) {END}")
BEGIN_RUN = """
INSERT INTO crew_runs
    (run_id, epoch, status, row, revision, ended_at, paused_until, last_seq, answer, bytes,
     owner, priority, conversation_owner, conversation_id, user_id)
VALUES ($1, $2, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
ON CONFLICT (run_id) DO UPDATE SET epoch = greatest(crew_runs.epoch, excluded.epoch),
    status = excluded.status, row = excluded.row, ended_at = excluded.ended_at,
    paused_until = excluded.paused_until, last_seq = excluded.last_seq, answer = excluded.answer,
    bytes = excluded.bytes, given_until = NULL,
    to_cancel = CASE WHEN crew_runs.status <> 'failed' THEN crew_runs.to_cancel END
RETURNING epoch
"""
BEGIN = f"WITH added AS ({EVENTS}) {BEGIN_RUN}"
# who began the segment is kept with it
BEGIN_AND_TELL = f"""
WITH added AS ({EVENTS}), entry AS (
    INSERT INTO crew_audit ({COLUMNS})
    VALUES ($19, $20, $21, $22, $1, $23, $24, $25)
)
{BEGIN_RUN}
"""  # noqa: S608 # as above
# by the database's clock: one that lost its last commits must not give an epoch again, to a second
# writer beside the first
NEXT_EPOCH = "greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
CLAIM = f"""
UPDATE crew_runs SET epoch = {NEXT_EPOCH}, claimed_seq = newest.seq,
    claims = CASE WHEN newest.seq > claimed_seq THEN 1 ELSE claims + 1 END
FROM (SELECT coalesce(max(seq), 0) AS seq FROM crew_events WHERE run_id = $1) AS newest
WHERE run_id = $1 AND status = 'running' AND epoch = coalesce($2, epoch)
RETURNING row, epoch, claims
"""  # noqa: S608 # made of texts of ours
# their sizes are known without reading them
NEXT = """
SELECT seq, public, event, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS found,
    sum(octet_length(public) + octet_length(event)) OVER (ORDER BY seq) AS size
FROM (
    SELECT * FROM crew_events WHERE run_id = {run_id} AND seq > {after} ORDER BY seq LIMIT {limit}
) AS next
"""
RECORDS = f"""
SELECT seq, public, event, found
FROM ({NEXT.format(run_id="$1", after="$2", limit="$3")}) AS page
WHERE size <= $4 OR place = 1 ORDER BY seq
"""  # noqa: S608 # made of texts of ours
# its first records, with its row in the first one
OPEN = f"""
SELECT seq, public, event, found, CASE WHEN coalesce(place, 1) = 1 THEN run.row END AS row,
    CASE WHEN coalesce(place, 1) = 1 THEN run.answer END AS answer
FROM crew_runs AS run LEFT JOIN LATERAL (
    {NEXT.format(run_id="run.run_id", after=0, limit=PAGE)}
) AS page ON size <= {MAX_PAGE_BYTES} OR place = 1
"""  # noqa: S608 # as above
OPENED = f"{OPEN} WHERE run.run_id = $1 ORDER BY seq"
# why a write was refused, or a segment must not begin: its epoch, and whether event $2 is there
PLACE = f"""
SELECT status, epoch, {NEXT_EPOCH} AS next_epoch, $2 <= purged_seq
    OR EXISTS (SELECT FROM crew_events WHERE run_id = $1 AND seq = $2) AS joins
FROM crew_runs WHERE run_id = $1
"""  # noqa: S608 # as above
# several processes ask at the same time: each gets others
DUE_PAUSES = """
UPDATE crew_runs SET given_until = now() + $2 * interval '1 second' WHERE run_id IN (
    SELECT run_id FROM crew_runs
    WHERE paused_until <= to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        AND coalesce(given_until, now()) <= now()
    ORDER BY paused_until LIMIT $1 FOR UPDATE SKIP LOCKED
) RETURNING row, paused_until
"""
KEEP_KEY = """
INSERT INTO crew_idempotency_records VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING 1
"""
# another process may purge at the same time: the rows that it has locked are skipped
# {}: by status, since when runs are kept all the same
_NOT_KEPT = "(NOT {0}::text::jsonb ? status OR ended_at < {0}::text::jsonb ->> status)"
OLD_RUNS = f"""
SELECT run_id FROM crew_runs WHERE ended_at < $1 AND {_NOT_KEPT.format("$3")}
LIMIT $2 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 # made of texts of ours
OLD_EVENTS = f"""
SELECT run_id, last_seq FROM crew_runs WHERE ended_at < $1 AND last_seq - purged_seq > 0
    AND {_NOT_KEPT.format("$3")}
LIMIT $2 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 # as above
SURPLUS_EVENTS = """
SELECT run_id, last_seq - $1 FROM crew_runs
WHERE last_seq - purged_seq > $1 AND ended_at IS NOT NULL LIMIT $2 FOR UPDATE SKIP LOCKED
"""
# what is deleted leaves its room in the files, so they tell nothing
REACH = """
SELECT (SELECT coalesce(sum(bytes), 0)::bigint FROM crew_runs WHERE bytes > 0)
        + (SELECT 1000 * greatest(0, reltuples)::bigint FROM pg_class
            WHERE oid = 'crew_runs'::regclass),
    (SELECT min(ended_at) FROM crew_runs WHERE last_seq - purged_seq > 0),
    (SELECT min(ended_at) FROM crew_runs WHERE ended_at IS NOT NULL),
    (SELECT min(used_at) FROM crew_conversations), (SELECT min(at) FROM crew_audit)
"""
OLDEST_END = f"""
SELECT max(ended_at) FROM (
    SELECT ended_at FROM crew_runs
    WHERE {{}} AND ended_at IS NOT NULL AND {_NOT_KEPT.format("$2")} ORDER BY ended_at LIMIT $1
) AS oldest
"""  # noqa: S608 # as above
OLDEST_END_WITH_EVENTS = OLDEST_END.format("last_seq - purged_seq > 0")
OLDEST_END_OF_ALL = OLDEST_END.format("true")
# what is left of a run's events takes a part of its bytes
PURGED = """
UPDATE crew_runs SET purged_seq = greatest(purged_seq, $2),
    bytes = bytes * greatest(0, last_seq - greatest(purged_seq, $2))
        / greatest(1, last_seq - purged_seq)
WHERE run_id = $1
"""
OLD_LISTENERS = """
DELETE FROM crew_listeners WHERE (run_id, process) IN (
    SELECT run_id, process FROM crew_listeners WHERE until < now() FOR UPDATE SKIP LOCKED
)
"""
OLD_REVISIONS = """
DELETE FROM crew_revisions AS old WHERE kept_at < $1
    AND NOT EXISTS (SELECT FROM crew_runs WHERE crew_runs.revision = old.revision)
    AND revision NOT IN (SELECT revision FROM crew_loads ORDER BY number DESC LIMIT $2)
"""
OLD_LOADS = """
DELETE FROM crew_loads WHERE number <= (SELECT max(number) FROM crew_loads) - $1
    AND revision NOT IN (SELECT revision FROM crew_revisions)
"""
# by the database's clock: those of several machines differ
ANNOUNCE = """
INSERT INTO crew_listeners
SELECT run_id, $1, now() + $3 * interval '1 second' FROM unnest($2::text[]) AS run_id
ON CONFLICT (run_id, process) DO UPDATE SET until = excluded.until
"""
HAS_LISTENERS = """
SELECT EXISTS (SELECT FROM crew_listeners WHERE run_id = $1 AND process <> $2 AND until > now())
"""
