"""A run that another process plays: its events come with the notices, and are read where not."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import pytest

from crew.backends.conformance.samples import begin_run, epoch_of, sample_records, sample_row
from crew.backends.memory import MemoryStore
from crew.backends.postgres.schema import prepare
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.journal.errors import StoreUnavailable
from crew.journal.records.cluster import Watch, Written
from crew.journal.records.rows import FIRST_EPOCH, PAGE, Page, Record, Write
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.streams.remote import RemoteTail
from crew.runs.streams.tail import Tail
from tests.support.postgres import Postgres, needs_postgres
from tools.clock import SYSTEM_CLOCK

SECONDS = 30.0
RECORDS = sample_records(1, 9)


@pytest.fixture
async def stores(postgres: Postgres) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Of the process that plays the run, and of one that follows it."""
    url = postgres.database()
    time = await prepare(url)
    plays, follows = (PostgresStore(PostgresServer(url, 2, time)) for _ in range(2))
    await follows.listen()
    yield plays, follows
    await plays.aclose()
    await follows.aclose()


def encoded(records: Sequence[Record]) -> list[str]:
    return [record.public for record in records]


@contextmanager
def following(store: RunStore, tail: Tail) -> Iterator[None]:
    remote = RemoteTail(store, "r1", tail, lambda _: True)
    try:
        yield
    finally:
        remote.close()


async def followed(tail: Tail, seq: int) -> list[str]:
    """The events of a tail, once it has come so far."""
    place = tail.first + len(tail.events)
    async with asyncio.timeout(SECONDS):
        while tail.seq < seq:
            async for _ in tail.follow(place, tail.seq, None, None):
                place += 1
                break
    return [event.encoded for event in tail.events]


@needs_postgres
@pytest.mark.parametrize(
    ("first", "last"), [(4, 5), (4, 4), (5, 5), (2, 5), (2, 3), (6, 5), (4, 9), (9, 9)]
)
async def test_each_event_comes_once(
    stores: tuple[PostgresStore, PostgresStore], first: int, last: int
):
    """Events that join what is known come from their notice, all others from the store."""
    plays, follows = stores
    await begin_run(plays, "r1", 9)
    tail = Tail(SYSTEM_CLOCK, 0)
    for record in RECORDS[:3]:
        tail.add(RunEvent.of_record(record))
    # to be told from those of the store
    told = [replace(one, public=f"{one.public} ") for one in RECORDS[first - 1 : last]]
    joins = told and first == 4
    with following(follows, tail):
        plays.server.notify("r1", last, encoded(told))
        if last <= 3:
            # nothing new: the next notice shows that this one has come
            plays.server.notify("r1", 4, [])
            last = 4
        events = await followed(tail, last)
        assert events == encoded([*RECORDS[:3], *(told if joins else RECORDS[3:last])])


@needs_postgres
async def test_a_notice_of_what_is_not_stored_changes_nothing(
    stores: tuple[PostgresStore, PostgresStore],
):
    """Nor does one of events of which some are known."""
    plays, follows = stores
    await begin_run(plays, "r1", 9)
    tail = Tail(SYSTEM_CLOCK, 0)
    with following(follows, tail):
        assert await followed(tail, 9) == encoded(RECORDS)
        plays.server.notify("r1", 10, ['{"never": "read"}'] * 5)
        await plays.append(Write("r1", sample_records(10, 12), epoch=FIRST_EPOCH))
        assert await followed(tail, 12) == encoded(sample_records(1, 12))


class Failing(MemoryStore):
    """A store that others write to; it answers no more until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.given, self.asked = Watch(), asyncio.Event()
        self.is_away = False

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        return nullcontext(self.given)

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        self.asked.set()
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().records(run_id, after, limit)


async def test_events_that_the_database_has_lost_are_noticed():
    """Though it could not be asked when the notices came again, and others have their numbers."""
    store = Failing()
    *known, lost = RECORDS[:5]
    fifth, sixth = (replace(one, public=f"{one.public} ") for one in RECORDS[4:6])
    await epoch_of(store, Write("r1", [*known, fifth, sixth], sample_row("r1")))
    tail = Tail(SYSTEM_CLOCK, 0)
    for record in (*known, lost):
        tail.add(RunEvent.of_record(record))
    with following(store, tail):
        store.is_away = True
        store.given.breaks += 1
        store.given.notify(None)
        await store.asked.wait()
        store.is_away = False
        store.given.notify(Written(6, (sixth.public,)))
        async with asyncio.timeout(SECONDS):
            async for _ in tail.follow(tail.first + len(tail.events), 5, None, None):
                pass
    assert tail.lost
    assert [one.encoded for one in tail.events] == encoded([*known, lost])


@needs_postgres
async def test_a_connection_that_breaks_is_counted(stores: tuple[PostgresStore, PostgresStore]):
    """Before anything comes over the next one."""
    plays, follows = stores
    sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    with follows.watch("r1") as watch:
        async with plays.server.connection() as connection:
            await connection.execute(f"{sql} WHERE application_name = 'crew listening'")
        async with asyncio.timeout(SECONDS):
            await watch.wait()
        assert watch.breaks == 1


@needs_postgres
async def test_what_is_stored_comes_with_its_notice(
    stores: tuple[PostgresStore, PostgresStore],
):
    """So that nobody reads it, unless it is too long."""
    plays, follows = stores
    await begin_run(plays, "r1", 3)
    with follows.watch("r1") as watch:
        await plays.append(Write("r1", RECORDS[3:5], epoch=FIRST_EPOCH))
        async with asyncio.timeout(SECONDS):
            await watch.wait()
        assert list(watch.notices) == [Written(5, tuple(encoded(RECORDS[3:5])))]
