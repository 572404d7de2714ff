"""What is old, deleted from a file."""

import sqlite3

from crew.journal.rows import PurgeAges

# what is left of a run's events takes a part of its bytes
PURGED = """
UPDATE runs SET purged_seq = max(purged_seq, ?1),
    bytes = bytes * max(0, last_seq - max(purged_seq, ?1)) / max(1, last_seq - purged_seq)
WHERE run_id = ?2
"""
OLD_REVISIONS = """
DELETE FROM revisions
WHERE kept_at < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.revision = revisions.revision)
"""


def purge(connection: sqlite3.Connection, ages: PurgeAges, limit: int) -> int:
    """Delete some of what is old; how many runs were touched. See Purging."""
    sql = "SELECT run_id FROM runs WHERE ended_at < ? LIMIT ?"
    gone = connection.execute(sql, (ages.runs_before, limit)).fetchall()
    for table in ("events", "idempotency_records", "runs"):
        sql = f"DELETE FROM {table} WHERE run_id = ?"  # noqa: S608 # names of ours
        connection.executemany(sql, gone)
    sql = "SELECT last_seq, run_id FROM runs WHERE ended_at < ? AND last_seq - purged_seq > 0"
    old = connection.execute(f"{sql} LIMIT ?", (ages.events_before, limit)).fetchall()
    sql = "SELECT last_seq - ?, run_id FROM runs WHERE last_seq - purged_seq > ?"
    sql = f"{sql} AND ended_at IS NOT NULL LIMIT ?"
    old += connection.execute(sql, (ages.max_events, ages.max_events, limit)).fetchall()
    connection.executemany("DELETE FROM events WHERE seq <= ? AND run_id = ?", old)
    connection.executemany(PURGED, old)
    connection.execute(OLD_REVISIONS, (ages.revisions_before,))
    return len(gone) + len(old)
