"""One SQLite file: who works on it when, and shared commits.

Brief work is done in the event loop itself while the disk is quick: handing it to a thread and back
takes longer than it does. All else, and all while the disk is slow or another process has the file
locked, is done by a thread.
"""

import asyncio
import contextlib
import os
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from crew.backends.sqlite.checkpoints import FULL_SECONDS, Checkpoints, checkpoint
from crew.backends.sqlite.schema import prepare
from crew.journal.errors import StoreError, StoreUnavailable

# others lock the file for moments only; runs wait longer by themselves
BUSY_SECONDS = 1.0
# brief work that took longer than this, and this for each job, has waited for the disk
SLOW_SECONDS = 0.003
JOB_SECONDS = 0.0003
# for how long the thread takes brief work over, the first time; twice as long each time after that
TAKEOVER_SECONDS, MAX_TAKEOVER_SECONDS = 1.0, 60.0
CLOSED = "the database is closed"
# with less room a write fails
LEAST_BYTES = 100_000
T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    # who waits for it, if there is one
    loop: asyncio.AbstractEventLoop | None
    future: "asyncio.Future[Any] | None"
    writes: bool
    # by itself, outside of any transaction
    alone: bool = False


class SqliteFile:
    """Works on the file in the order of the calls; writes that wait share a transaction."""

    def __init__(self, path: Path, *, upgrades: bool = True) -> None:
        """Open the file, or create it; `upgrades`: an older schema is brought up to date.

        Raises:
            StoreError: it cannot be opened, is no such database, or is of another version.
        """
        self.path = path
        self._closed = False
        # why the newest write failed; None if it did not
        self.failing: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # for its owner only; SQLite gives its own files the same rights
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the database {path} cannot be used: {_reason(path, error)}"
            ) from error
        try:
            prepare(self._connection, path, upgrades=upgrades)
            self._checkpoints = Checkpoints(path, self._restart_log)
        except StoreError:
            self._connection.close()
            raise
        except sqlite3.Error as error:
            self._connection.close()
            raise StoreError(
                f"the database {path} cannot be used: {_reason(path, error)}"
            ) from error
        # the event loop that does brief work; others give theirs to the thread
        self._home: asyncio.AbstractEventLoop | None = None
        # brief work of this turn of it
        self._brief: list[_Job] = []
        # until when, on the machine's clock, the thread does that, too; for how long the next time
        self._slow_until, self._takeover = 0.0, TAKEOVER_SECONDS
        # the next commit begins the log anew, and waits for the disk
        self._begins_anew = False
        # the log has, or may have, what was deleted
        self._to_empty = False
        # its holder may use the connection; the event loop never waits for it
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
        """Do some work on the connection, even if its caller no longer waits; raises StoreError.

        Args:
            work: is given the connection; it is done again where a shared transaction fails.
            writes: it needs a transaction.
            brief: it takes microseconds, however much the file has.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError(CLOSED))
        else:
            self._add(_Job(work, loop, future, writes), loop, brief=brief)
        return future

    def _add(self, job: _Job, loop: asyncio.AbstractEventLoop, *, brief: bool) -> None:
        with self._counting:
            # brief work is done by the first loop, while it lives
            is_new = self._home is None or self._home.is_closed()
            if is_new:
                self._home = loop
        if is_new:
            # the one before it may have left some
            self._give([])
        if self._home is not loop:
            self._put(job)
        elif not brief or self._given:
            self._give([job])
        else:
            self._brief.append(job)
            if len(self._brief) == 1:
                # not at once: what else comes in this turn goes into the same transaction
                loop.call_soon(self._do_brief)

    async def truncate_log(self) -> None:
        """Bring the log of writes into the file and empty it: what was deleted stands there.

        As soon as no other process reads, if one does. Raises StoreError.
        """

        def work(_: sqlite3.Connection) -> None:
            # one that is under way would keep this one from being made
            self._checkpoints.wait(FULL_SECONDS)
            self._to_empty = not self._begin_log_anew("TRUNCATE", BUSY_SECONDS)

        if self._closed:
            raise StoreError(CLOSED)
        self.truncate_log_later()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._add(_Job(work, loop, future, writes=False, alone=True), loop, brief=False)
        await future

    def truncate_log_later(self) -> None:
        """Truncate the log with the next work that is queued."""
        self._to_empty = True

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        self._closed = True
        self._give([])
        await asyncio.to_thread(self._checkpoints.close)
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _do_brief(self) -> None:
        """Do what has come in this turn, in one transaction, in the event loop."""
        if not self._brief:
            return
        started = time.monotonic()
        waits = started < self._slow_until or self._begins_anew or self._to_empty
        if self._given or waits or not self._lock.acquire(blocking=False):
            self._give([])
            return
        jobs, self._brief = self._brief, []
        outcomes = None
        try:
            # what fails is done again by the thread, which finds out whose fault it is
            with contextlib.suppress(Exception):
                outcomes = self._try(jobs)
        finally:
            # also at Ctrl-C
            if outcomes is None:
                self._roll_back()
                self._give(jobs)
            self._lock.release()
        if outcomes is None:
            return
        now = time.monotonic()
        if now - started > SLOW_SECONDS + len(jobs) * JOB_SECONDS:
            self._slow_until = now + self._takeover
            # a thread that computes makes it slow, too, for as long as it does
            self._takeover = min(2 * self._takeover, MAX_TAKEOVER_SECONDS)
        else:
            self._takeover = TAKEOVER_SECONDS
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

    def _restart_log(self, *, patiently: bool) -> None:
        """Bring the rest of the log into the file between the writes; from any thread."""

        def work(_: sqlite3.Connection) -> None:
            if not patiently:
                self._begin_log_anew("RESTART", 0.0)
                return
            is_done = False
            try:
                self._checkpoints.wait(FULL_SECONDS)
                is_done = self._begin_log_anew("RESTART", BUSY_SECONDS)
            finally:
                self._checkpoints.waited(in_vain=not is_done)

        self._put(_Job(work, None, None, writes=False, alone=True))

    def _begin_log_anew(self, mode: str, seconds: float) -> bool:
        """Make such a checkpoint in the thread, unless another process reads for longer."""
        is_done = checkpoint(self._connection, mode, seconds)
        self._begins_anew = self._begins_anew or is_done
        return is_done

    def _work(self) -> None:
        """Do all that waits, in one transaction, then hand over the results; runs as the thread."""
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
                # the loop may have ended meanwhile, without a caller
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_set_outcomes, own)
        self._connection.close()

    def _do_patiently(self, jobs: list[_Job]) -> list[tuple[_Job, Any]]:
        """Do jobs in the thread, with their outcomes; waits while another process has the file."""
        self._connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        together = [job for job in jobs if not job.alone]
        alone = [job for job in jobs if job.alone]
        if any(job.writes for job in together):
            outcomes = self._do_together(together)
        else:
            outcomes = [self._do_alone(job) for job in together]
        outcomes += [self._do_alone(job) for job in alone]
        if self._to_empty:
            with contextlib.suppress(sqlite3.Error):
                self._to_empty = not self._begin_log_anew("TRUNCATE", 0.0)
        self._connection.execute("PRAGMA busy_timeout = 0")
        return list(zip([*together, *alone], outcomes, strict=True))

    def _try(self, jobs: list[_Job]) -> list[Any]:
        """Return the jobs, in one transaction if one of them writes; raises what goes wrong."""
        if not any(job.writes for job in jobs):
            return [job.work(self._connection) for job in jobs]
        self._connection.execute("BEGIN IMMEDIATE")
        outcomes = [job.work(self._connection) for job in jobs]
        self._connection.execute("COMMIT")
        self.failing, self._begins_anew = None, False
        self._checkpoints.committed()
        return outcomes

    def _do_together(self, jobs: list[_Job]) -> list[Any]:
        """Return the jobs in one transaction; each in its own if one of them fails."""
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
        reason = _reason(self.path, error)
        return StoreUnavailable(f"the database {self.path} cannot be used for now: {reason}")

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
            # it has no caller, or that was cancelled
            continue
        if isinstance(outcome, StoreError):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)


def _reason(path: Path, error: Exception) -> str:
    """Return why a file cannot be used: SQLite calls a full disk an I/O error as well."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(path.parent).free < LEAST_BYTES:
            return f"{error}: the disk is full; make room on it"
    return str(error)
