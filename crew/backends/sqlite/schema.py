"""How a file is made ready: its settings, and its schema's migrations."""

import math
import sqlite3
import time
from pathlib import Path

from crew.backends.sqlite.checkpoints import MAX_LOG_BYTES
from crew.journal.errors import OlderSchema, StoreError

# One script a version, in the order of their names; a database of a later version is refused.
MIGRATIONS = tuple(
    path.read_text() for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)
# how long a process waits for others that make the same file ready, and between two tries
PREPARE_SECONDS, RETRY_SECONDS = 10.0, 0.01


def prepare(connection: sqlite3.Connection, path: Path, *, upgrades: bool) -> None:
    """Set a connection up, and make the schema of a new file.

    `upgrades`: bring an older schema to this version, too.

    Raises:
        sqlite3.Error, StoreError: it is no such database, or is of another version.
    """
    # its own lower() knows ASCII alone
    connection.create_function("casefold", 1, str.casefold, deterministic=True)
    if not _has_power(connection):
        connection.create_function("power", 2, math.pow, deterministic=True)
    connection.execute(f"PRAGMA busy_timeout = {PREPARE_SECONDS * 1000:.0f}")
    _use_log(connection)
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
    if 0 < version < len(MIGRATIONS) and not upgrades:
        connection.execute("ROLLBACK")
        raise OlderSchema(str(path), version, len(MIGRATIONS))
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


def _has_power(connection: sqlite3.Connection) -> bool:
    """Return whether this SQLite was built with functions of mathematics."""
    try:
        connection.execute("SELECT power(1, 1)")
    except sqlite3.OperationalError:
        return False
    return True


def _use_log(connection: sqlite3.Connection) -> None:
    """Have writes go to a log; for this SQLite does not wait until others have done the same."""
    deadline = time.monotonic() + PREPARE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # the lowest byte is the kind
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
        time.sleep(RETRY_SECONDS)
