"""A store in a PostgreSQL database, for any number of processes."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any

import asyncpg

from crew.backends.postgres.budgets import PostgresBudgets
from crew.backends.postgres.database import PostgresDatabase
from crew.backends.postgres.examination import examine, read_state
from crew.backends.postgres.reading import opened_of, page_of
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.statements import (
    ANNOUNCE,
    CLAIM,
    DUE_PAUSES,
    HAS_LISTENERS,
    OLD_EVENTS,
    OLD_LISTENERS,
    OLD_LOADS,
    OLD_REVISIONS,
    OLD_RUNS,
    OLDEST_END_OF_ALL,
    OLDEST_END_WITH_EVENTS,
    OPENED,
    PURGED,
    REACH,
    RECORDS,
    SURPLUS_EVENTS,
)
from crew.backends.postgres.writing import (
    append_events,
    begin_segment,
    is_written,
)
from crew.backends.sql.runs import RUN_ROW, SqlRuns
from crew.journal.errors import StoreError
from crew.journal.records.cluster import Watch
from crew.journal.records.revisions import KEPT_REVISIONS
from crew.journal.records.rows import (
    MAX_PAGE_BYTES,
    PAGE,
    Appended,
    AppendResult,
    Claim,
    Finding,
    Opened,
    Page,
    PurgeAges,
    RunRow,
    StoredReach,
    Write,
)

# of a process's queue, besides the store's
QUEUE_CONNECTIONS = 2


class PostgresStore(SqlRuns):
    """Keeps runs in a database; see `prepare` of `schema`."""

    shared = True

    def __init__(self, server: PostgresServer) -> None:
        """`server`: closed with this store."""
        self.server = server
        database = PostgresDatabase(server)
        super().__init__(database)
        self.budgets = PostgresBudgets(database)
        # a write is finished, even if its caller no longer waits
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
        result: AppendResult | None = None
        async with self.server.connection(writes=True) as connection:
            # after an error its transaction, if it has one, can only end
            with suppress(asyncpg.UniqueViolationError):
                if write.epoch is None:
                    result = await begin_segment(connection, write)
                else:
                    result = await append_events(connection, write, write.epoch)
        if result is None:
            result = await self._written_before(write)
        # a new run is not known to others yet
        is_known = write.epoch is not None or write.expected is not None
        if isinstance(result, Appended) and is_known:
            events = [record.public for record in write.records]
            self.server.notify(write.run_id, write.records[-1].seq, events)
        return result

    async def _written_before(self, write: Write) -> Appended:
        """Return whether an earlier try was written: the connection broke before its answer."""
        if write.epoch is not None:
            async with self.server.connection() as connection:
                if await is_written(connection, write):
                    return Appended(write.epoch)
        raise StoreError(f"run {write.run_id}: event {write.records[0].seq} is there already")

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """See RunLog."""
        async with self.server.connection(writes=True) as connection:
            found = await connection.fetchrow(CLAIM, run_id, epoch)
        if found is None:
            return None
        return Claim(RUN_ROW.validate_json(found["row"]), found["epoch"], found["claims"])

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        """See RunLog."""
        async with self.server.connection() as connection:
            found = await connection.fetch(RECORDS, run_id, after, limit, MAX_PAGE_BYTES)
        return page_of(found, limit)

    async def opened(self, run_id: str) -> Opened | None:
        """See RunLog."""
        async with self.server.connection() as connection:
            return opened_of(await connection.fetch(OPENED, run_id))

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """See RunLog."""
        async with self.server.connection(writes=True) as connection:
            found = await connection.fetch(DUE_PAUSES, limit, seconds)
            self.server.time.set(await connection.fetchval("SELECT clock_timestamp()"))
        in_order = sorted(found, key=lambda pair: str(pair["paused_until"]))
        return [RUN_ROW.validate_json(one["row"]) for one in in_order]

    async def purge(self, ages: PurgeAges, limit: int = 200) -> int:
        """See Purging."""
        async with self.server.connection(writes=True) as connection, connection.transaction():
            kept, of_runs = (
                json.dumps(dict(one)) for one in (ages.kept_since, ages.runs_kept_since)
            )
            found = await connection.fetch(OLD_RUNS, ages.runs_before, limit, of_runs)
            gone = [run_id for (run_id,) in found]
            for table in ("crew_events", "crew_idempotency_records", "crew_runs"):
                sql = f"DELETE FROM {table} WHERE run_id = ANY($1)"  # noqa: S608 # names of ours
                await connection.execute(sql, gone)
            old = await connection.fetch(OLD_EVENTS, ages.events_before, limit, kept)
            old += await connection.fetch(SURPLUS_EVENTS, ages.max_events, limit)
            for run_id, last in old:
                sql = "DELETE FROM crew_events WHERE run_id = $1 AND seq <= $2"
                await connection.execute(sql, run_id, last)
                await connection.execute(PURGED, run_id, last)
            await connection.execute(OLD_LISTENERS)
            await connection.execute(OLD_REVISIONS, ages.revisions_before, KEPT_REVISIONS)
            await connection.execute(OLD_LOADS, KEPT_REVISIONS)
        return len(gone) + len(old)

    async def reach(self) -> StoredReach:
        """See Purging."""
        async with self.server.connection() as connection:
            found = await connection.fetch(REACH)
        return StoredReach(*found[0])

    async def oldest_end(
        self, count: int, kept_since: Mapping[str, str], *, with_events: bool
    ) -> str | None:
        """See Purging."""
        sql = OLDEST_END_WITH_EVENTS if with_events else OLDEST_END_OF_ALL
        async with self.server.connection() as connection:
            found: str | None = await connection.fetchval(sql, count, json.dumps(dict(kept_since)))
        # behind the last one
        return f"{found}~" if found is not None else None

    async def announce_listeners(
        self, process: str, run_ids: Sequence[str], seconds: float
    ) -> None:
        """See Cluster."""
        await self._execute(ANNOUNCE, process, run_ids, seconds)

    async def has_listeners(self, run_id: str, process: str) -> bool:
        """See Cluster."""
        async with self.server.connection() as connection:
            return bool(await connection.fetchval(HAS_LISTENERS, run_id, process))

    async def examine(self) -> list[Finding]:
        """See Health."""
        async with self.server.connection() as connection:
            state = await read_state(connection, self.server.address)
        # with the one that listens, and those of the queue
        return examine(state, self.server.connections + 1 + QUEUE_CONNECTIONS)

    async def probe(self) -> None:
        """See Health."""
        sql = "INSERT INTO crew_probe VALUES (true, now())"
        await self._execute(f"{sql} ON CONFLICT (one) DO UPDATE SET at = now()")

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
        self.server.notify(run_id, None, [encoded])

    async def aclose(self) -> None:
        """See RunStore."""
        if self._writing:
            await asyncio.wait(self._writing)
        await self.server.aclose()

    async def _execute(self, sql: str, *values: Any) -> None:
        async with self.server.connection(writes=True) as connection:
            await connection.execute(sql, *values)
