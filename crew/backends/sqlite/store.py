"""A store in one SQLite file, for one process."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.backends.sqlite.file import MIGRATIONS, SqliteFile
from crew.backends.sqlite.locks import FileLocks
from crew.errors import LostRun, StoreError
from crew.journal.state import Status
from crew.journal.store import FIRST_EPOCH, Receipt, Record, RunRow, Taken, Write
from crew.journal.watch import Watch

# greater than every run_id
AFTER_ALL = "~"
ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)


class SqliteStore:
    """Keeps runs in a file."""

    shared = False

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of a later version.
        """
        self.path = path
        self._file = SqliteFile(path)
        self._locks = FileLocks(path)

    @property
    def failing(self) -> str | None:
        """See RunStore."""
        return self._file.failing

    def append(self, write: Write) -> "asyncio.Future[int]":
        """See RunStore."""
        run_id, row, receipt = write.run_id, write.row, write.receipt
        packed = to_json(row).decode() if row is not None else ""

        def work(connection: sqlite3.Connection) -> int:
            found = connection.execute(
                "SELECT status, epoch FROM runs WHERE run_id = ?", (run_id,)
            ).fetchone()
            status, epoch = found or (None, FIRST_EPOCH)
            if write.epoch is not None and write.epoch != epoch:
                raise LostRun
            if write.expected is not None:
                if status != write.expected:
                    return 0
                epoch += 1
            if receipt is not None:
                sql = "INSERT OR IGNORE INTO receipts VALUES (?, ?, ?, ?)"
                values = (receipt.key, receipt.fingerprint, receipt.run_id, receipt.before)
                if connection.execute(sql, values).rowcount == 0:
                    return 0
            connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?)",
                [(run_id, r.seq, r.public, r.event) for r in write.records],
            )
            if row is not None:
                connection.execute(
                    """INSERT INTO runs (run_id, status, row, ended_at, paused_until, events, epoch) VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, row = excluded.row, ended_at = excluded.ended_at,
                        paused_until = excluded.paused_until, events = excluded.events, epoch = excluded.epoch""",
                    (run_id, row.status, packed, row.ended_at, row.paused_until, row.events, epoch),
                )
            return int(epoch)

        return self._file.do(work, writes=True)

    async def take(self, run_id: str, epoch: int | None = None) -> Taken | None:
        """See RunStore."""
        sql = """UPDATE runs SET epoch = epoch + 1 WHERE run_id = ? AND status = 'running' AND epoch = coalesce(?, epoch)
            RETURNING row, epoch"""
        found = await self._file.do(
            lambda c: c.execute(sql, (run_id, epoch)).fetchone(), writes=True
        )
        return Taken(ROW.validate_json(found[0]), found[1]) if found else None

    async def ask_to_cancel(self, run_id: str) -> None:
        """See RunStore."""
        sql = "UPDATE runs SET to_cancel = 1 WHERE run_id = ?"
        await self._file.do(lambda c: c.execute(sql, (run_id,)).rowcount, writes=True)

    async def to_cancel(self, limit: int = 500) -> list[RunRow]:
        """See RunStore."""
        sql = (
            "SELECT row FROM runs WHERE to_cancel AND ended_at IS NULL ORDER BY run_id DESC LIMIT ?"
        )
        found = await self._file.do(lambda c: c.execute(sql, (limit,)).fetchall())
        return [ROW.validate_json(text) for (text,) in found]

    async def row(self, run_id: str) -> RunRow | None:
        """See RunStore."""
        found = await self._file.do(
            lambda c: c.execute("SELECT row FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        )
        return ROW.validate_json(found[0]) if found else None

    async def rows(
        self, status: Status | None = None, limit: int = 50, after: str | None = None
    ) -> list[RunRow]:
        """See RunStore."""
        # a status stands in the text, so that the index of open runs can be used
        wanted = f"status = '{status}' AND " if status is not None else ""
        sql = f"SELECT row FROM runs WHERE {wanted}run_id < ? ORDER BY run_id DESC LIMIT ?"  # noqa: S608 # Status is a Literal
        found = await self._file.do(
            lambda c: c.execute(sql, (after or AFTER_ALL, limit)).fetchall()
        )
        return [ROW.validate_json(text) for (text,) in found]

    async def count(self, status: Status) -> int:
        """See RunStore."""
        sql = f"SELECT count(*) FROM runs WHERE status = '{status}'"  # noqa: S608 # as above
        (found,) = await self._file.do(lambda c: c.execute(sql).fetchone())
        return int(found)

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunStore."""
        sql = "SELECT seq, public, event FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
        found = await self._file.do(lambda c: c.execute(sql, (run_id, after, limit)).fetchall())
        return [Record(*values) for values in found]

    async def receipt(self, key: str) -> Receipt | None:
        """See RunStore."""
        found = await self._file.do(
            lambda c: c.execute("SELECT * FROM receipts WHERE key = ?", (key,)).fetchone()
        )
        return Receipt(*found) if found else None

    async def due(self, now: str, limit: int = 50) -> list[RunRow]:
        """See RunStore."""
        sql = "SELECT row FROM runs WHERE paused_until <= ? ORDER BY paused_until LIMIT ?"
        found = await self._file.do(lambda c: c.execute(sql, (now, limit)).fetchall())
        return [ROW.validate_json(text) for (text,) in found]

    async def sweep(
        self, events_before: str, most_events: int, runs_before: str, limit: int = 200
    ) -> int:
        """See RunStore."""

        def work(connection: sqlite3.Connection) -> int:
            gone = connection.execute(
                "SELECT run_id FROM runs WHERE ended_at < ? LIMIT ?", (runs_before, limit)
            ).fetchall()
            for table in ("events", "receipts", "runs"):
                connection.executemany(f"DELETE FROM {table} WHERE run_id = ?", gone)  # noqa: S608 # names of ours
            sql = (
                "SELECT events, run_id FROM runs WHERE ended_at < ? AND events - swept > 0 LIMIT ?"
            )
            old = connection.execute(sql, (events_before, limit)).fetchall()
            sql = "SELECT events - ?, run_id FROM runs WHERE events - swept > ? AND ended_at IS NOT NULL LIMIT ?"
            old += connection.execute(sql, (most_events, most_events, limit)).fetchall()
            connection.executemany("DELETE FROM events WHERE seq <= ? AND run_id = ?", old)
            connection.executemany("UPDATE runs SET swept = max(swept, ?) WHERE run_id = ?", old)
            return len(gone) + len(old)

        return await self._file.do(work, writes=True)

    async def attend(self, place: str, run_ids: Sequence[str], seconds: float) -> None:
        """See RunStore: to nobody."""

    async def attended(self, run_id: str, place: str) -> bool:
        """See RunStore."""
        return False

    async def probe(self) -> None:
        """See RunStore."""
        # the file's first page is written, with what it says already
        await self._file.do(
            lambda c: c.execute(f"PRAGMA user_version = {len(MIGRATIONS)}"), writes=True
        )

    async def keep_revision(self, revision: str, files: str) -> None:
        """See RunStore."""
        sql = "INSERT OR IGNORE INTO revisions VALUES (?, ?)"
        await self._file.do(lambda c: c.execute(sql, (revision, files)).rowcount, writes=True)

    async def revision(self, revision: str) -> str | None:
        """See RunStore."""
        sql = "SELECT files FROM revisions WHERE revision = ?"
        found = await self._file.do(lambda c: c.execute(sql, (revision,)).fetchone())
        return str(found[0]) if found else None

    def claim(self, *, serves: bool) -> bool:
        """See RunStore."""
        if serves and not self._locks.serve():
            raise StoreError(
                f"another process serves from {self.path}: SQLite is for one; use another folder or CREW_DATABASE_URL"
            )
        return self._locks.have_runs(first=serves)

    def alone(self) -> bool:
        """See RunStore."""
        return self._locks.alone()

    def watching(self, run_id: str) -> AbstractContextManager[Watch]:
        """See RunStore."""
        # nobody rings: what another process writes is found by looking
        return nullcontext(Watch())

    def pass_on(self, run_id: str, public: str) -> None:
        """See RunStore: to nobody, since one process has the file to itself."""

    async def aclose(self) -> None:
        """See RunStore."""
        await self._file.aclose()
        self._locks.release()
