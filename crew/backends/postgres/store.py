"""A store in a PostgreSQL database, for any number of processes."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

import asyncpg
from pydantic import TypeAdapter

from crew.backends.postgres.server import MAX_PAYLOAD_BYTES, Connection, PostgresServer
from crew.backends.postgres.statements import (
    ADD,
    ADD_AND_SET,
    ANNOUNCE,
    BEGIN,
    CLAIM,
    CLAIMS,
    DUE_PAUSES,
    HAS_LISTENERS,
    KEEP_KEY,
    KEEP_REVISION,
    NEWEST,
    OLD_EVENTS,
    OLD_LISTENERS,
    OLD_REVISIONS,
    OLD_RUNS,
    PLACE,
    RECORDS,
    RELEASE,
    SURPLUS_EVENTS,
)
from crew.journal.errors import LostEvents, LostRun, StoreError
from crew.journal.events import CancelReason, RunStatus
from crew.journal.rows import (
    FIRST_EPOCH,
    MAX_LISTED_BYTES,
    MAX_PAGE_BYTES,
    Appended,
    AppendResult,
    Cancellation,
    Claim,
    IdempotencyRecord,
    KeyTaken,
    Newest,
    PurgeAges,
    Record,
    RunRow,
    StatusDiffers,
    Write,
    listed_answer,
)
from crew.journal.watch import Watch

# greater than every run_id
AFTER_ALL = "~"
ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)


class PostgresStore:
    """Keeps runs in a database; see `prepare` of `schema`."""

    shared = True

    def __init__(self, server: PostgresServer) -> None:
        """`server`: closed with this store."""
        self.server = server
        # a write is finished, even if nobody waits for it
        self._writing: set[asyncio.Task[AppendResult]] = set()

    @property
    def failing(self) -> str | None:
        """See Health."""
        return self.server.failing

    def append(self, write: Write) -> "asyncio.Future[AppendResult]":
        """See RunLog."""
        task = asyncio.create_task(self._append(write))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        # a cancelled caller must not cancel it
        return asyncio.shield(task)

    async def _append(self, write: Write) -> AppendResult:
        result: AppendResult
        async with self.server.connection(writes=True) as connection:
            try:
                if write.epoch is None:
                    result = await _begin(connection, write)
                else:
                    result = await _continue(connection, write, write.epoch)
            except asyncpg.UniqueViolationError as error:
                # an earlier try may have been written, though the connection broke before the
                # answer came
                if write.epoch is None or not await _is_written(connection, write):
                    seq = write.records[0].seq
                    text = f"run {write.run_id}: event {seq} is there already"
                    raise StoreError(text) from error
                result = Appended(write.epoch)
        if isinstance(result, Appended):
            self.server.notify(write.run_id, write.records[-1].seq)
        return result

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """See RunLog."""
        async with self.server.connection(writes=True) as connection:
            found = await connection.fetchrow(CLAIM, run_id, epoch)
        if found is None:
            return None
        return Claim(ROW.validate_json(found["row"]), found["epoch"], found["claims"])

    async def release(self, run_id: str, epoch: int) -> None:
        """See RunLog."""
        await self._execute(RELEASE, run_id, epoch)

    async def claims(self, run_ids: Sequence[str]) -> dict[str, int]:
        """See RunLog."""
        async with self.server.connection() as connection:
            return {one["run_id"]: one["claims"] for one in await connection.fetch(CLAIMS, run_ids)}

    async def request_cancellation(self, run_id: str, reason: CancelReason) -> None:
        """See Cancellations."""
        sql = "UPDATE crew_runs SET to_cancel = $2 WHERE run_id = $1"
        await self._execute(sql, run_id, reason)

    async def cancellations(self, limit: int = 500) -> list[Cancellation]:
        """See Cancellations."""
        sql = "SELECT row, to_cancel FROM crew_runs WHERE to_cancel IS NOT NULL"
        sql = f"{sql} AND ended_at IS NULL ORDER BY run_id DESC LIMIT $1"
        async with self.server.connection() as connection:
            found = await connection.fetch(sql, limit)
        return [Cancellation(ROW.validate_json(row), reason) for row, reason in found]

    async def row(self, run_id: str) -> RunRow | None:
        """See RunLog."""
        sql = "SELECT row, answer FROM crew_runs WHERE run_id = $1"
        async with self.server.connection() as connection:
            found = await connection.fetchrow(sql, run_id)
        return _row(found["row"], found["answer"]) if found else None

    async def rows(
        self, status: RunStatus | None = None, limit: int = 50, after: str | None = None
    ) -> list[RunRow]:
        """See RunLog."""
        # the status is part of the text, so that the index of open runs can be used
        wanted = f"status = '{status}' AND " if status is not None else ""
        sql = f"SELECT row, left(answer, $3) FROM crew_runs WHERE {wanted}run_id < $1"  # noqa: S608 # a Literal
        sql = f"{sql} ORDER BY run_id DESC LIMIT $2"
        async with self.server.connection() as connection:
            found = await connection.fetch(sql, after or AFTER_ALL, limit, MAX_LISTED_BYTES + 1)
        return [_row(row, listed_answer(answer)) for row, answer in found]

    async def count(self, status: RunStatus) -> int:
        """See RunLog."""
        sql = f"SELECT count(*) FROM crew_runs WHERE status = '{status}'"  # noqa: S608 # as above
        async with self.server.connection() as connection:
            return int(await connection.fetchval(sql))

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunLog."""
        async with self.server.connection() as connection:
            found = await connection.fetch(RECORDS, run_id, after, limit, MAX_PAGE_BYTES)
        return [Record(*values) for values in found]

    async def newest(self, run_ids: Sequence[str]) -> dict[str, Newest]:
        """See RunLog."""
        async with self.server.connection() as connection:
            found = await connection.fetch(NEWEST, run_ids)
        return {one["run_id"]: Newest(one["status"], one["seq"]) for one in found}

    async def idempotency_record(self, key: str) -> IdempotencyRecord | None:
        """See RunLog."""
        async with self.server.connection() as connection:
            return await _idempotency_record(connection, key)

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """See RunLog."""
        async with self.server.connection(writes=True) as connection:
            found = await connection.fetch(DUE_PAUSES, limit, seconds)
            self.server.time.set(await connection.fetchval("SELECT clock_timestamp()"))
        in_order = sorted(found, key=lambda pair: str(pair["paused_until"]))
        return [ROW.validate_json(one["row"]) for one in in_order]

    async def purge(self, ages: PurgeAges, limit: int = 200) -> int:
        """See Purging."""
        async with self.server.connection(writes=True) as connection, connection.transaction():
            found = await connection.fetch(OLD_RUNS, ages.runs_before, limit)
            gone = [run_id for (run_id,) in found]
            for table in ("crew_events", "crew_idempotency_records", "crew_runs"):
                sql = f"DELETE FROM {table} WHERE run_id = ANY($1)"  # noqa: S608 # names of ours
                await connection.execute(sql, gone)
            old = await connection.fetch(OLD_EVENTS, ages.events_before, limit)
            old += await connection.fetch(SURPLUS_EVENTS, ages.max_events, limit)
            for run_id, last in old:
                sql = "DELETE FROM crew_events WHERE run_id = $1 AND seq <= $2"
                await connection.execute(sql, run_id, last)
                sql = "UPDATE crew_runs SET purged_seq = greatest(purged_seq, $2) WHERE run_id = $1"
                await connection.execute(sql, run_id, last)
            await connection.execute(OLD_LISTENERS)
            await connection.execute(OLD_REVISIONS, ages.revisions_before)
        return len(gone) + len(old)

    async def announce_listeners(
        self, process: str, run_ids: Sequence[str], seconds: float
    ) -> None:
        """See Cluster."""
        await self._execute(ANNOUNCE, process, run_ids, seconds)

    async def has_listeners(self, run_id: str, process: str) -> bool:
        """See Cluster."""
        async with self.server.connection() as connection:
            return bool(await connection.fetchval(HAS_LISTENERS, run_id, process))

    async def probe(self) -> None:
        """See Health."""
        sql = "INSERT INTO crew_probe VALUES (true, now())"
        await self._execute(f"{sql} ON CONFLICT (one) DO UPDATE SET at = now()")

    async def keep_revision(self, revision: str, files: str, now: str) -> None:
        """See RevisionStore."""
        await self._execute(KEEP_REVISION, revision, files, now)

    async def revision(self, revision: str) -> str | None:
        """See RevisionStore."""
        sql = "SELECT files FROM crew_revisions WHERE revision = $1"
        async with self.server.connection() as connection:
            found: str | None = await connection.fetchval(sql, revision)
        return found

    def now(self) -> datetime:
        """See Cluster: the database's time."""
        return self.server.time.now()

    def claim_process(self, *, serves: bool) -> bool:
        """See Cluster: no process resumes runs by itself, the queue gives them to workers."""
        return False

    def alone(self) -> bool:
        """See Cluster."""
        return False

    async def listen(self) -> None:
        """See Cluster."""
        await self.server.listen()

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        """See Cluster."""
        return self.server.watch(run_id)

    def publish_ephemeral(self, run_id: str, encoded: str) -> None:
        """See Cluster."""
        if len(encoded.encode()) + len(run_id) < MAX_PAYLOAD_BYTES:
            self.server.notify(run_id, None, encoded)

    async def aclose(self) -> None:
        """See RunStore."""
        if self._writing:
            await asyncio.wait(self._writing)
        await self.server.aclose()

    async def _execute(self, sql: str, *values: Any) -> None:
        async with self.server.connection(writes=True) as connection:
            await connection.execute(sql, *values)


