"""A store in one SQLite file, for one process."""

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from pathlib import Path

from crew.backends.sql.runs import RUN, RUN_ROW, SqlRuns, run_row
from crew.backends.sqlite.database import SqliteDatabase
from crew.backends.sqlite.examination import examine
from crew.backends.sqlite.file import SqliteFile
from crew.backends.sqlite.locks import FileLocks
from crew.backends.sqlite.purging import oldest_end, purge, reach
from crew.backends.sqlite.writing import append
from crew.journal.errors import StoreError
from crew.journal.records.cluster import Watch
from crew.journal.records.rows import (
    MAX_PAGE_BYTES,
    PAGE,
    AppendResult,
    Claim,
    Finding,
    Opened,
    Page,
    PurgeAges,
    Record,
    RunRow,
    StoredReach,
    Write,
)
from tools.clock import SYSTEM_CLOCK, Clock, rfc3339

NEWEST = "SELECT coalesce(max(seq), 0) FROM events WHERE events.run_id = runs.run_id"
DUE_PAUSES = """
UPDATE runs SET given_until = ? WHERE run_id IN (
    SELECT run_id FROM runs WHERE paused_until <= ? AND coalesce(given_until, '') <= ?
    ORDER BY paused_until LIMIT ?
) RETURNING row, paused_until
"""
RECORDS = "SELECT seq, public, event FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
CLAIM = f"""
UPDATE runs SET epoch = epoch + 1, claimed_seq = ({NEWEST}),
    claims = CASE WHEN ({NEWEST}) > claimed_seq THEN 1 ELSE claims + 1 END
WHERE run_id = ? AND status = 'running' AND epoch = coalesce(?, epoch)
RETURNING row, epoch, claims
"""  # noqa: S608 # made of texts of ours


class SqliteStore(SqlRuns):
    """Keeps runs in a file."""

    shared = False

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK, *, upgrades: bool = True) -> None:
        """Open the file, or create it.

        Args:
            path: of the file.
            clock: of the process.
            upgrades: an older schema is brought up to date.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of another version.
        """
        self.path, self.clock = path, clock
        self._file = SqliteFile(path, upgrades=upgrades)
        self._locks = FileLocks(path)
        super().__init__(SqliteDatabase(self._file))

    @property
    def failing(self) -> str | None:
        """See Health."""
        return self._file.failing

    def append(self, write: Write) -> "asyncio.Future[AppendResult]":
        """See RunLog."""
        row_json = RUN_ROW.dump_json(write.row, exclude={"answer"}).decode() if write.row else ""
        return self._file.do(
            lambda connection: append(connection, write, row_json), writes=True, brief=True
        )

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """See RunLog."""
        values = (run_id, epoch)
        found = await self._file.do(
            lambda c: c.execute(CLAIM, values).fetchone(), writes=True, brief=True
        )
        return Claim(RUN_ROW.validate_json(found[0]), found[1], found[2]) if found else None

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        """See RunLog."""
        values = (run_id, after, limit)
        return await self._file.do(lambda c: _page(c.execute(RECORDS, values), limit))

    async def opened(self, run_id: str) -> Opened | None:
        """See RunLog."""

        def read(connection: sqlite3.Connection) -> Opened | None:
            found = connection.execute(RUN.sqlite, (run_id,)).fetchone()
            if found is None:
                return None
            return Opened(
                run_row(*found), _page(connection.execute(RECORDS, (run_id, 0, PAGE)), PAGE)
            )

        return await self._file.do(read)

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """See RunLog."""
        now = self.now()
        values = (rfc3339(now + timedelta(seconds=seconds)), rfc3339(now), rfc3339(now), limit)
        found = await self._file.do(lambda c: c.execute(DUE_PAUSES, values).fetchall(), writes=True)
        in_order = sorted(found, key=lambda pair: str(pair[1]))
        return [RUN_ROW.validate_json(row) for row, _ in in_order]

    async def purge(self, ages: PurgeAges, limit: int = 200) -> int:
        """See Purging."""
        return await self._file.do(lambda c: purge(c, ages, limit), writes=True)

    async def reach(self) -> StoredReach:
        """See Purging."""
        return await self._file.do(reach)

    async def oldest_end(
        self, count: int, kept_since: Mapping[str, str], *, with_events: bool
    ) -> str | None:
        """See Purging."""
        return await self._file.do(
            lambda c: oldest_end(c, count, kept_since, with_events=with_events)
        )

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
