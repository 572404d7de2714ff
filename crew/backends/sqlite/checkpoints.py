"""Brings the log of writes into the file, beside the writes, on a thread of its own."""

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

# the log is brought into the file when it is larger
MAX_LOG_BYTES = 16 * 2**20
# its size is looked at after so many commits
COMMITS = 16


class Checkpoints:
    """By itself SQLite makes a checkpoint in the commit that fills the log, which waits for it.

    `journal_size_limit` must be MAX_LOG_BYTES: the first commit after a checkpoint cuts the log to
    that, so it is larger only while it has more than that to be brought in.
    """

    def __init__(self, path: Path, restart: Callable[[], None]) -> None:
        """Of a file that exists.

        Args:
            path: of the file.
            restart: lets the one who writes have the log begin anew; called from another thread.

        Raises:
            sqlite3.Error: it cannot be opened.
        """
        self._log, self._restart = path.with_name(path.name + "-wal"), restart
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._commits = 0
        # what the thread is asked: False ends it
        self._orders: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._thread = threading.Thread(target=self._work, name="crew-checkpoints", daemon=True)
        self._thread.start()

    def committed(self) -> None:
        """After each commit: the log is brought in if it is too large."""
        self._commits += 1
        if self._commits % COMMITS or not self._is_idle.is_set():
            return
        with contextlib.suppress(OSError):
            if self._log.stat().st_size > MAX_LOG_BYTES:
                self._is_idle.clear()
                self._orders.put(True)

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
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            # the rest by the one who writes: as commits never stop, the log would never be empty
            self._restart()
            self._is_idle.set()
