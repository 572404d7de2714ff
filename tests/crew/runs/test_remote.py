"""A run that another process plays: its events come with the notices, and are read where not."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest

from crew.backends.conformance.samples import begin, sample_records
from crew.backends.postgres.schema import prepare
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import PostgresStore
from crew.journal.rows import FIRST_EPOCH, Record, Write
from crew.journal.wire import RunEvent
from crew.runs.remote import RemoteTail
from crew.runs.tail import Tail
from tests.support.postgres import Postgres, needs_postgres
from tools.clock import SYSTEM_CLOCK

pytestmark = needs_postgres
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
def following(store: PostgresStore, tail: Tail) -> Iterator[None]:
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


@pytest.mark.parametrize(
    ("first", "last"), [(4, 5), (4, 4), (5, 5), (2, 5), (2, 3), (6, 5), (4, 9), (9, 9)]
)
async def test_each_event_comes_once(
    stores: tuple[PostgresStore, PostgresStore], first: int, last: int
):
    """Events that join what is known come from their notice, all others from the store."""
    plays, follows = stores
    await begin(plays, "r1", 9)
    tail = Tail(SYSTEM_CLOCK, 0)
    for record in RECORDS[:3]:
        tail.add(RunEvent.of_record(record))
    # to be told from those of the store
    told = [replace(one, public=f"{one.public} ") for one in RECORDS[first - 1 : last]]
    joins = told and first == 4
    with following(follows, tail):
        plays.server.notify("r1", last, encoded(told))
        events = await followed(tail, max(3, last))
        assert events == encoded([*RECORDS[:3], *(told if joins else RECORDS[3:last])])


async def test_a_notice_of_what_is_not_stored_changes_nothing(
    stores: tuple[PostgresStore, PostgresStore],
):
    """Nor does one of events of which some are known."""
    plays, follows = stores
    await begin(plays, "r1", 9)
    tail = Tail(SYSTEM_CLOCK, 0)
    with following(follows, tail):
        assert await followed(tail, 9) == encoded(RECORDS)
        plays.server.notify("r1", 10, ['{"never": "read"}'] * 5)
        await plays.append(Write("r1", sample_records(10, 12), epoch=FIRST_EPOCH))
        assert await followed(tail, 12) == encoded(sample_records(1, 12))
