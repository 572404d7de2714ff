"""What every store promises, proved on each of them."""

import asyncio
import sqlite3
import sys
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from crew.backends.conformance import CHECKS
from crew.backends.conformance.samples import sample_records, sample_row
from crew.backends.memory import MemoryStore
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.schema import QUEUE_MIGRATIONS, prepare, prepare_queue
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.backends.sqlite.store import SqliteStore
from crew.database import open_database, open_store
from crew.journal.errors import StoreError
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import Appended, Record, Write
from crew.journal.store import RunStore
from tests.support.pooler import behind, needs_pooler, pooled
from tests.support.postgres import Postgres, needs_postgres


@pytest.fixture(scope="module")
def pooler(postgres: Postgres) -> Iterator[str]:
    with pooled(postgres) as address:
        yield address


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        pytest.param("postgres", marks=needs_postgres),
        pytest.param("pooler", marks=needs_pooler),
    ]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunStore]:
    made: RunStore
    match request.param:
        case "memory":
            made = MemoryStore()
        case "sqlite":
            made = SqliteStore(tmp_path / "deep" / "crew.db")
        case _:
            url = request.getfixturevalue("postgres").database()
            if request.param == "pooler":
                url = behind(request.getfixturevalue("pooler"), url)
            # as many processes may do at once
            times = await asyncio.gather(*(prepare(url) for _ in range(3)))
            made = PostgresStore(PostgresServer(url, 5, times[0]))
    yield made
    await made.aclose()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_promises(
    check: Callable[[RunStore], Awaitable[None]], store: RunStore, request: pytest.FixtureRequest
):
    """The suite that ships with the stores, on each of them."""
    if "pooler" in request.node.name and check.__name__ == "a_watch_is_notified":
        pytest.skip("LISTEN needs a session")
    await check(store)


async def test_what_is_committed_is_there_for_the_next_process(tmp_path: Path):
    """Without a close."""
    first = SqliteStore(tmp_path / "x.db")
    await first.append(Write("r1", sample_records(1, 3), sample_row("r1")))
    second = SqliteStore(tmp_path / "x.db")
    assert await second.records("r1") == sample_records(1, 3)
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
    for path, said in (
        (newer, "version 99, newer"),
        (tmp_path / "text.db", "not a database"),
        (tmp_path, "cannot be used"),
    ):
        with pytest.raises(StoreError, match=said):
            SqliteStore(path)


async def test_a_probe_leaves_a_newer_version_as_it_is(tmp_path: Path):
    """A newer program has opened the file meanwhile."""
    store = SqliteStore(tmp_path / "x.db")
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA user_version = 99")
    await store.probe()
    assert connection.execute("PRAGMA user_version").fetchone() == (99,)
    connection.close()
    await store.aclose()


async def test_a_claim_holds_against_other_processes(tmp_path: Path):
    """One server at a time; a `crew run` beside it keeps its hands off what is running."""
    one, two, three = (SqliteStore(tmp_path / "x.db") for _ in range(3))
    assert one.claim_process(serves=True)
    with pytest.raises(StoreError, match="another process serves"):
        two.claim_process(serves=True)
    three.claim_process(serves=False)
    assert not one.alone()
    for store in (one, two, three):
        await store.aclose()


@pytest.mark.parametrize(
    ("url", "kind"),
    [(None, SqliteStore), ("memory:", MemoryStore), ("sqlite:///{}/y.db", SqliteStore)],
)
async def test_urls(url: str | None, kind: type, tmp_path: Path):
    """None is the crew's own folder."""
    made = await open_store(url.format(str(tmp_path)) if url else None, tmp_path)
    assert isinstance(made, kind)
    await made.aclose()


async def test_an_unknown_url_is_refused_without_its_password(tmp_path: Path):
    """Only its scheme is shown."""
    with pytest.raises(StoreError, match=r"mysql:…") as caught:
        await open_store("mysql://me:secret@host/db", tmp_path)
    assert "secret" not in str(caught.value)


@needs_postgres
async def test_postgres_is_opened_in_async_code(postgres: Postgres, tmp_path: Path):
    """By its URL, in a running event loop."""
    store = await open_store(postgres.database(), tmp_path)
    assert isinstance(store, PostgresStore)
    assert await store.rows() == []
    await store.aclose()