async def _continue(connection: Connection, write: Write, epoch: int) -> Appended:
    """What a run's writer adds: one statement, so that it takes one trip to the server."""
    sql: str = ADD
    values: tuple[object, ...] = (write.run_id, epoch, *_record_columns(write))
    if write.row is not None:
        sql, values = ADD_AND_SET, (*values, *_row_columns(write.row))
    if not await connection.fetchval(sql, *values):
        before = write.records[0].seq - 1
        found = await connection.fetchrow(PLACE, write.run_id, before)
        if found is not None and found["epoch"] > epoch:
            raise LostRun
        raise LostEvents(write.run_id, before)
    return Appended(epoch)


async def _begin(connection: Connection, write: Write) -> AppendResult:
    """The first write of a segment."""
    assert write.row is not None, "a segment begins with its row"
    epoch = FIRST_EPOCH
    if write.expected is None and write.idempotency is None:
        # the usual one takes one trip
        return await _insert(connection, write, write.row, epoch)
    async with connection.transaction():
        if write.expected is not None:
            before = write.records[0].seq - 1
            found = await connection.fetchrow(f"{PLACE} FOR UPDATE", write.run_id, before)
            status = found["status"] if found is not None else None
            if found is None or status != write.expected:
                return StatusDiffers(status)
            if not found["joins"]:
                raise LostEvents(write.run_id, before)
            epoch = found["epoch"] + 1
        record = write.idempotency
        if record is not None:
            values = (record.key, record.fingerprint, record.run_id, record.before)
            if not await connection.fetchval(KEEP_KEY, *values):
                taken = await _idempotency_record(connection, record.key)
                assert taken is not None, "it keeps this one from being written"
                return KeyTaken(taken)
        return await _insert(connection, write, write.row, epoch)


