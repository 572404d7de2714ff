"""Checks of what every store promises: `for check in CHECKS: await check(empty_store)`.

Each takes an empty store and raises AssertionError, or StoreError, where a promise is broken.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agents.model import Usage
from crew.journal.errors import LostRun, StoreError
from crew.journal.events import RunStatus
from crew.journal.store import (
    Appended,
    IdempotencyRecord,
    KeyTaken,
    PurgeAges,
    Record,
    RunRow,
    RunStore,
    StatusDiffers,
    Write,
)

DAY = "2026-01-{:02}T00:00:00.000Z"
PATIENCE_SECONDS = 10.0
# between two looks at what another task does
LOOK_SECONDS = 0.01


def sample_row(run_id: str, status: RunStatus = "running", **more: object) -> RunRow:
    """A row with something in every field that a store has to keep."""
    row = RunRow(run_id, "crew", status, "què?", DAY.format(1), "req", "rev", "scripted")
    return replace(row, usage=Usage(1, 2, 0.5), **more)  # type: ignore[arg-type] # fields of RunRow


def sample_records(first: int, last: int) -> list[Record]:
    """Events of these numbers."""
    public = {"type": "warning", "agent": "a", "timestamp": DAY.format(1), "metadata": {}}
    numbers = range(first, last + 1)
    return [
        Record(n, json.dumps({**public, "content": str(n)}), json.dumps(["X", n])) for n in numbers
    ]


async def begin(
    store: RunStore, run_id: str, events: int = 1, status: RunStatus = "running", **more: object
) -> int:
    """Write a new run with so many events; its epoch."""
    row = sample_row(run_id, status, **more)
    return await epoch_of(store, Write(run_id, sample_records(1, events), row))


async def epoch_of(store: RunStore, write: Write) -> int:
    """The epoch of a write that must be stored."""
    result = await store.append(write)
    assert isinstance(result, Appended), result
    return result.epoch


async def run_ids(store: RunStore, status: RunStatus | None = None) -> list[str]:
    """The runs that are listed."""
    return [row.run_id for row in await store.rows(status)]


async def is_lost(store: RunStore, write: Write) -> bool:
    """Whether a write is refused since another process has claimed the run."""
    try:
        await store.append(write)
    except LostRun:
        return True
    return False


async def what_is_written_is_read(store: RunStore) -> None:
    """Rows whole, events in order and in pages."""
    epoch = await begin(store, "r1", events=3)
    await store.append(Write("r1", sample_records(4, 7), epoch=epoch))
    assert await store.row("r1") == sample_row("r1")
    assert await store.row("none") is None
    assert await store.records("r1") == sample_records(1, 7)
    assert await store.records("r1", after=2, limit=3) == sample_records(3, 5)
    assert await store.records("r1", after=7) == []
    assert await store.records("none") == []


async def an_abandoned_write_is_written(store: RunStore) -> None:
    """A write is done even if its caller is cancelled."""
    writing = asyncio.create_task(begin(store, "r1", events=2))
    await asyncio.sleep(0)
    writing.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await store.row("r1") is None:  # noqa: ASYNC110 # a store notifies no writer
            await asyncio.sleep(LOOK_SECONDS)
    assert await store.records("r1") == sample_records(1, 2)


async def a_status_is_compared_and_swapped(store: RunStore) -> None:
    """A wrong expectation writes nothing and says what the status is; of many at once one wins."""
    await begin(store, "r1", status="paused")
    wrong = Write("r1", sample_records(2, 2), sample_row("r1"), expected="running")
    assert await store.append(wrong) == StatusDiffers("paused")
    unknown = Write("none", sample_records(1, 1), sample_row("none"), expected="paused")
    assert await store.append(unknown) == StatusDiffers(None)
    assert await store.records("r1") == sample_records(1, 1)
    answer = Write("r1", sample_records(2, 2), sample_row("r1"), expected="paused")
    results = await asyncio.gather(*(store.append(answer) for _ in range(10)))
    assert sum(isinstance(result, Appended) for result in results) == 1
    assert results.count(StatusDiffers("running")) == 9
    assert await store.records("r1") == sample_records(1, 2)


async def a_number_is_given_once(store: RunStore) -> None:
    """Writing an event again is an error and changes nothing; writes beside it go through."""
    await begin(store, "r1", events=2)
    again = Write("r1", sample_records(2, 3), sample_row("r1", "failed"))
    writes = [store.append(again)]
    for n in range(5):
        name = f"other{n}"
        writes.append(store.append(Write(name, sample_records(1, 1), sample_row(name))))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [isinstance(result, StoreError) for result in results] == [True] + [False] * 5
    assert await store.row("r1") == sample_row("r1")
    assert await store.records("r1") == sample_records(1, 2)
    assert len(await store.rows()) == 6


async def a_former_writer_is_refused(store: RunStore) -> None:
    """After a claim neither its events nor its row are written; of many claims one wins."""
    first = await begin(store, "r1", events=2)
    assert await epoch_of(store, Write("r1", sample_records(3, 3), epoch=first)) == first
    claim = await store.claim("r1")
    assert claim is not None
    assert claim.row == sample_row("r1")
    for row in (None, sample_row("r1", "completed")):
        assert await is_lost(store, Write("r1", sample_records(4, 4), row, epoch=first))
    assert (await store.records("r1", 3), await store.row("r1")) == ([], sample_row("r1"))
    write = Write("r1", sample_records(4, 4), epoch=claim.epoch)
    assert await epoch_of(store, write) == claim.epoch
    claims = await asyncio.gather(*(store.claim("r1", claim.epoch) for _ in range(8)))
    assert sum(one is not None for one in claims) == 1


async def only_running_runs_are_claimed(store: RunStore) -> None:
    """Not paused or ended ones; an answer takes a run from whoever wrote it before."""
    paused = await begin(store, "r1", status="paused")
    assert await store.claim("r1") is None
    assert await store.claim("none") is None
    answer = Write("r1", sample_records(2, 2), sample_row("r1"), "paused")
    resumed = await epoch_of(store, answer)
    assert resumed != paused
    assert await is_lost(store, Write("r1", sample_records(3, 3), epoch=paused))
    end = Write("r1", sample_records(3, 3), sample_row("r1", "completed"), epoch=resumed)
    assert await epoch_of(store, end) == resumed
    assert await store.claim("r1") is None


async def cancellations_are_kept(store: RunStore) -> None:
    """Until the run has ended."""
    epoch = await begin(store, "r1")
    await begin(store, "r2")
    for name in ("r1", "r1", "none"):
        await store.request_cancellation(name)
    assert await store.cancellations() == [sample_row("r1")]
    pause = Write("r1", sample_records(2, 2), sample_row("r1", "paused"), epoch=epoch)
    await store.append(pause)
    assert await store.cancellations() == [sample_row("r1", "paused")]
    ended = sample_row("r1", "cancelled", ended_at=DAY.format(1))
    await store.append(Write("r1", sample_records(3, 3), ended, epoch=epoch))
    assert await store.cancellations() == []


async def rows_are_listed_newest_first(store: RunStore) -> None:
    """By status and in pages; and counted."""
    epochs = {}
    for n in range(5):
        epochs[n] = await begin(store, f"r{n}", status="paused" if n % 2 else "running")
    assert await run_ids(store) == ["r4", "r3", "r2", "r1", "r0"]
    page = await store.rows(limit=2, after="r3")
    assert [row.run_id for row in page] == ["r2", "r1"]
    assert await run_ids(store, "paused") == ["r3", "r1"]
    ended = Write("r3", sample_records(2, 2), sample_row("r3", "completed"), epoch=epochs[3])
    await store.append(ended)
    assert await run_ids(store, "paused") == ["r1"]
    statuses: tuple[RunStatus, ...] = ("paused", "completed", "failed")
    assert [await store.count(status) for status in statuses] == [1, 1, 0]


async def a_key_starts_one_thing(store: RunStore) -> None:
    """Of many at once with one key one is written; the others learn what it started."""
    records = [IdempotencyRecord("key", f"print{n}", f"r{n}", 0) for n in range(8)]
    writes = []
    for one in records:
        row = sample_row(one.run_id)
        write = Write(one.run_id, sample_records(1, 1), row, None, one)
        writes.append(store.append(write))
    results = await asyncio.gather(*writes)
    pairs = zip(records, results, strict=True)
    (winner,) = [one for one, result in pairs if isinstance(result, Appended)]
    assert results.count(KeyTaken(winner)) == 7
    assert await store.idempotency_record("key") == winner
    assert await run_ids(store) == [winner.run_id]
    assert await store.idempotency_record("other") is None


async def a_refused_write_keeps_no_key(store: RunStore) -> None:
    """A write that is refused for its status leaves its key free."""
    await begin(store, "r1")
    record = IdempotencyRecord("key", "print", "r1", 1)
    write = Write("r1", sample_records(2, 2), sample_row("r1"), "paused", record)
    assert await store.append(write) == StatusDiffers("running")
    assert await store.idempotency_record("key") is None


async def pauses_become_due(store: RunStore) -> None:
    """Earliest first; not before their time, nor once they are answered."""
    for n in (3, 1, 2):
        await begin(store, f"r{n}", status="paused", paused_until=DAY.format(n))
    await begin(store, "r4", status="paused")
    assert [row.run_id for row in await store.due_pauses(DAY.format(2))] == ["r1", "r2"]
    assert [row.run_id for row in await store.due_pauses(DAY.format(9), limit=1)] == ["r1"]
    await store.append(Write("r1", sample_records(2, 2), sample_row("r1"), "paused"))
    assert [row.run_id for row in await store.due_pauses(DAY.format(2))] == ["r2"]


async def what_is_old_is_purged(store: RunStore) -> None:
    """First the events, then the run; of long runs all but the newest; open runs stay."""
    for run_id, day in (("new", 9), ("old", 5), ("older", 1)):
        row = sample_row(run_id, "completed", ended_at=DAY.format(day), last_seq=10)
        record = IdempotencyRecord(f"key-{run_id}", "x", run_id, 0)
        await store.append(Write(run_id, sample_records(1, 10), row, None, record))
    await begin(store, "running", events=10, last_seq=10)
    await begin(store, "paused", events=10, status="paused", last_seq=10)
    ages = PurgeAges(DAY.format(8), 4, DAY.format(3), DAY.format(1))
    assert await store.purge(ages, limit=1) > 0
    # several at once, as processes that share a store do
    while any(await asyncio.gather(*(store.purge(ages) for _ in range(3)))):
        pass
    assert sorted(await run_ids(store)) == ["new", "old", "paused", "running"]
    old = sample_row("old", "completed", ended_at=DAY.format(5), last_seq=10)
    assert (await store.row("old"), await store.records("old")) == (old, [])
    assert await store.records("new") == sample_records(7, 10)
    assert await store.records("new", after=8, limit=1) == sample_records(9, 9)
    assert await store.records("older") == []
    assert await store.idempotency_record("key-older") is None
    assert await store.idempotency_record("key-new") is not None
    for run_id in ("running", "paused"):
        assert len(await store.records(run_id)) == 10


async def revisions_are_kept_while_needed(store: RunStore) -> None:
    """With the last run that was started with it, and after a while, a revision is purged."""
    files = '{"crew.yaml": "è"}'
    for revision in ("rev", "unused", "fresh"):
        await store.keep_revision(revision, files, DAY.format(9 if revision == "fresh" else 1))
    await store.keep_revision("rev", files, DAY.format(2))
    assert await store.revision("rev") == files
    assert await store.revision("none") is None
    await begin(store, "r1", status="completed", ended_at=DAY.format(4))
    await store.purge(PurgeAges(DAY.format(1), 10, DAY.format(1), DAY.format(5)))
    kept = [await store.revision(one) for one in ("rev", "unused", "fresh")]
    assert kept == [files, None, files]
    await store.purge(PurgeAges(DAY.format(5), 10, DAY.format(5), DAY.format(5)))
    await store.purge(PurgeAges(DAY.format(5), 10, DAY.format(5), DAY.format(5)))
    assert (await run_ids(store), await store.revision("rev")) == ([], None)


async def the_store_says_whether_it_can_be_written(store: RunStore) -> None:
    """A probe writes, and changes nothing."""
    await begin(store, "r1")
    await store.probe()
    assert store.failing is None
    assert await run_ids(store) == ["r1"]


async def processes_know_of_each_others_listeners(store: RunStore) -> None:
    """Where a store is shared: who else listens, for as long as was announced."""
    await store.announce_listeners("here", ["r1"], 60)
    assert await store.has_listeners("r1", "elsewhere") is store.shared
    assert not await store.has_listeners("r1", "here")
    await store.announce_listeners("here", ["r1"], 0)
    assert not await store.has_listeners("r1", "elsewhere")


async def a_watch_is_notified(store: RunStore) -> None:
    """With a notice of what is stored or published; where nobody sends one, it says: look."""
    with store.watch("r1") as watch:
        # a shared store begins to listen with the first watch
        async with asyncio.timeout(PATIENCE_SECONDS):
            await watch.wait(PATIENCE_SECONDS if store.shared else LOOK_SECONDS)
        watch.notices.clear()
        await begin(store, "r1", events=3)
        store.publish_ephemeral("r1", '{"type": "agent_delta"}')
        notices: list[int | str | None] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(notices) < (2 if store.shared else 1):
                await watch.wait(LOOK_SECONDS if not store.shared else PATIENCE_SECONDS)
                notices += watch.notices
                watch.notices.clear()
    if store.shared:
        wanted: list[int | str | None] = [3, '{"type": "agent_delta"}']
        assert [notice for notice in notices if notice is not None] == wanted
    else:
        assert notices == [None]


CHECKS: tuple[Callable[[RunStore], Awaitable[None]], ...] = (
    # RunLog
    what_is_written_is_read,
    an_abandoned_write_is_written,
    a_status_is_compared_and_swapped,
    a_number_is_given_once,
    a_former_writer_is_refused,
    only_running_runs_are_claimed,
    rows_are_listed_newest_first,
    a_key_starts_one_thing,
    a_refused_write_keeps_no_key,
    pauses_become_due,
    # Cancellations
    cancellations_are_kept,
    # Purging
    what_is_old_is_purged,
    # RevisionStore
    revisions_are_kept_while_needed,
    # Health
    the_store_says_whether_it_can_be_written,
    # Cluster
    processes_know_of_each_others_listeners,
    a_watch_is_notified,
)
