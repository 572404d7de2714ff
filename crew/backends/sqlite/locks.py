"""Which processes have runs in a database file.

Locks that end with their process, however it ends.
"""

import fcntl
import os
from pathlib import Path


class FileLocks:
    """This process's locks beside a file."""

    def __init__(self, path: Path) -> None:
        """`path`: of the database."""
        self.path = path
        self._held: list[int] = []
        # says that this process has runs in the file
        self._runs: int | None = None

    def serve(self) -> bool:
        """Be the one that serves from the file; False if another is."""
        return self._lock("serving", fcntl.LOCK_EX) is not None

    def have_runs(self, *, first: bool) -> bool:
        """Say that this process has runs.

        Whether no other has (asked only by one that wants to be the `first`).
        """
        handle = self._lock("runs", fcntl.LOCK_EX if first else fcntl.LOCK_SH)
        if handle is None:
            # somebody has runs; others will see that this one has, too
            self._runs = self._lock("runs", fcntl.LOCK_SH)
            return False
        # others may come beside, now that it is known which runs nobody has
        fcntl.flock(handle, fcntl.LOCK_SH)
        self._runs = handle
        return True

    def alone(self) -> bool:
        """Whether no other process has runs now."""
        if self._runs is None:
            return False
        try:
            fcntl.flock(self._runs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held = False
        else:
            held = True
        # a conversion that fails may have let go of it
        fcntl.flock(self._runs, fcntl.LOCK_SH)
        return held

    def release(self) -> None:
        """Have nothing any more."""
        for handle in self._held:
            os.close(handle)
        self._held, self._runs = [], None

    def _lock(self, name: str, kind: int) -> int | None:
        handle = os.open(f"{self.path}.{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        self._held.append(handle)
        return handle