@needs_postgres
async def test_a_newer_database_is_refused(postgres: Postgres):
    """Ours, and the queue's."""
    url = postgres.database()
    await prepare(url)
    await prepare_queue(url)
    await prepare_queue(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO crew_schema VALUES (99)")
        connection.execute("INSERT INTO crew_queue_schema VALUES ('99.sql')")
    with pytest.raises(StoreError, match="version 99, newer"):
        await prepare(url)
    with pytest.raises(StoreError, match="update procrastinate"):
        await prepare_queue(url)


@needs_postgres
async def test_the_queue_grows_with_its_library(postgres: Postgres):
    """Tables of an earlier Procrastinate are brought up to date by the migrations that it ships."""
    url, early = (
        postgres.database(),
        [script for script in QUEUE_MIGRATIONS if script.name < "03.04"],
    )
    with psycopg.connect(url, autocommit=True) as connection:
        for script in early:
            connection.execute(script.read_text())
        connection.execute("CREATE TABLE crew_queue_schema (newest text NOT NULL)")
        connection.execute("INSERT INTO crew_queue_schema VALUES (%s)", [early[-1].name])
    await prepare_queue(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT to_regproc('procrastinate_retry_job_v2')").fetchone() != (
            None,
        )


@needs_postgres
@pytest.mark.parametrize("prepares", ["on", "off"])
async def test_what_was_written_though_nobody_heard_so_is_written(
    postgres: Postgres, prepares: str
):
    """The same events again, by the same writer, are no second ones; others under the same number are refused."""
    url = f"{postgres.database()}?prepared_statements={prepares}"
    store = PostgresStore(PostgresServer(url, 5, await prepare(url)))
    first = await store.append(Write("r1", sample_records(1, 1), sample_row("r1")))
    assert isinstance(first, Appended)
    epoch = first.epoch
    for _ in range(2):
        assert await store.append(
            Write("r1", sample_records(2, 3), sample_row("r1", "paused"), epoch=epoch)
        ) == Appended(epoch)
    assert await store.records("r1") == sample_records(1, 3)
    with pytest.raises(StoreError, match="is there already"):
        await store.append(Write("r1", [Record(3, "{}", "other")], epoch=epoch))
    await store.aclose()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:secret@127.0.0.1:1/db", r"postgresql://127\.0\.0\.1:1/db cannot be used"),
        ("postgresql://me:secret@127.0.0.1:port/db", "percent-encoded"),
        ("postgresql://me:sec/secret@127.0.0.1/db", "percent-encoded|…"),
        ("postgresql://me:sec?secret@127.0.0.1/db", "percent-encoded|…"),
        ("postgresql://me:sec[secret@127.0.0.1/db", "percent-encoded|…"),
        ("postgresql://me:sec#secret@127.0.0.1/db", "percent-encoded|…"),
    ],
)
async def test_a_database_that_cannot_be_reached(url: str, said: str, tmp_path: Path):
    """Where, and why, without the password, however it is written."""
    for opening in (open_database, open_store):
        with pytest.raises(StoreError, match=said) as caught:
            await opening(url, tmp_path)
        assert "sec" not in str(caught.value).replace("seconds", "")


@needs_postgres
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_of_another_encoding_is_brought_up_to_date(
    postgres: Postgres, encoding: str
):
    """No script has a character that it does not know."""
    url = postgres.database(encoding)
    store = PostgresStore(PostgresServer(url, 2, await prepare(url)))
    await store.append(Write("r1", sample_records(1, 1), sample_row("r1", query="DISK")))
    assert [row.run_id for row in await store.rows(RunFilter(text="disk"))] == ["r1"]
    await store.aclose()


@needs_postgres
async def test_letters_are_folded_as_python_does(postgres: Postgres):
    """Each letter that has another case, or is another form of one, alone and within a word."""
    url = postgres.database()
    await prepare(url)
    every = map(chr, range(1, sys.maxunicode + 1))
    letters = [one for one in every if one.isalpha() and one.casefold() != one]
    # the libraries know letters of different years
    letters = [one for one in letters if unicodedata.ucd_3_2_0.category(one) != "Cn"]
    assert len(letters) > 800
    words = [*letters, *(f"ß{one}σ{one.upper()}" for one in letters)]
    folded = [one.casefold() for one in words]
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await connection.execute(
            "SELECT word, folded FROM unnest(%s::text[], %s::text[]) AS given (word, folded) "
            "WHERE crew_casefold(word) <> crew_casefold(folded)",
            [words, folded],
        )
        assert await found.fetchall() == []


@needs_postgres
async def test_only_the_queue_does_not_wait_for_the_disk(postgres: Postgres, tmp_path: Path):
    """What a crash of the server loses of it is made again from the runs."""
    database = await open_database(postgres.database(), tmp_path)
    assert isinstance(database.queue, JobQueue)
    assert isinstance(database.store, PostgresStore)
    waits = []
    for server in (database.store.server, database.queue.server):
        async with server.connection() as connection:
            waits.append(await connection.fetchval("SHOW synchronous_commit"))
        await server.aclose()
    assert waits == ["on", "off"]


@needs_postgres
async def test_who_only_looks_needs_no_right_to_change(postgres: Postgres):
    """A role that may read opens what is up to date."""
    url = postgres.database()
    await prepare(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    reading = url.replace("crew@", "reader@")
    store = PostgresStore(PostgresServer(reading, 5, await prepare(reading)))
    assert await store.rows() == []
    await store.aclose()


@needs_postgres
async def test_a_database_has_the_runs_of_one_crew(postgres: Postgres):
    """Another's workers would play them with tools of their own."""
    url = postgres.database()
    await prepare(url, "one")
    await prepare(url, "one")
    await prepare(url)
    with pytest.raises(StoreError, match="has the runs of the crew 'one', and this is 'two'"):
        await prepare(url, "two")


@needs_pooler
async def test_a_pooler_is_named(postgres: Postgres, pooler: str):
    """At once, with what to write; not when a statement meets another session."""
    url = behind(pooler, postgres.database())
    await prepare(url)
    with pytest.raises(StoreError, match=r"a pooler stands before the database.*=off"):
        await prepare(url.partition("?")[0])
    with pytest.raises(StoreError, match="prepared_statements is on or off"):
        await prepare(url.replace("off", "no"))