async def _insert(connection: Connection, write: Write, row: RunRow, epoch: int) -> Appended:
    columns = (*_record_columns(write), *_row_columns(row))
    return Appended(int(await connection.fetchval(BEGIN, write.run_id, epoch, *columns)))


async def _idempotency_record(connection: Connection, key: str) -> IdempotencyRecord | None:
    sql = "SELECT * FROM crew_idempotency_records WHERE key = $1"
    found = await connection.fetchrow(sql, key)
    return IdempotencyRecord(*found) if found else None


async def _is_written(connection: Connection, write: Write) -> bool:
    sql = "SELECT seq, public, event FROM crew_events WHERE run_id = $1 AND seq >= $2"
    first, count = write.records[0].seq, len(write.records)
    found = await connection.fetch(f"{sql} ORDER BY seq LIMIT $3", write.run_id, first, count)
    return [Record(*values) for values in found] == list(write.records)


def _row(text: str, answer: str | None) -> RunRow:
    return replace(ROW.validate_json(text), answer=answer)


def _record_columns(write: Write) -> tuple[list[int], list[str], list[str]]:
    records = write.records
    return [r.seq for r in records], [r.public for r in records], [r.event for r in records]


def _row_columns(row: RunRow) -> tuple[object, ...]:
    row_json = ROW.dump_json(row, exclude={"answer"}).decode()
    ends = (row.ended_at, row.paused_until, row.last_seq, row.answer)
    return (row.status, row_json, row.revision, *ends)
