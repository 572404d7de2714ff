"""A store in a PostgreSQL database, for any number of processes."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import asyncpg
from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.postgres.server import MOST_PAYLOAD_BYTES, Connection, PostgresServer
from crew.errors import LostRun, StoreError
from crew.journal.state import Status
from crew.journal.store import FIRST_EPOCH, Receipt, Record, RunRow, Taken, Write
from crew.journal.watch import Watch

# greater than every run_id
AFTER_ALL = "~"
ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)

EVENTS = """
INSERT INTO crew_events SELECT $1, seq, public, event
FROM unnest($3::bigint[], $4::text[], $5::text[]) AS new (seq, public, event)
"""
# the lock on the row keeps others from taking the run before what is written is there
ADD = f"""
WITH held AS (SELECT FROM crew_runs WHERE run_id = $1 AND epoch = $2 FOR SHARE),
    added AS ({EVENTS} WHERE EXISTS (SELECT FROM held))
SELECT count(*) FROM held
"""  # noqa: S608 # made of texts of ours
ADD_AND_SET = f"""
WITH held AS (
        UPDATE crew_runs SET status = $6, row = $7, ended_at = $8, paused_until = $9, events = $10
        WHERE run_id = $1 AND epoch = $2 RETURNING 1
    ),
    added AS ({EVENTS} WHERE EXISTS (SELECT FROM held))
SELECT count(*) FROM held
"""  # noqa: S608 # made of texts of ours
BEGIN = f"""
WITH added AS ({EVENTS})
INSERT INTO crew_runs (run_id, epoch, status, row, ended_at, paused_until, events) VALUES ($1, $2, $6, $7, $8, $9, $10)
ON CONFLICT (run_id) DO UPDATE SET epoch = greatest(crew_runs.epoch, excluded.epoch), status = excluded.status,
    row = excluded.row, ended_at = excluded.ended_at, paused_until = excluded.paused_until, events = excluded.events
