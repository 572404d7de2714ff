"""One SQLite file on a thread of its own: WAL, shared commits, and its schema's migrations."""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from crew.journal.errors import StoreError, StoreUnavailable

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(
    path.read_text() for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)
# others lock the file for moments only; runs wait longer by themselves
BUSY_SECONDS = 1.0
# of 4 KiB each
CHECKPOINT_PAGES = 4000
T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    writes: bool
    # by itself, outside of any transaction
    alone: bool = False


class SqliteFile:
    """Works on the file in the order of the calls; writes that wait share a transaction."""

    def __init__(self, path: Path) -> None:
        """Open the file, or create it.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of a later version.
        """
        self.path = path
        self._closed = False
        # why the newest write failed; None if it did not
        self.failing: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # for its owner only; SQLite gives its own files the same rights
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
            )
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

    def do(
        self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False
    ) -> "asyncio.Future[T]":
        """Do some work on the connection, even if nobody waits for it; raises StoreError."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError("the database is closed"))
        else:
            self._jobs.put(_Job(work, loop, future, writes))
        return future

    async def truncate_log(self) -> None:
        """Bring the log of writes into the file and empty it: what was deleted stands there."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def work(connection: sqlite3.Connection) -> Any:
            return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

        self._jobs.put(_Job(work, loop, future, writes=False, alone=True))
        await future

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        """The thread: do all that waits, in one transaction, then hand over the results."""
        is_open = True
        while is_open:
            queued = [self._jobs.get()]
            while not self._jobs.empty():
                queued.append(self._jobs.get())
            is_open = None not in queued
            jobs = [job for job in queued if job is not None and not job.alone]
            alone = [job for job in queued if job is not None and job.alone]
            if any(job.writes for job in jobs):
                outcomes = self._do_together(jobs)
            else:
                outcomes = [self._do_alone(job) for job in jobs]
            outcomes += [self._do_alone(job) for job in alone]
            jobs += alone
            for loop in {job.loop for job in jobs}:
                pairs = zip(jobs, outcomes, strict=True)
                own = [(job, outcome) for job, outcome in pairs if job.loop is loop]
                # the loop may have ended meanwhile, with nobody waiting
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_set_outcomes, own)
        self._connection.close()

    def _do_together(self, jobs: list[_Job]) -> list[Any]:
        """The jobs in one transaction; each in its own if one of them fails."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes = [job.work(self._connection) for job in jobs]
            self._connection.execute("COMMIT")
            self.failing = None
            return outcomes
        except sqlite3.OperationalError as error:
            # no job's fault, and the same for all that write
            self._roll_back()
            unavailable = self._unavailable(error, writes=True)
            return [unavailable if job.writes else self._do_alone(job) for job in jobs]
        except Exception:  # noqa: BLE001 # the job that failed fails alone, below
            self._roll_back()
            return [self._do_alone(job) for job in jobs]

    def _unavailable(self, error: sqlite3.Error, *, writes: bool) -> StoreUnavailable:
        # full, locked, gone: what may pass; a read that fails says nothing about writes
        if writes:
            self.failing = str(error)
        return StoreUnavailable(f"the database {self.path} cannot be used for now: {error}")

    def _do_alone(self, job: _Job) -> Any:
        try:
            if not job.writes:
                return job.work(self._connection)
            self._connection.execute("BEGIN IMMEDIATE")
            outcome = job.work(self._connection)
            self._connection.execute("COMMIT")
            self.failing = None
            return outcome
        except Exception as error:  # noqa: BLE001 # it is raised where this job is awaited
            self._roll_back()
            if isinstance(error, StoreError):
                return error
            if not isinstance(error, sqlite3.OperationalError):
                return StoreError(f"the database {self.path} failed: {error}")
            return self._unavailable(error, writes=job.writes)

    def _roll_back(self) -> None:
        # after some failures SQLite has rolled back by itself
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _set_outcomes(outcomes: list[tuple[_Job, Any]]) -> None:
    for job, outcome in outcomes:
        if job.future.done():
            # the one who waited was cancelled
            continue
        if isinstance(outcome, StoreError):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # its own lower() knows ASCII alone
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    connection.execute("PRAGMA journal_mode = WAL")
    # what is deleted is overwritten: a user may want it gone
    connection.execute("PRAGMA secure_delete = ON")
    # a checkpoint waits for the disk: not after every 4 MB
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    # a commit survives the process at once, and the machine from the next checkpoint on
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        connection.execute("ROLLBACK")
        raise StoreError(
            f"the database {path} is of version {version}, newer than this program's "
            f"{len(MIGRATIONS)}: update crewline, or delete it if its runs are not needed"
        )
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        statement = ""
        for part in script.split(";"):
            statement = f"{statement}{part};"
            # a trigger has semicolons within it
            if sqlite3.complete_statement(statement):
                connection.execute(statement)
                statement = ""
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")
