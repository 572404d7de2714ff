"""What every store promises, proved on each of them."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from crew.errors import StoreError
from crew.stores.conformance import CHECKS, a_row, some_records
from crew.stores.contract import RunStore
from crew.stores.memory import MemoryStore
from crew.stores.opening import open_store
from crew.stores.sqlite import MIGRATIONS, SqliteStore


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunStore]:
    made: RunStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "deep" / "crew.db")
    yield made
    await made.aclose()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_promises(check: Callable[[RunStore], Awaitable[None]], store: RunStore):
    """The suite that ships with the stores, on each of them."""
    await check(store)


async def test_what_is_committed_is_there_for_the_next_process(tmp_path: Path):
    """Without a close."""
    first = SqliteStore(tmp_path / "x.db")
    await first.append("r1", some_records(1, 3), a_row("r1"))
    second = SqliteStore(tmp_path / "x.db")
    assert await second.records("r1") == some_records(1, 3)
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


async def test_an_older_database_is_brought_up_to_date(tmp_path: Path):
    """Its runs are listed, swept and resumed like new ones."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(MIGRATIONS[0] + "PRAGMA user_version = 1;")
    packed = (
        '{"run_id":"r1","crew":"c","status":"completed","query":"q","started_at":"t","request_id":"","ended_at":"2026-01-01"}'
    )
    connection.execute("INSERT INTO runs VALUES ('r1', 'completed', ?)", (packed,))
    connection.execute("INSERT INTO events VALUES ('r1', 1, '{}', '{}')")
    connection.close()
    store = SqliteStore(path)
    found = await store.row("r1")
    assert found is not None
    assert (found.status, found.revision, found.events) == ("completed", "", 1)
    assert await store.sweep("2026-02-01", 10, "2025-01-01") == 1
    assert await store.records("r1") == []
    await store.aclose()
