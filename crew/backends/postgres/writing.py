"""How a write becomes one transaction: a segment's first, and those that follow."""

from dataclasses import replace

from pydantic_core import to_json

from crew.backends.postgres.database import do_steps
from crew.backends.postgres.server import Connection
from crew.backends.postgres.statements import (
    ADD,
    ADD_AND_SET,
    ADD_AND_SET_WITH_CALLS,
    ADD_WITH_CALLS,
    BEGIN,
    BEGIN_AND_TELL,
    KEEP_KEY,
    PLACE,
)
from crew.backends.sql.conversations import begin_exchange, end_exchange, lock_conversation
from crew.backends.sql.outbox import insert_notices
from crew.backends.sql.runs import IDEMPOTENCY_RECORD, RUN_ROW
from crew.backends.sql.statements import postgres_values
from crew.journal.errors import LostEvents, LostRun
from crew.journal.records.conversations import owner_of
from crew.journal.records.exchanges import ExchangeEnd, ExchangeStart, Refused
from crew.journal.records.rows import (
    FIRST_EPOCH,
    Appended,
    AppendResult,
    IdempotencyRecord,
    KeyTaken,
    Record,
    RunRow,
    StatusDiffers,
    Write,
)


async def append_events(connection: Connection, write: Write, epoch: int) -> Appended:
    """Return what a run's writer adds: one statement, so that it takes one trip to the server."""
    assert write.entry is None, "who began a segment is kept with its first write"
    if not write.notices and write.exchange is None:
        return await _add(connection, write, epoch)
    async with connection.transaction():
        result = await _add(connection, write, epoch)
        if write.notices:
            await do_steps(connection, insert_notices(write.notices))
        if isinstance(write.exchange, ExchangeEnd):
            next_run = await do_steps(connection, end_exchange(write.exchange))
            return replace(result, next_run=next_run)
        return result


async def _add(connection: Connection, write: Write, epoch: int) -> Appended:
    sql: str = ADD_WITH_CALLS if write.calls else ADD
    values: tuple[object, ...] = (write.run_id, epoch, *_record_columns(write))
    if write.row is not None:
        sql = ADD_AND_SET_WITH_CALLS if write.calls else ADD_AND_SET
        values = (*values, *_row_columns(write.row))
    if write.calls:
        (calls,) = postgres_values([to_json(write.calls)])
        values = (*values, calls)
    if not await connection.fetchval(sql, *values):
        before = write.records[0].seq - 1
        found = await connection.fetchrow(PLACE, write.run_id, before)
        if found is not None and found["epoch"] > epoch:
            raise LostRun
        raise LostEvents(write.run_id, before)
    return Appended(epoch)


async def begin_segment(connection: Connection, write: Write) -> AppendResult:
    """Return the first write of a segment."""
    assert write.row is not None, "a segment begins with its row"
    assert not write.calls, "no model was called before it"
    epoch = FIRST_EPOCH
    is_plain = not write.notices and write.exchange is None
    if write.expected is None and write.idempotency is None and is_plain:
        # the usual one takes one trip
        return await _insert(connection, write, write.row, epoch)
    async with connection.transaction():
        if isinstance(write.exchange, ExchangeStart):
            # in the order in which a deletion locks them
            place = (write.exchange.owner, write.exchange.conversation_id)
            await do_steps(connection, lock_conversation(*place))
        if write.expected is not None:
            before = write.records[0].seq - 1
            found = await connection.fetchrow(f"{PLACE} FOR UPDATE", write.run_id, before)
            status = found["status"] if found is not None else None
            if found is None or status != write.expected:
                return StatusDiffers(status)
            if not found["joins"]:
                raise LostEvents(write.run_id, before)
            epoch = found["next_epoch"]
        record = write.idempotency
        if record is not None:
            values = (record.key, record.fingerprint, record.run_id, record.before)
            if not await connection.fetchval(KEEP_KEY, *values):
                taken = await connection.fetchrow(IDEMPOTENCY_RECORD.postgres, record.key)
                assert taken is not None, "it keeps this one from being written"
                return KeyTaken(IdempotencyRecord(*taken))
        waits = False
        if isinstance(write.exchange, ExchangeStart):
            began = await do_steps(connection, begin_exchange(write.exchange))
            if isinstance(began, Refused):
                if record is not None:
                    sql = "DELETE FROM crew_idempotency_records WHERE key = $1"
                    await connection.execute(sql, record.key)
                return began
            waits = began.waits
        if write.notices:
            await do_steps(connection, insert_notices(write.notices))
        return replace(await _insert(connection, write, write.row, epoch), waits=waits)


async def _insert(connection: Connection, write: Write, row: RunRow, epoch: int) -> Appended:
    of = (owner_of(row.user_id), row.conversation_id) if row.conversation_id else (None, None)
    values = (*_record_columns(write), *_row_columns(row), row.owner, row.priority, *of)
    values = (*values, row.user_id)
    sql, entry = BEGIN, write.entry
    if entry is not None:
        sql = BEGIN_AND_TELL
        who = entry.name, entry.address, entry.request_id, entry.detail
        # what is done to a run is about its person
        values = (*values, entry.at, entry.action, *who, entry.user_id or row.user_id)
    return Appended(int(await connection.fetchval(sql, write.run_id, epoch, *values)))


async def is_written(connection: Connection, write: Write) -> bool:
    """Return whether exactly these events are there."""
    sql = "SELECT seq, public, event FROM crew_events WHERE run_id = $1 AND seq >= $2"
    first, count = write.records[0].seq, len(write.records)
    found = await connection.fetch(f"{sql} ORDER BY seq LIMIT $3", write.run_id, first, count)
    return [Record(*values) for values in found] == list(write.records)


def _record_columns(write: Write) -> tuple[list[int], list[str], list[str]]:
    records = write.records
    return [r.seq for r in records], [r.public for r in records], [r.event for r in records]


def _row_columns(row: RunRow) -> tuple[object, ...]:
    row_json = RUN_ROW.dump_json(row, exclude={"answer"}).decode()
    (answer,) = postgres_values([row.answer])
    ends = (row.ended_at, row.paused_until, row.last_seq, answer, row.stored_bytes)
    return (row.status, row_json, row.revision, *ends)
