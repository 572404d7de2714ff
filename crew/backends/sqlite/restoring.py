"""A backup of a database file that takes the place of the present one."""

import asyncio
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crew.backends.sqlite.backup import flush_folder
from crew.backends.sqlite.locks import FileLocks
from crew.backends.sqlite.schema import MIGRATIONS
from crew.backends.sqlite.store import SqliteStore
from crew.journal.errors import StoreError
from crew.journal.records.rows import HeldWork
from tools.clock import rfc3339

PART = ".restoring"
# what SQLite keeps beside a file
BESIDE = ("-wal", "-shm", "-journal")
# of the newest runs of a backup, from which it is known which crews it is of
LOOKED_AT = 1000
TAKEN_AT = "SELECT taken_at FROM backup ORDER BY rowid DESC LIMIT 1"
CREWS = f"""
SELECT DISTINCT crew FROM (
    SELECT json_extract(row, '$.crew') AS crew FROM runs ORDER BY run_id DESC LIMIT {LOOKED_AT}
)
"""  # noqa: S608 # a number of ours


@dataclass(frozen=True, slots=True)
class Restored:
    """A database that is as it was when a backup of it was taken."""

    # when that was, RFC 3339
    taken_at: str
    runs: int
    # where the one of before is; None: there was none
    before: Path | None
    held: HeldWork


def restore_backup(
    source: Path, target: Path, now: datetime, *, crew: str | None, runs: bool
) -> Restored:
    """Put a backup in the place of a database, which is kept beside it under another name.

    At each moment there is one of both under the name of the database, and each as a whole.

    Args:
        source: the backup; it stays as it is.
        target: the database; there may be none yet.
        now: the time.
        crew: the name of the crew that has its runs in it; None: it is not known.
        runs: whether runs that were at work wait for a person; see Restoring.

    Raises:
        StoreError: a process has the database, or the file is no whole backup of this crew that
            this program can read; nothing has changed.
    """
    if not source.is_file():
        raise StoreError(f"there is no file {source} to restore")
    if target.exists() and source.samefile(target):
        raise StoreError(f"{source} is the database itself; give the file of a backup")
    locks = FileLocks(target)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not locks.have_all():
            raise StoreError(
                f"a process has runs in {target}: stop `crew serve` and other commands first"
            )
        return _restore(source, target, now, crew=crew, runs=runs)
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be restored: {error}") from error
    except OSError as error:
        raise StoreError(f"{source} cannot be restored: {error.strerror}") from error
    finally:
        locks.release()


def _restore(
    source: Path, target: Path, now: datetime, *, crew: str | None, runs: bool
) -> Restored:
    """Do what `restore_backup` says, as the only process that has the database."""
    part = target.with_name(target.name + PART)
    _forget(part)
    try:
        taken_at, count = _copy(source, part, crew)
        held = asyncio.run(_hold(part, taken_at, runs=runs))
        before = _replace(part, target, now)
    finally:
        with suppress(OSError):
            _forget(part)
    return Restored(taken_at, count, before, held)


def _copy(source: Path, part: Path, crew: str | None) -> tuple[str, int]:
    """Copy a backup, check the copy, and say when it was taken, and how many runs it has."""
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as backup:
            backup.backup(copy, pages=-1)
        copy.execute("PRAGMA journal_mode = DELETE")
        found = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreError(f"{source} is damaged ({found}); nothing was changed")
        tables = {name for (name,) in copy.execute("SELECT name FROM sqlite_master")}
        version: int = copy.execute("PRAGMA user_version").fetchone()[0]
        if not version or "runs" not in tables:
            raise StoreError(f"{source} is no backup of a crew's database")
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{source} is of version {version}, newer than this program's {len(MIGRATIONS)}: "
                "update crewline first"
            )
        crews = {name for (name,) in copy.execute(CREWS)}
        if crew is not None and crews and crew not in crews:
            names = ", ".join(sorted(str(one) for one in crews))
            raise StoreError(f"{source} has the runs of {names}, and this crew is {crew}")
        count: int = copy.execute("SELECT count(*) FROM runs").fetchone()[0]
        modified = datetime.fromtimestamp(source.stat().st_mtime, UTC)
        taken_at = rfc3339(modified)
        if "backup" in tables:
            # a backup that was made of a restored one says it of both
            taken_at = str(copy.execute(TAKEN_AT).fetchone()[0])
            copy.execute("DROP TABLE backup")
    return taken_at, count


async def _hold(part: Path, taken_at: str, *, runs: bool) -> HeldWork:
    """Bring the copy to this version, and see to it that it does nothing a second time."""
    store = SqliteStore(part)
    try:
        return await store.hold(taken_at, runs=runs)
    finally:
        await store.aclose()


def _replace(part: Path, target: Path, now: datetime) -> Path | None:
    """Keep the database under another name, and put the part in its place."""
    before, is_damaged = None, False
    if target.exists():
        try:
            with closing(sqlite3.connect(target, isolation_level=None)) as database:
                # its log comes into the file, which is all of it then; unless another program reads
                is_busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            # it cannot be read: what there is of it is kept as it is
            is_busy, is_damaged = False, True
        if is_busy:
            raise StoreError(f"another program reads {target}: nothing was changed; end it first")
        before = target.with_name(f"{target.name}.before-{now:%Y%m%dT%H%M%SZ}")
        # unlike a rename it leaves no moment without a database
        os.link(target, before)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    for ending in BESIDE:
        beside = target.with_name(target.name + ending)
        if is_damaged and before is not None and beside.exists():
            os.link(beside, before.with_name(before.name + ending))
        beside.unlink(missing_ok=True)
    part.replace(target)
    flush_folder(target.parent)
    return before


def _forget(part: Path) -> None:
    """Delete what is left of a restore that did not come to its end."""
    for ending in ("", *BESIDE):
        part.with_name(part.name + ending).unlink(missing_ok=True)