RETURNING epoch
"""  # noqa: S608 # as above
TAKE = """
UPDATE crew_runs SET epoch = epoch + 1 WHERE run_id = $1 AND status = 'running' AND epoch = coalesce($2, epoch)
RETURNING row, epoch
"""


class PostgresStore:
    """Keeps runs in a database; see `prepare` of `postgres_server` for its schema."""

    shared = True

    def __init__(self, url: str, connections: int = 5) -> None:
        """`url`: postgresql://…; `connections`.

        At most so many at once, besides the one that listens.
        """
        self.server = PostgresServer(url, connections)
        # what is written is written, also when nobody waits for it
        self._writing: set[asyncio.Task[int]] = set()

    @property
    def failing(self) -> str | None:
        """See RunStore."""
        return self.server.failing

    def append(self, write: Write) -> "asyncio.Future[int]":
        """See RunStore."""
        task = asyncio.create_task(self._append(write))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        # who no longer waits must not cancel it
        return asyncio.shield(task)

    async def _append(self, write: Write) -> int:
        async with self.server.connection(writes=True) as connection:
            try:
                epoch = await (
                    _begin(connection, write)
                    if write.epoch is None
                    else _go_on(connection, write, write.epoch)
                )
            except asyncpg.UniqueViolationError as error:
                # an earlier try may have been written, though the connection broke before it could
                # say so
                if write.epoch is None or not await _is_there(connection, write):
                    raise StoreError(
                        f"run {write.run_id}: event {write.records[0].seq} is there already"
                    ) from error
                epoch = write.epoch
        if epoch:
            self.server.ring(write.run_id, write.records[-1].seq)
        return epoch

    async def take(self, run_id: str, epoch: int | None = None) -> Taken | None:
        """See RunStore."""
        async with self.server.connection(writes=True) as connection:
            found = await connection.fetchrow(TAKE, run_id, epoch)
        return Taken(ROW.validate_json(found["row"]), found["epoch"]) if found else None

    async def ask_to_cancel(self, run_id: str) -> None:
        """See RunStore."""
        await self._execute("UPDATE crew_runs SET to_cancel = true WHERE run_id = $1", run_id)

    async def to_cancel(self, limit: int = 500) -> list[RunRow]:
        """See RunStore."""
        return await self._rows(
            "SELECT row FROM crew_runs WHERE to_cancel AND ended_at IS NULL ORDER BY run_id DESC LIMIT $1",
            limit,
        )

    async def row(self, run_id: str) -> RunRow | None:
        """See RunStore."""
        rows = await self._rows("SELECT row FROM crew_runs WHERE run_id = $1", run_id)
        return rows[0] if rows else None

    async def rows(
        self, status: Status | None = None, limit: int = 50, after: str | None = None
    ) -> list[RunRow]:
        """See RunStore."""
        # a status stands in the text, so that the index of open runs can be used
        wanted = f"status = '{status}' AND " if status is not None else ""
        sql = f"SELECT row FROM crew_runs WHERE {wanted}run_id < $1 ORDER BY run_id DESC LIMIT $2"  # noqa: S608 # Status is a Literal
        return await self._rows(sql, after or AFTER_ALL, limit)

    async def count(self, status: Status) -> int:
        """See RunStore."""
        async with self.server.connection() as connection:
            return int(
                await connection.fetchval(
                    f"SELECT count(*) FROM crew_runs WHERE status = '{status}'"
                )
            )  # as above

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunStore."""
        sql = "SELECT seq, public, event FROM crew_events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
        async with self.server.connection() as connection:
            return [Record(*values) for values in await connection.fetch(sql, run_id, after, limit)]

    async def receipt(self, key: str) -> Receipt | None:
        """See RunStore."""
        async with self.server.connection() as connection:
            found = await connection.fetchrow("SELECT * FROM crew_receipts WHERE key = $1", key)
        return Receipt(*found) if found else None

    async def due(self, now: str, limit: int = 50) -> list[RunRow]:
        """See RunStore."""
        return await self._rows(
            "SELECT row FROM crew_runs WHERE paused_until <= $1 ORDER BY paused_until LIMIT $2",
            now,
            limit,
        )

    async def sweep(
        self, events_before: str, most_events: int, runs_before: str, limit: int = 200
    ) -> int:
        """See RunStore."""
        # another process may sweep at the same time: what it is at is skipped
        skip = "LIMIT $2 FOR UPDATE SKIP LOCKED"
        async with self.server.connection(writes=True) as connection, connection.transaction():
            sql = f"SELECT run_id FROM crew_runs WHERE ended_at < $1 {skip}"  # noqa: S608 # a text of ours
            gone = [run_id for (run_id,) in await connection.fetch(sql, runs_before, limit)]
            for table in ("crew_events", "crew_receipts", "crew_runs"):
                await connection.execute(f"DELETE FROM {table} WHERE run_id = ANY($1)", gone)  # noqa: S608 # names of ours
            sql = f"SELECT run_id, events FROM crew_runs WHERE ended_at < $1 AND events - swept > 0 {skip}"  # noqa: S608
            old = await connection.fetch(sql, events_before, limit)
            sql = f"SELECT run_id, events - $1 FROM crew_runs WHERE events - swept > $1 AND ended_at IS NOT NULL {skip}"  # noqa: S608
            old += await connection.fetch(sql, most_events, limit)
            for run_id, last in old:
                await connection.execute(
                    "DELETE FROM crew_events WHERE run_id = $1 AND seq <= $2", run_id, last
                )
                await connection.execute(
                    "UPDATE crew_runs SET swept = greatest(swept, $2) WHERE run_id = $1",
                    run_id,
                    last,
                )
            over = "SELECT run_id, place FROM crew_listeners WHERE until < now() FOR UPDATE SKIP LOCKED"
            await connection.execute(
                f"DELETE FROM crew_listeners WHERE (run_id, place) IN ({over})"
            )  # a text of ours
        return len(gone) + len(old)

    async def attend(self, place: str, run_ids: Sequence[str], seconds: float) -> None:
        """See RunStore."""
        # the database's clock, for those of several machines differ
        sql = """INSERT INTO crew_listeners SELECT run_id, $1, now() + $3 * interval '1 second' FROM unnest($2::text[]) AS run_id
            ON CONFLICT (run_id, place) DO UPDATE SET until = excluded.until"""
        await self._execute(sql, place, run_ids, seconds)

    async def attended(self, run_id: str, place: str) -> bool:
        """See RunStore."""
        sql = "SELECT EXISTS (SELECT FROM crew_listeners WHERE run_id = $1 AND place <> $2 AND until > now())"
        async with self.server.connection() as connection:
            return bool(await connection.fetchval(sql, run_id, place))

    async def probe(self) -> None:
        """See RunStore."""
        await self._execute(
            "INSERT INTO crew_probe VALUES (true, now()) ON CONFLICT (one) DO UPDATE SET at = now()"
        )

    async def keep_revision(self, revision: str, files: str) -> None:
        """See RunStore."""
        await self._execute(
            "INSERT INTO crew_revisions VALUES ($1, $2) ON CONFLICT DO NOTHING", revision, files
        )

    async def revision(self, revision: str) -> str | None:
        """See RunStore."""
        async with self.server.connection() as connection:
            found: str | None = await connection.fetchval(
                "SELECT files FROM crew_revisions WHERE revision = $1", revision
            )
        return found

    def claim(self, *, serves: bool) -> bool:
        """See RunStore: never, for the queue says what is to be taken up."""
        return False

    def alone(self) -> bool:
        """See RunStore."""
        return False

    def watching(self, run_id: str) -> AbstractContextManager[Watch]:
        """See RunStore."""
        return self.server.watching(run_id)

    def pass_on(self, run_id: str, public: str) -> None:
        """See RunStore."""
        if len(public.encode()) + len(run_id) < MOST_PAYLOAD_BYTES:
            self.server.ring(run_id, None, public)

    async def aclose(self) -> None:
        """See RunStore."""
        if self._writing:
            await asyncio.wait(self._writing)
        await self.server.aclose()

    async def _execute(self, sql: str, *values: Any) -> None:
        async with self.server.connection(writes=True) as connection:
            await connection.execute(sql, *values)

    async def _rows(self, sql: str, *values: Any) -> list[RunRow]:
        async with self.server.connection() as connection:
            return [ROW.validate_json(text) for (text,) in await connection.fetch(sql, *values)]


