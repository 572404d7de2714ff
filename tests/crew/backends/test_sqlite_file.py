"""One SQLite file: what the event loop does itself, and what a thread does."""

import asyncio
import multiprocessing
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crew.backends.conformance.samples import DAY, begin_run
from crew.backends.sqlite.checkpoints import COMMITS, FULL_LOG_BYTES, MAX_LOG_BYTES
from crew.backends.sqlite.file import SqliteFile
from crew.backends.sqlite.purging import MOST_EVENTS
from crew.backends.sqlite.schema import prepare
from crew.backends.sqlite.store import SqliteStore
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.records.rows import NOTHING_OLD

TABLE = "CREATE TABLE IF NOT EXISTS numbers (number INTEGER, text TEXT)"
# a commit of so much takes longer than any that is taken for quick
LARGE = 64 * 2**20


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    made = SqliteFile(tmp_path / "x.db")
    await made.do(lambda c: c.execute(TABLE), writes=True)
    yield made
    await made.aclose()


def insert(connection: sqlite3.Connection, number: int, text: str = "") -> str:
    """By which thread it is inserted."""
    connection.execute("INSERT INTO numbers VALUES (?, ?)", (number, text))
    return threading.current_thread().name


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [one for (one,) in connection.execute("SELECT number FROM numbers ORDER BY rowid")]


def write(file: SqliteFile, number: int, text: str = "") -> "asyncio.Future[str]":
    return file.do(lambda c: insert(c, number, text), writes=True, brief=True)


async def test_brief_work_is_done_in_the_event_loop(file: SqliteFile):
    """Other work is done by the thread; all in the order of the calls."""
    own = threading.current_thread().name
    assert await write(file, 1) == own
    read = file.do(numbers)
    waits = [write(file, 2), write(file, 3)]
    assert await read == [1]
    assert await asyncio.gather(*waits) == ["crew-sqlite"] * 2
    assert await file.do(numbers, brief=True) == [1, 2, 3]


async def test_what_comes_in_one_turn_shares_a_transaction(file: SqliteFile):
    """But for work that fails: that fails alone, whoever does it."""
    changes = file.do(lambda c: c.total_changes, brief=True)
    together = [write(file, number) for number in range(3)]
    before = await changes
    assert await file.do(lambda c: c.total_changes) - before == 3
    wrong = file.do(lambda c: insert(c, 9) and numbers(c)[99], writes=True, brief=True)
    good = write(file, 3)
    results = await asyncio.gather(*together, wrong, good, return_exceptions=True)
    assert [isinstance(one, StoreError) for one in results] == [False] * 3 + [True, False]
    assert await file.do(numbers) == [0, 1, 2, 3]


async def test_a_slow_disk_does_not_hold_up_the_event_loop(file: SqliteFile):
    """After one commit that took long, the thread does the next ones."""
    own = threading.current_thread().name
    assert await write(file, 1, "x" * LARGE) == own
    assert await write(file, 2) == "crew-sqlite"


async def test_a_locked_file_does_not_hold_up_the_event_loop(file: SqliteFile):
    """The thread waits, for a while; the loop goes on meanwhile."""
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waits = []
    # the thread has the first ones soon, and waits; if the loop waited for it, they would fail
    for _ in range(100):
        waits.append(write(file, 1))
        await asyncio.sleep(0)
    other.execute("COMMIT")
    assert await asyncio.gather(*waits) == ["crew-sqlite"] * 100
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        await write(file, 2)
    assert file.failing is not None
    other.execute("ROLLBACK")
    other.close()
    await write(file, 3)
    assert await file.do(numbers) == [*[1] * 100, 3]
    assert [file.failing] == [None]


