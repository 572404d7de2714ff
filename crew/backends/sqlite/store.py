"""A store in one SQLite file, for one process."""

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sql.audit import SqlAudit
from crew.backends.sql.chores import SqlChores
from crew.backends.sql.conversations import SqlConversations
from crew.backends.sql.grants import SqlGrants
from crew.backends.sql.listing import has_status, select_rows
from crew.backends.sql.outbox import SqlOutbox
from crew.backends.sql.schedules import SqlSchedules
from crew.backends.sqlite.database import SqliteDatabase
from crew.backends.sqlite.examination import examine
from crew.backends.sqlite.file import SqliteFile
from crew.backends.sqlite.locks import FileLocks
from crew.backends.sqlite.purging import oldest_end, purge, reach
from crew.backends.sqlite.writing import append, idempotency_record
from crew.journal.errors import StoreError
from crew.journal.events import CancelReason, RunStatus
from crew.journal.listing import ALL_RUNS, RunFilter, listed_answer
from crew.journal.rows import (
    MAX_PAGE_BYTES,
    PAGE,
    AppendResult,
    Cancellation,
    Claim,
    Finding,
    IdempotencyRecord,
    Newest,
    Opened,
    Page,
    PurgeAges,
    Record,
    RunRow,
    StoredReach,
    Write,
)
from crew.journal.watch import Watch
from tools.clock import SYSTEM_CLOCK, Clock, rfc3339

ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)

TESTS = {
    "owner": "owner = {}",
    "agent_id": "row ->> 'agent_id' = {}",
    "source": "row ->> 'source' = {}",
    "text": "instr(casefold(row ->> 'query'), casefold({})) > 0",
    "since": "row ->> 'started_at' >= {}",
    "until": "row ->> 'started_at' < {}",
}
NEWEST = "SELECT coalesce(max(seq), 0) FROM events WHERE events.run_id = runs.run_id"
NEWEST_OF = f"""
SELECT run_id, status, max(purged_seq, ({NEWEST})) FROM runs
WHERE run_id IN (SELECT value FROM json_each(?))
"""  # noqa: S608 # made of texts of ours
DUE_PAUSES = """
UPDATE runs SET given_until = ? WHERE run_id IN (
    SELECT run_id FROM runs WHERE paused_until <= ? AND coalesce(given_until, '') <= ?
    ORDER BY paused_until LIMIT ?
) RETURNING row, paused_until
"""
RUN = "SELECT row, answer FROM runs WHERE run_id = ?"
RECORDS = "SELECT seq, public, event FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
CLAIM = f"""
UPDATE runs SET epoch = epoch + 1, claimed_seq = ({NEWEST}),
    claims = CASE WHEN ({NEWEST}) > claimed_seq THEN 1 ELSE claims + 1 END
WHERE run_id = ? AND status = 'running' AND epoch = coalesce(?, epoch)
RETURNING row, epoch, claims
"""  # noqa: S608 # made of texts of ours
RELEASE = "UPDATE runs SET claims = claims - 1 WHERE run_id = ? AND epoch = ? AND claims > 0"
CLAIMS = f"""
SELECT run_id, claims FROM runs
WHERE run_id IN (SELECT value FROM json_each(?)) AND claims > 0 AND claimed_seq = ({NEWEST})
"""  # noqa: S608 # as above
STORED_BYTES = "SELECT coalesce(sum(bytes), 0) FROM runs WHERE owner = ? AND bytes > 0"


