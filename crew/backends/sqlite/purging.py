"""What is old, deleted from a file."""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from crew.journal.records.revisions import KEPT_REVISIONS
from crew.journal.records.rows import PurgeAges, StoredReach

# The index of ended runs begins with their revision, so each of these is looked up by itself: with
# 30,000 of them a purge takes 0.1 s, whatever the number of runs is.
REVISIONS = """
WITH RECURSIVE used (revision) AS (
    SELECT min(revision) FROM runs WHERE ended_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(revision) FROM runs WHERE ended_at IS NOT NULL AND revision > used.revision)
    FROM used WHERE used.revision IS NOT NULL
)
"""
# by status, since when runs are kept all the same: JSON
NOT_KEPT = "ended_at < coalesce(json_extract(?, '$.' || status), '~')"
# "used" comes first in the join: a CROSS JOIN is made in the order in which it is written
OLD_RUNS = f"""
{REVISIONS} SELECT last_seq, purged_seq, run_id
FROM used CROSS JOIN runs ON runs.revision = used.revision
WHERE (last_seq > purged_seq) IN (0, 1) AND ended_at < ?
    AND {NOT_KEPT} LIMIT ?
"""  # noqa: S608 # made of texts of ours
OLD_EVENTS = f"""
{REVISIONS} SELECT last_seq, purged_seq, run_id
FROM used CROSS JOIN runs ON runs.revision = used.revision
WHERE (last_seq > purged_seq) = 1 AND ended_at < ?
    AND {NOT_KEPT} LIMIT ?
"""  # noqa: S608 # as above
# in one transaction: others write meanwhile, and wait no longer than some hundredths of a second
MOST_EVENTS = 5000
# the index of long runs has those with more events than this
LONG = 1000
SURPLUS_OF_LONG_RUNS = f"""
SELECT last_seq - ?1, purged_seq, run_id FROM runs
WHERE last_seq - purged_seq > ?1 AND last_seq - purged_seq > {LONG} AND ended_at IS NOT NULL
LIMIT ?2
"""  # noqa: S608 # as above
# reads all runs whose events are not purged yet
SURPLUS = f"""
{REVISIONS} SELECT last_seq - ?1, purged_seq, run_id
FROM used CROSS JOIN runs ON runs.revision = used.revision
WHERE (last_seq > purged_seq) = 1 AND ended_at IS NOT NULL AND last_seq - purged_seq > ?1 LIMIT ?2
"""  # noqa: S608 # as above
# what is left of a run's events takes a part of its bytes
PURGED = """
UPDATE runs SET purged_seq = max(purged_seq, ?1),
    bytes = bytes * max(0, last_seq - max(purged_seq, ?1)) / max(1, last_seq - purged_seq)
WHERE run_id = ?2
"""
# open runs are asked last: they are read only for an old revision that no ended run has
OLD_REVISIONS = """
DELETE FROM revisions
WHERE kept_at < ? AND NOT EXISTS (
    SELECT 1 FROM runs WHERE runs.revision = revisions.revision AND ended_at IS NOT NULL
) AND revision NOT IN (
    SELECT revision FROM runs WHERE status IN ('running', 'paused') AND status <> 'completed'
) AND revision NOT IN (SELECT revision FROM loads ORDER BY number DESC LIMIT ?)
"""
OLD_LOADS = """
DELETE FROM loads WHERE number <= (SELECT max(number) FROM loads) - ?
    AND revision NOT IN (SELECT revision FROM revisions)
"""


SIZE = """
SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
USED_REVISIONS = f"{REVISIONS} SELECT revision FROM used"  # noqa: S608 # as above
OLDEST_ENDS = f"""
SELECT ended_at FROM runs
WHERE revision = ? AND (last_seq > purged_seq) = ? AND ended_at IS NOT NULL AND {NOT_KEPT}
ORDER BY ended_at LIMIT ?
"""  # noqa: S608 # as above


def reach(connection: sqlite3.Connection) -> StoredReach:
    """Return how much there is, and how far back. See Purging."""
    (size,) = connection.execute(SIZE).fetchone()
    ends = [_oldest_ends(connection, 1, "{}", has_events=flag)[:1] for flag in (True, False)]
    events, others = (found[0] if found else None for found in ends)
    used = connection.execute("SELECT min(used_at) FROM conversations").fetchone()[0]
    audit = connection.execute("SELECT min(at) FROM audit").fetchone()[0]
    runs = min(filter(None, (events, others)), default=None)
    return StoredReach(int(size), events, runs, used, audit)


def oldest_end(
    connection: sqlite3.Connection,
    count: int,
    kept_since: Mapping[str, str],
    *,
    with_events: bool,
) -> str | None:
    """Return a time before which so many have ended. See Purging."""
    kept = json.dumps(dict(kept_since))
    found = _oldest_ends(connection, count, kept, has_events=True)
    if not with_events:
        found += _oldest_ends(connection, count, kept, has_events=False)
    # behind the last one
    return f"{sorted(found)[:count][-1]}~" if found else None


def _oldest_ends(
    connection: sqlite3.Connection, count: int, kept: str, *, has_events: bool
) -> list[str]:
    """Return when the oldest ended runs have ended, in order.

    The index begins with their revision.
    """
    found: list[str] = []
    for (revision,) in connection.execute(USED_REVISIONS).fetchall():
        rows = connection.execute(OLDEST_ENDS, (revision, has_events, kept, count))
        found += [ended_at for (ended_at,) in rows]
    return sorted(found)[:count]


def purge(connection: sqlite3.Connection, ages: PurgeAges, limit: int) -> int:
    """Delete some of what is old; how many runs were touched. See Purging."""
    kept, of_runs = (json.dumps(dict(one)) for one in (ages.kept_since, ages.runs_kept_since))
    whole = connection.execute(OLD_RUNS, (ages.runs_before, of_runs, limit)).fetchall()
    slices, left = _slices(whole, MOST_EVENTS)
    ends = {run_id: last for last, _, run_id in whole}
    # one with more events than that loses them before, by and by
    gone = [(run_id,) for last, run_id in slices if last == ends[run_id]]
    old = [(last, run_id) for last, run_id in slices if last < ends[run_id]]
    for table in ("events", "idempotency_records", "runs"):
        sql = f"DELETE FROM {table} WHERE run_id = ?"  # noqa: S608 # names of ours
        connection.executemany(sql, gone)
    surplus = SURPLUS_OF_LONG_RUNS if ages.max_events >= LONG else SURPLUS
    for statement, values in (
        (OLD_EVENTS, (ages.events_before, kept, limit)),
        (surplus, (ages.max_events, limit)),
    ):
        slices, left = _slices(connection.execute(statement, values).fetchall(), left)
        old += slices
    connection.executemany("DELETE FROM events WHERE seq <= ? AND run_id = ?", old)
    connection.executemany(PURGED, old)
    connection.execute(OLD_REVISIONS, (ages.revisions_before, KEPT_REVISIONS))
    connection.execute(OLD_LOADS, (KEPT_REVISIONS,))
    return len(gone) + len(old)


def _slices(rows: Iterable[tuple[int, int, str]], most: int) -> tuple[list[tuple[int, str]], int]:
    """Return up to which event each run is to lose them, and how many more may be deleted.

    Args:
        rows: of runs: up to which event in the end, how many are deleted already, the id.
        most: so many events may be deleted.
    """
    found = []
    for last, purged, run_id in rows:
        if most <= 0:
            break
        upto = min(last, purged + most)
        found.append((upto, run_id))
        most -= max(0, upto - purged)
    return found, most
