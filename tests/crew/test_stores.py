"""What every store promises, proved on each of them."""

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from agents.model import Usage
from crew.errors import StoreError
from crew.stores.contract import Record, RunRow, RunStore
from crew.stores.memory import MemoryStore
from crew.stores.opening import open_store
from crew.stores.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunStore]:
    made: RunStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "deep" / "crew.db")
    yield made
    await made.aclose()


def row(run_id: str, status: str = "running") -> RunRow:
    return RunRow(run_id, "crew", status, "què?", "2026-01-01T00:00:00.000Z", "req", usage=Usage(1, 2, 0.5))  # type: ignore[arg-type] # a Status


def records(first: int, last: int) -> list[Record]:
    return [Record(n, f'{{"n": {n}}}', f'["X",{n}]') for n in range(first, last + 1)]


async def test_what_is_written_is_read(store: RunStore):
    """Rows whole, events in order and in pages."""
    await store.append("r1", records(1, 3), row("r1"))
    await store.append("r1", records(4, 7))
    assert await store.row("r1") == row("r1")
    assert await store.row("none") is None
    assert await store.records("r1") == records(1, 7)
    assert await store.records("r1", after=2, limit=3) == records(3, 5)
    assert await store.records("r1", after=7) == []
    assert await store.records("none") == []


async def test_the_status_is_compared_and_swapped(store: RunStore):
    """A wrong expectation writes nothing; of many at once one wins."""
    await store.append("r1", records(1, 1), row("r1", "paused"))
    assert not await store.append("r1", records(2, 2), row("r1"), expected="running")
    assert not await store.append("none", records(1, 1), row("none"), expected="paused")
    assert await store.records("r1") == records(1, 1)
    won: list[bool] = []

    async def one() -> None:
        won.append(await store.append("r1", records(2, 2), row("r1"), expected="paused"))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(one)
    assert sorted(won) == [False] * 9 + [True]
    assert await store.records("r1") == records(1, 2)


async def test_a_number_is_given_once(store: RunStore):
    """Writing an event again is an error, and leaves all as it was; other writes at the same moment go through."""
    await store.append("r1", records(1, 2), row("r1"))
    failed: list[str] = []

    async def again() -> None:
        try:
            await store.append("r1", records(2, 3), row("r1", "failed"))
        except StoreError:
            failed.append("r1")

    async def other(n: int) -> None:
        await store.append(f"other{n}", records(1, 1), row(f"other{n}"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(again)
        for n in range(5):
            tasks.start_soon(other, n)
    assert failed == ["r1"]
    assert await store.row("r1") == row("r1")
    assert await store.records("r1") == records(1, 2)
    assert len(await store.rows()) == 6


async def test_rows_are_listed_newest_first(store: RunStore):
    """By status and in pages."""
    for n in range(5):
        await store.append(f"r{n}", records(1, 1), row(f"r{n}", "paused" if n % 2 else "running"))
    assert [r.run_id for r in await store.rows()] == ["r4", "r3", "r2", "r1", "r0"]
    assert [r.run_id for r in await store.rows(limit=2, after="r3")] == ["r2", "r1"]
    assert [r.run_id for r in await store.rows("paused")] == ["r3", "r1"]
    await store.append("r3", records(2, 2), replace(row("r3"), status="completed"))
    assert [r.run_id for r in await store.rows("paused")] == ["r1"]


async def test_what_is_committed_is_there_for_the_next_process(tmp_path: Path):
    """Without a close."""
    first = SqliteStore(tmp_path / "x.db")
    await first.append("r1", records(1, 3), row("r1"))
    second = SqliteStore(tmp_path / "x.db")
    assert await second.records("r1") == records(1, 3)
    await first.aclose()
    await second.aclose()
    with pytest.raises(StoreError, match="closed"):
        await first.row("r1")


async def test_files_that_cannot_be_used_say_why(tmp_path: Path):
    """A newer version, no database at all, a folder."""
    newer = tmp_path / "newer.db"
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    (tmp_path / "text.db").write_text("hello " * 1000)
    for path, said in ((newer, "version 99, newer"), (tmp_path / "text.db", "not a database"), (tmp_path, "cannot be used")):
        with pytest.raises(StoreError, match=said):
            SqliteStore(path)


async def test_a_claim_holds_against_other_processes(tmp_path: Path):
    """One server at a time; a `crew run` beside it keeps its hands off what is running."""
    one, two, three = (SqliteStore(tmp_path / "x.db") for _ in range(3))
    assert one.claim(alone=True)
    assert one.serving
    assert not two.claim(alone=True)
    assert not two.serving
    assert three.claim(alone=False)
    for store in (one, two, three):
        await store.aclose()


@pytest.mark.parametrize(("url", "kind"), [(None, SqliteStore), ("memory:", MemoryStore), ("sqlite:///{}/y.db", SqliteStore)])
async def test_urls(url: str | None, kind: type, tmp_path: Path):
    """None is the crew's own folder."""
    made = open_store(url.format(str(tmp_path)) if url else None, tmp_path)
    assert isinstance(made, kind)
    await made.aclose()


def test_an_unknown_url_is_refused_without_its_password(tmp_path: Path):
    """Only its scheme is told."""
    with pytest.raises(StoreError, match=r"mysql:…") as caught:
        open_store("mysql://me:secret@host/db", tmp_path)
    assert "secret" not in str(caught.value)
