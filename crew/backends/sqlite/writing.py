"""How a write becomes part of a transaction."""

import sqlite3

from crew.backends.sql.audit import insert_entry
from crew.backends.sql.conversations import begin_exchange, end_exchange
from crew.backends.sql.outbox import insert_notices
from crew.backends.sql.runs import IDEMPOTENCY_RECORD
from crew.backends.sql.spent.costs import insert_calls
from crew.backends.sqlite.database import do_steps
from crew.journal.errors import LostEvents, LostRun
from crew.journal.records.conversations import owner_of
from crew.journal.records.exchanges import ExchangeEnd, ExchangeStart, Refused
from crew.journal.records.rows import (
    FIRST_EPOCH,
    Appended,
    AppendResult,
    IdempotencyRecord,
    KeyTaken,
    StatusDiffers,
    Write,
)

UPSERT_RUN = """
INSERT INTO runs
    (run_id, status, row, answer, revision, ended_at, paused_until, last_seq, owner, bytes,
    conversation_owner, conversation_id, user_id, epoch)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, row = excluded.row,
    answer = excluded.answer,
    ended_at = excluded.ended_at, paused_until = excluded.paused_until,
    last_seq = excluded.last_seq, bytes = excluded.bytes, epoch = excluded.epoch, given_until = NULL
"""
JOINS = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM events WHERE run_id = ? AND seq = ?)
    OR EXISTS (SELECT 1 FROM runs WHERE run_id = ? AND purged_seq >= ?)
"""


def append(connection: sqlite3.Connection, write: Write, row_json: str) -> AppendResult:
    """See RunLog; `row_json`: the run's row, where it changes."""
    run_id, row, record = write.run_id, write.row, write.idempotency
    sql = "SELECT status, epoch FROM runs WHERE run_id = ?"
    status, epoch = connection.execute(sql, (run_id,)).fetchone() or (None, FIRST_EPOCH)
    if write.epoch is not None and write.epoch != epoch:
        raise LostRun
    if write.expected is not None:
        if status != write.expected:
            return StatusDiffers(status)
        epoch += 1
        if status == "failed":
            # it was to end a segment that has ended since
            connection.execute("UPDATE runs SET to_cancel = NULL WHERE run_id = ?", (run_id,))
    if record is not None:
        taken = connection.execute(IDEMPOTENCY_RECORD.sqlite, (record.key,)).fetchone()
        if taken is not None:
            return KeyTaken(IdempotencyRecord(*taken))
    waits, next_run = False, None
    match write.exchange:
        case ExchangeStart() as start:
            began = do_steps(connection, begin_exchange(start))
            if isinstance(began, Refused):
                return began
            waits = began.waits
        case ExchangeEnd() as ended:
            next_run = do_steps(connection, end_exchange(ended))
    if record is not None:
        values = (record.key, record.fingerprint, record.run_id, record.before)
        connection.execute("INSERT INTO idempotency_records VALUES (?, ?, ?, ?)", values)
    first = write.records[0].seq
    if (
        first > 1
        and not connection.execute(JOINS, (run_id, first - 1, run_id, first - 1)).fetchone()
    ):
        raise LostEvents(run_id, first - 1)
    events = [(run_id, one.seq, one.public, one.event) for one in write.records]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", events)
    if row is not None:
        ends = (row.ended_at, row.paused_until, row.last_seq, row.owner, row.stored_bytes)
        of = (owner_of(row.user_id), row.conversation_id) if row.conversation_id else (None, None)
        columns = (row.status, row_json, row.answer, row.revision, *ends, *of)
        connection.execute(UPSERT_RUN, (run_id, *columns, row.user_id, epoch))
    _write_beside(connection, write)
    return Appended(int(epoch), waits, next_run)


def _write_beside(connection: sqlite3.Connection, write: Write) -> None:
    """Write what goes with the events of a run."""
    if write.notices:
        do_steps(connection, insert_notices(write.notices))
    if write.entry is not None:
        do_steps(connection, insert_entry(write.entry))
    if write.calls:
        do_steps(connection, insert_calls(write.calls))