class SqliteStore:
    """Keeps runs in a file."""

    shared = False

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        """Open the file, or create it.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of a later version.
        """
        self.path, self.clock = path, clock
        self._file = SqliteFile(path)
        self._locks = FileLocks(path)
        database = SqliteDatabase(self._file)
        self.audit = SqlAudit(database)
        self.conversations = SqlConversations(database)
        self.chores = SqlChores(database)
        self.grants = SqlGrants(database)
        self.outbox = SqlOutbox(database)
        self.schedules = SqlSchedules(database)

    @property
    def failing(self) -> str | None:
        """See Health."""
        return self._file.failing

    def append(self, write: Write) -> "asyncio.Future[AppendResult]":
        """See RunLog."""
        row_json = ROW.dump_json(write.row, exclude={"answer"}).decode() if write.row else ""
        return self._file.do(
            lambda connection: append(connection, write, row_json), writes=True, brief=True
        )

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """See RunLog."""
        values = (run_id, epoch)
        found = await self._file.do(
            lambda c: c.execute(CLAIM, values).fetchone(), writes=True, brief=True
        )
        return Claim(ROW.validate_json(found[0]), found[1], found[2]) if found else None

    async def release(self, run_id: str, epoch: int) -> None:
        """See RunLog."""
        values = (run_id, epoch)
        await self._file.do(lambda c: c.execute(RELEASE, values).rowcount, writes=True, brief=True)

    async def claims(self, run_ids: Sequence[str]) -> dict[str, int]:
        """See RunLog."""
        wanted = (to_json(run_ids).decode(),)
        return dict(await self._file.do(lambda c: c.execute(CLAIMS, wanted).fetchall()))

    async def request_cancellation(self, run_id: str, reason: CancelReason) -> None:
        """See Cancellations."""
        sql, values = "UPDATE runs SET to_cancel = ? WHERE run_id = ?", (reason, run_id)
        await self._file.do(lambda c: c.execute(sql, values).rowcount, writes=True)

    async def cancellations(self, limit: int = 500) -> list[Cancellation]:
        """See Cancellations."""
        sql = "SELECT row, to_cancel FROM runs WHERE to_cancel IS NOT NULL AND ended_at IS NULL"
        sql = f"{sql} ORDER BY run_id DESC LIMIT ?"
        found = await self._file.do(lambda c: c.execute(sql, (limit,)).fetchall())
        return [Cancellation(ROW.validate_json(row), reason) for row, reason in found]

    async def row(self, run_id: str) -> RunRow | None:
        """See RunLog."""
        found = await self._file.do(lambda c: c.execute(RUN, (run_id,)).fetchone(), brief=True)
        return _row(*found) if found else None

    async def rows(
        self,
        wanted: RunFilter = ALL_RUNS,
        limit: int = 50,
        after: str | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[RunRow]:
        """See RunLog."""
        sql, values = select_rows(
            "runs", TESTS, "?", wanted, limit, after, oldest_first=oldest_first
        )
        found = await self._file.do(lambda c: c.execute(sql, values).fetchall())
        return [_row(row, listed_answer(answer)) for row, answer in found]

    async def count(self, status: RunStatus) -> int:
        """See RunLog."""
        sql = f"SELECT count(*) FROM runs WHERE {has_status(status)}"  # noqa: S608 # as above
        (found,) = await self._file.do(lambda c: c.execute(sql).fetchone())
        return int(found)

    async def stored_bytes(self, owner: str) -> int:
        """See RunLog."""
        found = await self._file.do(lambda c: c.execute(STORED_BYTES, (owner,)).fetchone())
        return int(found[0])

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        """See RunLog."""
        values = (run_id, after, limit)
        return await self._file.do(lambda c: _page(c.execute(RECORDS, values), limit))

    async def opened(self, run_id: str) -> Opened | None:
        """See RunLog."""

        def read(connection: sqlite3.Connection) -> Opened | None:
            found = connection.execute(RUN, (run_id,)).fetchone()
            if found is None:
                return None
            return Opened(_row(*found), _page(connection.execute(RECORDS, (run_id, 0, PAGE)), PAGE))

        return await self._file.do(read)

    async def newest(self, run_ids: Sequence[str]) -> dict[str, Newest]:
        """See RunLog."""
        wanted = (to_json(run_ids).decode(),)
        found = await self._file.do(lambda c: c.execute(NEWEST_OF, wanted).fetchall())
        return {run_id: Newest(status, seq) for run_id, status, seq in found}

    async def idempotency_record(self, key: str) -> IdempotencyRecord | None:
        """See RunLog."""
        return await self._file.do(
            lambda connection: idempotency_record(connection, key), brief=True
        )

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """See RunLog."""
        now = self.now()
        values = (rfc3339(now + timedelta(seconds=seconds)), rfc3339(now), rfc3339(now), limit)
        found = await self._file.do(lambda c: c.execute(DUE_PAUSES, values).fetchall(), writes=True)
        in_order = sorted(found, key=lambda pair: str(pair[1]))
        return [ROW.validate_json(row) for row, _ in in_order]

    async def purge(self, ages: PurgeAges, limit: int = 200) -> int:
        """See Purging."""
        return await self._file.do(lambda c: purge(c, ages, limit), writes=True)

    async def reach(self) -> StoredReach:
        """See Purging."""
        return await self._file.do(reach)

    async def oldest_end(self, count: int, *, with_events: bool) -> str | None:
        """See Purging."""
        return await self._file.do(lambda c: oldest_end(c, count, with_events=with_events))

    async def announce_listeners(
        self, process: str, run_ids: Sequence[str], seconds: float
    ) -> None:
        """See Cluster: there is no other process."""

    async def has_listeners(self, run_id: str, process: str) -> bool:
        """See Cluster."""
        return False

    async def examine(self) -> list[Finding]:
        """See Health."""
        damage = await self._file.do(lambda c: c.execute("PRAGMA quick_check(1)").fetchone()[0])
        return examine(self.path, damage)

    async def probe(self) -> None:
        """See Health."""

        def write(connection: sqlite3.Connection) -> None:
            # the file's first page, with what it has already: a newer program may have made that
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version}")

        await self._file.do(write, writes=True)

    async def keep_revision(self, revision: str, files: str, now: str) -> None:
        """See RevisionStore."""
        sql = "INSERT INTO revisions VALUES (?, ?, ?)"
        sql = f"{sql} ON CONFLICT (revision) DO UPDATE SET kept_at = excluded.kept_at"
        values = (revision, files, now)
        await self._file.do(lambda c: c.execute(sql, values).rowcount, writes=True)

    async def revision(self, revision: str) -> str | None:
        """See RevisionStore."""
        sql = "SELECT files FROM revisions WHERE revision = ?"
        found = await self._file.do(lambda c: c.execute(sql, (revision,)).fetchone())
        return str(found[0]) if found else None

    def now(self) -> datetime:
        """See Cluster."""
        return self.clock.now()

    def claim_process(self, *, serves: bool) -> bool:
        """See Cluster."""
        if serves and not self._locks.serve():
            raise StoreError(
                f"another process serves from {self.path}: SQLite is for one; "
                "use another folder or CREW_DATABASE_URL"
            )
        if serves:
            # one before it may have been killed between a deletion and this
            self._file.truncate_log_later()
        return self._locks.have_runs(first=serves)

    def alone(self) -> bool:
        """See Cluster."""
        return self._locks.alone()

    async def listen(self) -> None:
        """See Cluster: no other process writes."""

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        """See Cluster."""
        # without notices: what another process writes is found by polling
        return nullcontext(Watch())

    def publish_ephemeral(self, run_id: str, encoded: str) -> None:
        """See Cluster: there is no other process."""

    async def aclose(self) -> None:
        """See RunStore."""
        await self._file.aclose()
        self._locks.release()


def _row(text: str, answer: str | None) -> RunRow:
    return replace(ROW.validate_json(text), answer=answer)


def _page(found: Iterable[tuple[int, str, str]], limit: int) -> Page:
    """Return the first of these events, of which there are up to a limit; see RunLog."""
    page = Page(is_last=False)
    size = 0
    for values in found:
        record = Record(*values)
        size += len(record.public) + len(record.event)
        if page and size > MAX_PAGE_BYTES:
            return page
        page.append(record)
    page.is_last = len(page) < limit
    return page
