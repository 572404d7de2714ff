"""One SQLite file: WAL, shared commits, and its schema's migrations.

Brief work is done in the event loop itself while the disk is quick: handing it to a thread and back
takes longer than it does. All else, and all while the disk is slow or another process has the file
locked, is done by a thread.
"""

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from crew.backends.sqlite.checkpoints import FULL_SECONDS, MAX_LOG_BYTES, Checkpoints
from crew.journal.errors import StoreError, StoreUnavailable

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(
    path.read_text() for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)
# others lock the file for moments only; runs wait longer by themselves
BUSY_SECONDS = 1.0
# brief work that took longer than this, and this for each job, has waited for the disk
SLOW_SECONDS = 0.003
JOB_SECONDS = 0.0003
# for how long the thread takes brief work over
TAKEOVER_SECONDS = 1.0
T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    # who waits for it, if anybody does
    loop: asyncio.AbstractEventLoop | None
    future: "asyncio.Future[Any] | None"
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
            self._checkpoints = Checkpoints(path, self._restart_log)
        except StoreError:
            self._connection.close()
            raise
        except sqlite3.Error as error:
            self._connection.close()
            raise StoreError(f"the database {path} cannot be used: {error}") from error
        # brief work of this turn of the event loop
        self._brief: list[_Job] = []
        # until when, on the machine's clock, the thread does that, too
        self._slow_until = 0.0
        # the next commit begins the log anew, and waits for the disk
        self._begins_anew = False
        # whoever has it may use the connection; the event loop never waits for it
        self._lock = threading.Lock()
        # jobs that the thread has, and has not done; counted by several threads
        self._given = 0
        self._counting = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="crew-sqlite", daemon=True)
        self._thread.start()

    def do(
        self,
        work: Callable[[sqlite3.Connection], T],
        *,
        writes: bool = False,
        brief: bool = False,
    ) -> "asyncio.Future[T]":
        """Do some work on the connection, even if nobody waits for it; raises StoreError.

        Args:
            work: is given the connection; it is done again where a shared transaction fails.
            writes: it needs a transaction.
            brief: it takes microseconds, however much the file has.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError("the database is closed"))
            return future
        job = _Job(work, loop, future, writes)
        if not brief or self._given or (self._brief and self._brief[0].loop is not loop):
            self._give([job])
            return future
        self._brief.append(job)
        if len(self._brief) == 1:
            # not at once: what else comes in this turn goes into the same transaction
            loop.call_soon(self._do_brief)
        return future

    async def truncate_log(self) -> None:
        """Bring the log of writes into the file and empty it: what was deleted stands there."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def work(connection: sqlite3.Connection) -> Any:
            # one that is under way would keep this one from being made
            self._checkpoints.wait(FULL_SECONDS)
            return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

        self._give([_Job(work, loop, future, writes=False, alone=True)])
        await future

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        self._closed = True
        self._give([])
        await asyncio.to_thread(self._checkpoints.close)
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _do_brief(self) -> None:
        """In the event loop: what has come in this turn, in one transaction."""
        if not self._brief:
            return
        started = time.monotonic()
        is_slow = started < self._slow_until or self._begins_anew
        if self._given or is_slow or not self._lock.acquire(blocking=False):
            self._give([])
            return
        jobs, self._brief = self._brief, []
        try:
            outcomes = self._try(jobs)
        except Exception:  # noqa: BLE001 # the thread does it again, and finds out whose fault it is
            self._roll_back()
            outcomes = None
        finally:
            self._lock.release()
        if outcomes is None:
            self._give(jobs)
            return
        now = time.monotonic()
        if now - started > SLOW_SECONDS + len(jobs) * JOB_SECONDS:
            self._slow_until = now + TAKEOVER_SECONDS
        _set_outcomes(list(zip(jobs, outcomes, strict=True)))

    def _give(self, jobs: Sequence[_Job]) -> None:
        """Give jobs to the thread, after those that came before them."""
        waiting, self._brief = self._brief, []
        for job in (*waiting, *jobs):
            self._put(job)

    def _put(self, job: _Job) -> None:
        with self._counting:
            self._given += 1
        self._jobs.put(job)

    def _restart_log(self, seconds: float) -> None:
        """From any thread: between the writes, bring the rest of the log into the file."""

        def work(connection: sqlite3.Connection) -> None:
            if seconds:
                self._checkpoints.wait(seconds)
            # so long for another process that reads
            connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
            is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            self._begins_anew = not is_busy
            if seconds:
                self._checkpoints.waited(in_vain=bool(is_busy))

        self._put(_Job(work, None, None, writes=False, alone=True))

    def _work(self) -> None:
        """The thread: do all that waits, in one transaction, then hand over the results."""
        is_open = True
        while is_open:
            queued = [self._jobs.get()]
            while not self._jobs.empty():
                queued.append(self._jobs.get())
            is_open = None not in queued
            jobs = [job for job in queued if job is not None]
            with self._lock:
                outcomes = self._do_patiently(jobs)
                with self._counting:
                    self._given -= len(jobs)
            for loop in {job.loop for job in jobs if job.loop is not None}:
                own = [pair for pair in outcomes if pair[0].loop is loop]
                # the loop may have ended meanwhile, with nobody waiting
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_set_outcomes, own)
        self._connection.close()

    def _do_patiently(self, jobs: list[_Job]) -> list[tuple[_Job, Any]]:
        """In the thread: jobs with their outcomes; waits where another process has the file."""
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        together = [job for job in jobs if not job.alone]
        alone = [job for job in jobs if job.alone]
        if any(job.writes for job in together):
            outcomes = self._do_together(together)
        else:
            outcomes = [self._do_alone(job) for job in together]
        outcomes += [self._do_alone(job) for job in alone]
        self._connection.execute("PRAGMA busy_timeout = 0")
        return list(zip([*together, *alone], outcomes, strict=True))

    def _try(self, jobs: list[_Job]) -> list[Any]:
        """The jobs, in one transaction if one of them writes; raises what goes wrong."""
        if not any(job.writes for job in jobs):
            return [job.work(self._connection) for job in jobs]
        self._connection.execute("BEGIN IMMEDIATE")
        outcomes = [job.work(self._connection) for job in jobs]
        self._connection.execute("COMMIT")
        self.failing, self._begins_anew = None, False
        self._checkpoints.committed()
        return outcomes

    def _do_together(self, jobs: list[_Job]) -> list[Any]:
        """The jobs in one transaction; each in its own if one of them fails."""
        try:
            return self._try(jobs)
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
            return self._try([job])[0]
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
        if job.future is None or job.future.done():
            # nobody waits for it, or the one who did was cancelled
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
    # a checkpoint waits for the disk: see Checkpoints
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA journal_size_limit = {MAX_LOG_BYTES}")
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
    connection.execute("PRAGMA busy_timeout = 0")
