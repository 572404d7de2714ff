"""Which processes have runs in a database file: locks that end with their process."""

import fcntl
import os
from pathlib import Path


class FileLocks:
    """This process's locks beside a file."""

    def __init__(self, path: Path) -> None:
        """`path`: of the database."""
        self.path = path
        self._handles: list[int] = []
        # locked by every process that has runs in the file
        self._runs: int | None = None

    def serve(self) -> bool:
        """Lock the file for the one process that serves from it; False if another does."""
        return self._lock("serving", fcntl.LOCK_EX) is not None

    def have_runs(self, *, first: bool) -> bool:
        """Announce that this process has runs.

        Args:
            first: this process wants to be the only one.

        Returns:
            Whether no other process has runs, where `first` asks for it.
        """
        handle = self._lock("runs", fcntl.LOCK_EX if first else fcntl.LOCK_SH)
        if handle is None:
            # another process has runs; it will see that this one has, too
            self._runs = self._lock("runs", fcntl.LOCK_SH)
            return False
        # others may share the lock, now that it is known which runs are not played
        fcntl.flock(handle, fcntl.LOCK_SH)
        self._runs = handle
        return True

    def have_all(self) -> bool:
        """Lock the file for this process alone; False if another one has runs."""
        return self.serve() and self._lock("runs", fcntl.LOCK_EX) is not None

    def alone(self) -> bool:
        """Return whether no other process has runs now."""
        if self._runs is None:
            return False
        try:
            fcntl.flock(self._runs, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_alone = True
        except OSError:
            is_alone = False
        # a conversion that fails may have released the lock
        fcntl.flock(self._runs, fcntl.LOCK_SH)
        return is_alone

    def release(self) -> None:
        """Release all locks."""
        for handle in self._handles:
            os.close(handle)
        self._handles, self._runs = [], None

    def _lock(self, name: str, kind: int) -> int | None:
        path = f"{self.path}.{name}.lock"
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        self._handles.append(handle)
        return handle