async def _go_on(connection: Connection, write: Write, epoch: int) -> int:
    """What the one who writes a run adds.

    One statement, so that it takes one trip to the server.
    """
    sql, values = (ADD, ()) if write.row is None else (ADD_AND_SET, _columns(write.row))
    if not await connection.fetchval(sql, write.run_id, epoch, *_records(write), *values):
        raise LostRun
    return epoch


async def _begin(connection: Connection, write: Write) -> int:
    """The first write of a stretch."""
    assert write.row is not None, "a stretch begins with its row"
    epoch = FIRST_EPOCH
    if write.expected is None and write.receipt is None:
        # the usual one takes one trip
        return await _begun(connection, write, write.row, epoch)
    async with connection.transaction():
        if write.expected is not None:
            sql = "SELECT status, epoch FROM crew_runs WHERE run_id = $1 FOR UPDATE"
            found = await connection.fetchrow(sql, write.run_id)
            if found is None or found["status"] != write.expected:
                return 0
            epoch = found["epoch"] + 1
        if (receipt := write.receipt) is not None:
            sql = "INSERT INTO crew_receipts VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1"
            if not await connection.fetchval(
                sql, receipt.key, receipt.fingerprint, receipt.run_id, receipt.before
            ):
                return 0
        return await _begun(connection, write, write.row, epoch)


async def _begun(connection: Connection, write: Write, row: RunRow, epoch: int) -> int:
    return int(
        await connection.fetchval(BEGIN, write.run_id, epoch, *_records(write), *_columns(row))
    )


async def _is_there(connection: Connection, write: Write) -> bool:
    sql = "SELECT seq, public, event FROM crew_events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3"
    found = await connection.fetch(sql, write.run_id, write.records[0].seq, len(write.records))
    return [Record(*values) for values in found] == list(write.records)


def _records(write: Write) -> tuple[list[int], list[str], list[str]]:
    records = write.records
    return [r.seq for r in records], [r.public for r in records], [r.event for r in records]


def _columns(row: RunRow) -> tuple[object, ...]:
    return row.status, to_json(row).decode(), row.ended_at, row.paused_until, row.events