async def test_the_log_of_writes_is_brought_in(file: SqliteFile):
    """However many follow one another without a pause."""
    log = file.path.with_name("x.db-wal")
    text = "x" * 100_000
    sizes = []
    for number in range(20 * MAX_LOG_BYTES // len(text)):
        await write(file, number, text)
        if number % COMMITS == 0:
            sizes.append(log.stat().st_size)
    assert max(sizes) > MAX_LOG_BYTES, "else nothing was to be brought in"
    assert min(sizes[len(sizes) // 2 :]) <= MAX_LOG_BYTES + COMMITS * 2 * len(text)
    assert max(sizes) <= 1.2 * FULL_LOG_BYTES


def test_one_event_loop_after_the_other(tmp_path: Path):
    """What the first has asked for is done, though it ended before."""
    file = SqliteFile(tmp_path / "x.db")

    async def first() -> None:
        await file.do(lambda c: c.execute(TABLE), writes=True)
        write(file, 1)

    async def second() -> list[int]:
        await write(file, 2)
        return await file.do(numbers)

    asyncio.run(first())
    assert asyncio.run(second()) == [1, 2]
    asyncio.run(file.aclose())


def open_new_files(folder: Path, together: threading.Barrier) -> None:
    """In a process of its own, at the same moment as others do."""
    for number in range(100):
        together.wait(60)
        connection = sqlite3.connect(folder / f"{number}.db", isolation_level=None)
        prepare(connection, folder, upgrades=True)
        connection.close()


def test_several_processes_open_a_new_file_at_once(tmp_path: Path):
    """Each waits for those that make it ready; SQLite itself does not for all of it."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(4)
    processes = [
        context.Process(target=open_new_files, args=(tmp_path, together)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4


async def test_what_was_accepted_is_finished(tmp_path: Path):
    """By `aclose`; nothing is accepted after it."""
    file = SqliteFile(tmp_path / "x.db")
    await file.do(lambda c: c.execute(TABLE), writes=True)
    waits = write(file, 1)
    await file.aclose()
    assert await waits == "crew-sqlite"
    with pytest.raises(StoreError, match="closed"):
        await write(file, 2)
    with pytest.raises(StoreError, match="closed"):
        await file.truncate_log()


async def test_what_was_deleted_is_gone_from_the_log(file: SqliteFile):
    """Also while a checkpoint is under way."""
    log, canary = file.path.with_name("x.db-wal"), "canary-" + "x" * 100_000
    for number in range(MAX_LOG_BYTES // len(canary) + COMMITS):
        await write(file, number, canary)
    await file.do(lambda c: c.execute("DELETE FROM numbers"), writes=True)
    await file.truncate_log()
    assert b"canary-" not in log.read_bytes() + file.path.read_bytes()


async def test_a_log_that_begins_anew_is_written_by_the_thread(file: SqliteFile):
    """The first commit waits for the disk, which the event loop must not."""
    await file.truncate_log()
    assert await write(file, 1) == "crew-sqlite"


async def test_what_was_deleted_goes_when_nobody_reads_any_more(file: SqliteFile):
    """Another process that reads keeps the log; with the next work after that it is emptied."""
    log, canary = file.path.with_name("x.db-wal"), "canary-" + "x" * 1000
    await write(file, 1, canary)
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM numbers").fetchone() == (1,)
    await file.do(lambda c: c.execute("DELETE FROM numbers"), writes=True)
    await file.truncate_log()
    assert b"canary-" in log.read_bytes(), "else nobody has kept it"
    other.execute("COMMIT")
    other.close()
    # brief work, too
    await write(file, 2)
    assert b"canary-" not in log.read_bytes() + file.path.read_bytes()


async def test_what_was_deleted_goes_with_the_next_server(file: SqliteFile):
    """Where the one before it was killed between the deletion and the end of the log."""
    await write(file, 1, "canary-" + "x" * 1000)
    await file.do(lambda c: c.execute("DELETE FROM numbers"), writes=True)
    copy = file.path.with_name("copy.db")
    log = copy.with_name("copy.db-wal")
    copy.write_bytes(file.path.read_bytes())
    log.write_bytes(file.path.with_name("x.db-wal").read_bytes())
    assert b"canary-" in log.read_bytes(), "else it is not as after a kill"
    store = SqliteStore(copy)
    store.claim_process(serves=True)
    assert await store.row("r1") is None
    assert b"canary-" not in log.read_bytes() + copy.read_bytes()
    await store.aclose()


async def test_another_event_loop_has_the_thread(file: SqliteFile):
    """While the first one lives: two must not share what waits."""
    await write(file, 1)

    async def elsewhere() -> list[str]:
        return [await write(file, number) for number in (2, 3)]

    assert await asyncio.to_thread(asyncio.run, elsewhere()) == ["crew-sqlite"] * 2
    number = 4
    # a slow write has the thread do it for a while
    while await write(file, number) != threading.current_thread().name:
        number += 1
    assert await file.do(numbers) == list(range(1, number + 1))


def test_an_interrupt_leaves_no_transaction_open(tmp_path: Path):
    """A second Ctrl-C comes anywhere; what was asked for is done all the same."""
    interrupts = [KeyboardInterrupt]

    def work(connection: sqlite3.Connection) -> str:
        insert(connection, 1)
        while interrupts:
            raise interrupts.pop()
        return threading.current_thread().name

    with asyncio.Runner() as runner:
        file = SqliteFile(tmp_path / "x.db")

        async def ask() -> None:
            await file.do(lambda c: c.execute(TABLE), writes=True)
            asked.append(file.do(work, writes=True, brief=True))
            await asyncio.Event().wait()

        async def look() -> tuple[str, list[int]]:
            return await asked[0], await file.do(numbers)

        asked: list[asyncio.Future[str]] = []
        with pytest.raises(KeyboardInterrupt):
            runner.run(ask())
        assert runner.run(look()) == ("crew-sqlite", [1])
        runner.run(file.aclose())


async def test_a_purge_goes_by_and_by(tmp_path: Path):
    """No transaction deletes more than some thousand events: others write meanwhile."""
    store = SqliteStore(tmp_path / "x.db")
    ends: dict[str, Any] = {"ended_at": DAY.format(2), "last_seq": 3000}
    for number in range(2):
        await begin_run(store, f"r{number}", 3000, "completed", **ends)
    await begin_run(store, "long", 11_000, "failed", **{**ends, "last_seq": 11_000})
    kept = replace(NOTHING_OLD, events_before=DAY.format(3))
    gone = replace(NOTHING_OLD, runs_before=DAY.format(3))

    def left() -> int:
        with closing(sqlite3.connect(tmp_path / "x.db")) as database:
            return int(database.execute("SELECT count(*) FROM events").fetchone()[0])

    assert left() == 17_000
    for ages, rest in ((kept, 12_000), (gone, 7000)):
        assert await store.purge(ages) > 0
        assert left() == rest
    while await store.purge(gone):
        assert rest - left() <= MOST_EVENTS
        rest = left()
    assert left() == 0
    assert await store.rows() == []
    await store.aclose()
