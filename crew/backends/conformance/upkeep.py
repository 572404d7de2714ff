"""What time and other processes ask for."""

import asyncio

from crew.backends.conformance.samples import (
    DAY,
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    begin,
    run_ids,
    sample_records,
    sample_row,
)
from crew.journal.store import (
    IdempotencyRecord,
    PurgeAges,
    RunStore,
    Write,
)


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
