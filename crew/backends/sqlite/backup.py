"""A copy of a database file, taken while others write to it."""

import hashlib
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from crew.journal.errors import StoreError

# of a chunk that is hashed
CHUNK_BYTES = 1 << 20
PART = ".part"
ABOUT = """
CREATE TABLE backup (
    taken_at TEXT NOT NULL, program TEXT NOT NULL, schema INTEGER NOT NULL,
    runs INTEGER NOT NULL, events INTEGER NOT NULL, revision TEXT NOT NULL
)
"""
HAS_LOADS = "SELECT 1 FROM sqlite_master WHERE name = 'loads'"
# that was served last; "" where none was yet
REVISION = "SELECT coalesce((SELECT revision FROM loads ORDER BY number DESC LIMIT 1), '')"


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was taken and checked."""

    path: Path
    size_bytes: int
    # hexadecimal
    sha256: str
    runs: int
    events: int


def back_up(source: Path, target: Path, taken_at: str, program: str) -> Backup:
    """Copy a database to a file that does not exist yet, and check the copy.

    All pages are copied in one step: in several, the copy begins anew whenever another process
    writes, and never ends beside a busy server. Writers wait for a part of that time. The file
    appears under its name only once it is complete.

    Args:
        source: the database; a server may be at work on it.
        target: the file to make.
        taken_at: the time, RFC 3339.
        program: the version of this program.

    Raises:
        StoreError: there is no database, the file exists, or the copy cannot be made or is bad.
    """
    if not source.is_file():
        raise StoreError(f"there is no database {source}, so there is nothing to back up")
    if os.path.lexists(target):
        raise StoreError(f"{target} exists already; give another name")
    part = target.with_name(target.name + PART)
    try:
        # what an earlier backup has left that was killed
        part.unlink(missing_ok=True)
        # for its owner only, as the database is
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        runs, events = _copy(source, part, taken_at, program)
        digest, size = _digest_of(part)
        # unlike a rename it refuses a file that has come meanwhile
        os.link(part, target)
        flush_folder(target.parent)
    except sqlite3.Error as error:
        raise StoreError(f"the backup {target} could not be made: {error}") from error
    except OSError as error:
        raise StoreError(f"the backup {target} could not be made: {error.strerror}") from error
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                part.with_name(part.name + ending).unlink(missing_ok=True)
    return Backup(target, size, digest, runs, events)


def _copy(source: Path, part: Path, taken_at: str, program: str) -> tuple[int, int]:
    """Copy all pages, check them, and say how many runs and events there are."""
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        with closing(sqlite3.connect(source)) as database:
            database.backup(copy, pages=-1)
        # one file: a copy has no log beside it
        copy.execute("PRAGMA journal_mode = DELETE")
        found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError(f"the copy of {source} is damaged ({found}); nothing was kept")
        schema = copy.execute("PRAGMA user_version").fetchone()[0]
        runs, events = (
            copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 # our own
            for table in ("runs", "events")
        )
        # of a backup of which this is one
        copy.execute("DROP TABLE IF EXISTS backup")
        copy.execute(ABOUT)
        # an older schema has none
        is_noted = copy.execute(HAS_LOADS).fetchone() is not None
        revision = copy.execute(REVISION).fetchone()[0] if is_noted else ""
        about = (taken_at, program, schema, runs, events, revision)
        copy.execute("INSERT INTO backup VALUES (?, ?, ?, ?, ?, ?)", about)
    return runs, events


def _digest_of(path: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file, which is on the disk then, and its size."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def flush_folder(folder: Path) -> None:
    """Have the disk know the names of a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
