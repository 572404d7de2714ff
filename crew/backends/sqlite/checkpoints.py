"""Brings the log of writes into the file, beside the writes, on a thread of its own."""

import contextlib
import queue
import sqlite3
import threading
import time
from math import inf
from pathlib import Path
from typing import Protocol

# the log is brought into the file when it is larger
MAX_LOG_BYTES = 16 * 2**20
# from here on writes wait until all of it is
FULL_LOG_BYTES = 4 * MAX_LOG_BYTES
# its size is looked at after so many commits
COMMITS = 16
# how long they wait for a checkpoint that is under way, and how long not after that was in vain:
# another process may read
FULL_SECONDS, IN_VAIN_SECONDS = 10.0, 60.0


class Restart(Protocol):
    """Has the log begin anew, between two writes; called from any thread."""

    def __call__(self, *, patiently: bool) -> None:
        """Request it; `patiently`: writes wait for it, and `waited` gets the outcome."""


class Checkpoints:
    """By itself SQLite makes a checkpoint in the commit that fills the log, which waits for it.

    `journal_size_limit` must be MAX_LOG_BYTES: the first commit after a checkpoint cuts the log to
    that, so it is larger only while it has more than that to be brought in.
    """

    def __init__(self, path: Path, restart: Restart) -> None:
        """Of a file that exists.

        Args:
            path: of the file.
            restart: lets the one who writes have the log begin anew.

        Raises:
            sqlite3.Error: it cannot be opened.
        """
        self._log, self._restart = path.with_name(path.name + "-wal"), restart
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._commits = 0
        # on the machine's clock, from when on writes may be made to wait
        self._may_wait_from = 0.0
        # what the thread is asked: False ends it
        self._orders: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._thread = threading.Thread(target=self._work, name="crew-checkpoints", daemon=True)
        self._thread.start()

    def committed(self) -> None:
        """Note a commit: write the log into the database if it is too large."""
        self._commits += 1
        if self._commits % COMMITS or not self._thread.is_alive():
            return
        size = 0
        with contextlib.suppress(OSError):
            size = self._log.stat().st_size
        if size > MAX_LOG_BYTES and self._is_idle.is_set():
            self._is_idle.clear()
            self._orders.put(True)
        if size > FULL_LOG_BYTES and time.monotonic() > self._may_wait_from:
            # they come faster than the disk takes them; once, until it is known what came of it
            self._may_wait_from = inf
            self._restart(patiently=True)

    def wait(self, seconds: float) -> None:
        """Wait until none is under way: SQLite makes no two at once, and does not wait for one."""
        self._is_idle.wait(seconds)

    def waited(self, *, in_vain: bool) -> None:
        """Note that writes have waited, for the log to begin anew."""
        self._may_wait_from = time.monotonic() + (IN_VAIN_SECONDS if in_vain else 0.0)

    def close(self) -> None:
        """Finish the one that is under way."""
        self._orders.put(False)
        self._thread.join()
        self._connection.close()

    def _work(self) -> None:
        while self._orders.get():
            # what fails is tried again with the next commits
            with contextlib.suppress(sqlite3.Error):
                # nearly all of it, while others write
                checkpoint(self._connection, "PASSIVE", 0.0)
            # the rest by the one who writes: as commits never stop, the log would never be empty
            self._restart(patiently=False)
            self._is_idle.set()


def checkpoint(connection: sqlite3.Connection, mode: str, seconds: float) -> bool:
    """Make a checkpoint, waiting so long for other processes that read; whether it was made."""
    connection.execute(f"PRAGMA busy_timeout = {seconds * 1000:.0f}")
    is_busy, *_ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return not is_busy
