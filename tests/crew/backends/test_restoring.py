"""A backup takes the place of a database: wherever that is interrupted, there is one of both."""

import asyncio
import itertools
import os
import signal
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crew import SqliteStore
from crew.backends.conformance.samples import begin_run
from crew.backends.sqlite.backup import back_up
from crew.backends.sqlite.locks import FileLocks
from crew.backends.sqlite.restoring import restore_backup
from crew.journal.errors import StoreError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TAKEN_AT = "2026-01-01T00:00:00.000Z"


async def fill(path: Path, *run_ids: str) -> None:
    """Begin runs, and leave them at work."""
    store = SqliteStore(path)
    for run_id in run_ids:
        await begin_run(store, run_id)
    await store.aclose()


def held(path: Path) -> dict[str, str]:
    """What is at work in a database that is whole, and since when each is held."""

    async def rows(store: SqliteStore) -> dict[str, str]:
        found = {row.run_id: row.held_at for row in await store.rows()}
        await store.aclose()
        return found

    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return asyncio.run(rows(SqliteStore(path)))


def restore_until_killed(backup: Path, database: Path, step: int) -> bool:
    """Restore in another process that is killed at a step; whether it was."""
    if (child := os.fork()) == 0:
        steps = itertools.count(1)

        def kill_at_step(event: str, given: object) -> None:
            if event.startswith(("os.", "open", "sqlite3.")) and next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_at_step)
        restore_backup(backup, database, NOW, crew=None, runs=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_a_restore_that_is_killed_leaves_the_old_or_the_new(tmp_path: Path):
    """At each step that touches files; the next restore finds nothing in its way."""
    asyncio.run(fill(tmp_path / "first.db", "r1"))
    backup = tmp_path / "backup.db"
    back_up(tmp_path / "first.db", backup, TAKEN_AT, "1")
    found = []
    for step in itertools.count(1):
        database = tmp_path / str(step) / "crew.db"
        asyncio.run(fill(database, "r1", "r2"))
        was_killed = restore_until_killed(backup, database, step)
        runs = held(database)
        assert runs in ({"r1": "", "r2": ""}, {"r1": TAKEN_AT}), step
        found.append(len(runs))
        later = NOW.replace(year=2027)
        done = restore_backup(backup, database, later, crew=None, runs=True)
        assert (done.held.runs, held(database)) == (1, {"r1": TAKEN_AT}), step
        assert done.before is not None
        assert set(held(done.before)) == ({"r1", "r2"} if len(runs) == 2 else {"r1"}), step
        assert [one.name for one in database.parent.glob("*.restoring*")] == [], step
        if not was_killed:
            break
    assert len(found) > 15
    assert found == sorted(found, reverse=True), "from one step on it is the new one"


def test_a_reader_keeps_it_from_being_lost(tmp_path: Path):
    """What the log alone has would not be in the database that is kept: it is refused, until it has gone."""
    database, backup = tmp_path / "crew.db", tmp_path / "backup.db"
    asyncio.run(fill(database, "r1"))
    back_up(database, backup, TAKEN_AT, "1")
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchone()
        asyncio.run(fill(database, "r2"))
        with pytest.raises(StoreError, match="another program reads"):
            restore_backup(backup, database, NOW, crew=None, runs=True)
    done = restore_backup(backup, database, NOW, crew=None, runs=True)
    assert done.before is not None
    assert set(held(done.before)) == {"r1", "r2"}


def test_a_second_restore_leaves_the_first_one_alone(tmp_path: Path):
    """It is refused, and takes nothing away."""
    database, backup = tmp_path / "crew.db", tmp_path / "backup.db"
    asyncio.run(fill(database, "r1"))
    back_up(database, backup, TAKEN_AT, "1")
    part = database.with_name("crew.db.restoring")
    locks = FileLocks(database)
    assert locks.have_all()
    part.write_bytes(b"of the first one")
    with pytest.raises(StoreError, match="a process has runs"):
        restore_backup(backup, database, NOW, crew=None, runs=True)
    assert part.read_bytes() == b"of the first one"
    locks.release()
    assert restore_backup(backup, database, NOW, crew=None, runs=True).runs == 1
