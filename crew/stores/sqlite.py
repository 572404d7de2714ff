"""A store in one SQLite file, for one process: the standard library's sqlite3 on a thread of its own, WAL, grouped commits."""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_json

from crew.errors import StoreError, StoreUnavailable
from crew.state import Status
from crew.stores.contract import Receipt, Record, RunRow
from crew.stores.locks import FileLocks

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(path.read_text() for path in sorted((Path(__file__).parent / "migrations" / "sqlite").glob("*.sql")))
# others hold the file for moments only; runs wait longer by themselves
BUSY_SECONDS = 1.0
# greater than every run_id
AFTER_ALL = "~"
# of 4 KiB each
CHECKPOINT_PAGES = 4000
ROW: TypeAdapter[RunRow] = TypeAdapter(RunRow)
T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    writes: bool


class SqliteStore:
    """Keeps runs in a file; several writes that wait at once share a transaction."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of a later version.
        """
        self.path = path
        self._locks = FileLocks(path)
        self._closed = False
        self.failing: str | None = None
        # this process holds the file's lock for servers
        self.serving = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # for its owner only; SQLite gives its own files the same rights
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"the database {path} cannot be used: {error}") from error
        try:
            _prepare(self._connection, path)
        except StoreError:
            self._connection.close()
            raise
        except sqlite3.Error as error:
            self._connection.close()
            raise StoreError(f"the database {path} cannot be used: {error}") from error
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="crew-sqlite", daemon=True)
        self._thread.start()

    def append(
        self,
        run_id: str,
        records: Sequence[Record],
        row: RunRow | None = None,
        expected: Status | None = None,
        receipt: Receipt | None = None,
    ) -> "asyncio.Future[bool]":
        """See RunStore."""
        packed = to_json(row).decode() if row is not None else ""

        def work(connection: sqlite3.Connection) -> bool:
            if expected is not None:
                found = connection.execute("SELECT status FROM runs WHERE run_id = ?", (run_id,)).fetchone()
                if found is None or found[0] != expected:
                    return False
            if receipt is not None:
                sql = "INSERT OR IGNORE INTO receipts VALUES (?, ?, ?, ?)"
                values = (receipt.key, receipt.fingerprint, receipt.run_id, receipt.before)
                if connection.execute(sql, values).rowcount == 0:
                    return False
            connection.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?)", [(run_id, r.seq, r.public, r.event) for r in records]
            )
            if row is not None:
                connection.execute(
                    """INSERT INTO runs (run_id, status, row, ended_at, paused_until, events) VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT (run_id) DO UPDATE SET status = excluded.status, row = excluded.row,
                        ended_at = excluded.ended_at, paused_until = excluded.paused_until, events = excluded.events""",
                    (run_id, row.status, packed, row.ended_at, row.paused_until, row.events),
                )
            return True

        return self._do(work, writes=True)

    async def row(self, run_id: str) -> RunRow | None:
        """See RunStore."""
        found = await self._do(lambda c: c.execute("SELECT row FROM runs WHERE run_id = ?", (run_id,)).fetchone())
        return ROW.validate_json(found[0]) if found else None

    async def rows(self, status: Status | None = None, limit: int = 50, after: str | None = None) -> list[RunRow]:
        """See RunStore."""
        # a status stands in the text, so that the index of open runs can be used
        wanted = f"status = '{status}' AND " if status is not None else ""
        sql = f"SELECT row FROM runs WHERE {wanted}run_id < ? ORDER BY run_id DESC LIMIT ?"  # noqa: S608 # Status is a Literal
        found = await self._do(lambda c: c.execute(sql, (after or AFTER_ALL, limit)).fetchall())
        return [ROW.validate_json(text) for (text,) in found]

    async def count(self, status: Status) -> int:
        """See RunStore."""
        (found,) = await self._do(lambda c: c.execute(f"SELECT count(*) FROM runs WHERE status = '{status}'").fetchone())  # noqa: S608 # as above
        return int(found)

    async def records(self, run_id: str, after: int = 0, limit: int = 500) -> list[Record]:
        """See RunStore."""
        sql = "SELECT seq, public, event FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
        found = await self._do(lambda c: c.execute(sql, (run_id, after, limit)).fetchall())
        return [Record(*values) for values in found]

    async def receipt(self, key: str) -> Receipt | None:
        """See RunStore."""
        found = await self._do(lambda c: c.execute("SELECT * FROM receipts WHERE key = ?", (key,)).fetchone())
        return Receipt(*found) if found else None

    async def due(self, now: str, limit: int = 50) -> list[RunRow]:
        """See RunStore."""
        sql = "SELECT row FROM runs WHERE paused_until <= ? ORDER BY paused_until LIMIT ?"
        found = await self._do(lambda c: c.execute(sql, (now, limit)).fetchall())
        return [ROW.validate_json(text) for (text,) in found]

    async def sweep(self, events_before: str, most_events: int, runs_before: str, limit: int = 200) -> int:
        """See RunStore."""

        def work(connection: sqlite3.Connection) -> int:
            gone = connection.execute("SELECT run_id FROM runs WHERE ended_at < ? LIMIT ?", (runs_before, limit)).fetchall()
            for table in ("events", "receipts", "runs"):
                connection.executemany(f"DELETE FROM {table} WHERE run_id = ?", gone)  # noqa: S608 # names of ours
            sql = "SELECT events, run_id FROM runs WHERE ended_at < ? AND events - swept > 0 LIMIT ?"
            old = connection.execute(sql, (events_before, limit)).fetchall()
            sql = "SELECT events - ?, run_id FROM runs WHERE events - swept > ? AND ended_at IS NOT NULL LIMIT ?"
            old += connection.execute(sql, (most_events, most_events, limit)).fetchall()
            connection.executemany("DELETE FROM events WHERE seq <= ? AND run_id = ?", old)
            connection.executemany("UPDATE runs SET swept = max(swept, ?) WHERE run_id = ?", old)
            return len(gone) + len(old)

        return await self._do(work, writes=True)

    async def probe(self) -> None:
        """See RunStore."""
        # the file's first page is written, with what it says already
        await self._do(lambda c: c.execute(f"PRAGMA user_version = {len(MIGRATIONS)}"), writes=True)

    async def keep_revision(self, revision: str, files: str) -> None:
        """See RunStore."""
        sql = "INSERT OR IGNORE INTO revisions VALUES (?, ?)"
        await self._do(lambda c: c.execute(sql, (revision, files)).rowcount, writes=True)

    async def revision(self, revision: str) -> str | None:
        """See RunStore."""
        sql = "SELECT files FROM revisions WHERE revision = ?"
        found = await self._do(lambda c: c.execute(sql, (revision,)).fetchone())
        return str(found[0]) if found else None

    def claim(self, *, alone: bool) -> bool:
        """Say that this process has runs in the file, until it ends, however it ends.

        Args:
            alone: this process serves from the file (`serving` tells whether no other does), and wants to know whether
                it may take up the runs that are `running` in the file.

        Returns:
            Whether no other process has runs in the file.
        """
        if alone:
            self.serving = self._locks.serve()
        return (self.serving or not alone) and self._locks.have_runs(first=alone)

    def alone(self) -> bool:
        """See RunStore."""
        return self._locks.alone()

    async def aclose(self) -> None:
        """See RunStore."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)
        self._locks.release()

    def _do(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError("the database is closed"))
        else:
            self._jobs.put(_Job(work, loop, future, writes))
        return future

    def _work(self) -> None:
        """The thread: take all that waits, write it in one transaction, then tell those who wait."""
        going = True
        while going:
            jobs = [self._jobs.get()]
            while not self._jobs.empty():
                jobs.append(self._jobs.get())
            going = None not in jobs
            todo = [job for job in jobs if job is not None]
            done = self._grouped(todo) if any(job.writes for job in todo) else [self._alone(job) for job in todo]
            for loop in {job.loop for job in todo}:
                # the loop may have ended meanwhile, with nobody left to tell
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(
                        _tell, [(job, outcome) for job, outcome in zip(todo, done, strict=True) if job.loop is loop]
                    )
        self._connection.close()

    def _grouped(self, jobs: list[_Job]) -> list[Any]:
        """The jobs in one transaction; each in its own if one of them fails."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            done = [job.work(self._connection) for job in jobs]
            self._connection.execute("COMMIT")
            self.failing = None
            return done
        except sqlite3.OperationalError as error:
            # nobody's fault, and the same for all who write
            self._roll_back()
            unavailable = self._unavailable(error, writes=True)
            return [unavailable if job.writes else self._alone(job) for job in jobs]
        except Exception:  # noqa: BLE001 # whoever is to blame finds out alone, below
            self._roll_back()
            return [self._alone(job) for job in jobs]

    def _unavailable(self, error: sqlite3.Error, *, writes: bool) -> StoreUnavailable:
        # full, locked, gone, broken off: what may be otherwise in a moment; a read that fails says nothing of writes
        self.failing = str(error) if writes else self.failing
        return StoreUnavailable(f"the database {self.path} cannot be used for now: {error}")

    def _alone(self, job: _Job) -> Any:
        try:
            if not job.writes:
                return job.work(self._connection)
            self._connection.execute("BEGIN IMMEDIATE")
            done = job.work(self._connection)
            self._connection.execute("COMMIT")
            self.failing = None
            return done
        except Exception as error:  # noqa: BLE001 # it belongs to who waits for this job
            self._roll_back()
            if not isinstance(error, sqlite3.OperationalError):
                return StoreError(f"the database {self.path} failed: {error}")
            return self._unavailable(error, writes=job.writes)

    def _roll_back(self) -> None:
        # after some failures SQLite has rolled back by itself
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _tell(outcomes: list[tuple[_Job, Any]]) -> None:
    for job, outcome in outcomes:
        if job.future.done():
            # who waited was cancelled
            continue
        if isinstance(outcome, StoreError):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # a checkpoint waits for the disk: not after every 4 MB
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    # what is committed outlives the process at once, and the machine from the next checkpoint on
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        connection.execute("ROLLBACK")
        raise StoreError(
            f"the database {path} is of version {version}, newer than this program's {len(MIGRATIONS)}: update crewline"
        )
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        for statement in script.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")
