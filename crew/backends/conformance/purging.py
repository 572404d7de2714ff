"""What is old is deleted, and what is kept is known."""

import asyncio
from dataclasses import replace

from crew.backends.conformance.samples import (
    DAY,
    begin_run,
    run_ids,
    sample_records,
    sample_row,
)
from crew.journal.events import RunStatus
from crew.journal.records.revisions import KEPT_REVISIONS, Load, Loading
from crew.journal.records.rows import (
    NOTHING_OLD,
    IdempotencyRecord,
    PurgeAges,
    Write,
)
from crew.journal.store import RunStore


async def what_owners_store_is_known(store: RunStore) -> None:
    """Check the bytes of each owner's ended and paused runs, without deleted events."""
    paused = sample_row("p", "paused", owner="eve", stored_bytes=30, pause_seq=1)
    await store.append(Write("p", sample_records(1, 1), paused))
    assert await store.stored_bytes("eve") == 30
    goes_on = Write("p", sample_records(2, 2), replace(paused, status="running"), "paused")
    await store.append(goes_on)
    assert await store.stored_bytes("eve") == 30
    for run_id, owner, size in (("a", "ann", 1000), ("b", "ann", 500), ("c", "bob", 70)):
        row = sample_row(
            run_id,
            "completed",
            ended_at=DAY.format(5),
            last_seq=10,
            owner=owner,
            stored_bytes=size,
        )
        await store.append(Write(run_id, sample_records(1, 10), row, None))
    assert await store.stored_bytes("ann") == 1500
    assert await store.stored_bytes("bob") == 70
    assert await store.stored_bytes("nobody") == 0
    # of each run but its newest events
    while await store.purge(PurgeAges(DAY.format(1), 5, DAY.format(1), DAY.format(1))):
        assert await store.stored_bytes("ann") <= 1500
    assert 0 < await store.stored_bytes("ann") < 1500
    while await store.purge(PurgeAges(DAY.format(9), 5, DAY.format(1), DAY.format(1))):
        assert await store.stored_bytes("bob") <= 70
    assert await store.stored_bytes("ann") == 0


async def what_is_old_is_purged(store: RunStore) -> None:
    """Check the order: events first, then runs; of long runs all but the newest; open runs stay."""
    old = sample_row("old", "completed", ended_at=DAY.format(5), last_seq=10, revision="rev 2")
    for run_id, day, revision in (("new", 9, "rev 1"), ("old", 5, "rev 2"), ("older", 1, "rev 3")):
        ended_at = DAY.format(day)
        row = sample_row(run_id, "completed", ended_at=ended_at, last_seq=10, revision=revision)
        record = IdempotencyRecord(f"key-{run_id}", "x", run_id, 0)
        await store.append(Write(run_id, sample_records(1, 10), row, None, record))
    await begin_run(store, "running", events=10, last_seq=10)
    await begin_run(store, "paused", events=10, status="paused", last_seq=10)
    ages = PurgeAges(DAY.format(8), 4, DAY.format(3), DAY.format(1))
    assert await store.purge(ages, limit=1) > 0
    # several at once, as processes that share a store do
    while any(await asyncio.gather(*(store.purge(ages) for _ in range(3)))):
        pass
    assert sorted(await run_ids(store)) == ["new", "old", "paused", "running"]
    assert (await store.row("old"), await store.records("old")) == (old, [])
    assert await store.records("new") == sample_records(7, 10)
    assert await store.records("new", after=8, limit=1) == sample_records(9, 9)
    assert await store.records("older") == []
    assert await store.idempotency_record("key-older") is None
    assert await store.idempotency_record("key-new") is not None
    for run_id in ("running", "paused"):
        assert len(await store.records(run_id)) == 10
    # SQLite finds runs with more than 1,000 events by an index of their own
    await begin_run(store, "long", 2500, "completed", ended_at=DAY.format(9), last_seq=2500)
    await store.purge(replace(ages, max_events=1500))
    assert await store.records("long", limit=1) == sample_records(1001, 1001)
    # a run goes with the events that it still has
    await store.purge(PurgeAges(DAY.format(1), 1500, DAY.format(10), DAY.format(1)))
    assert sorted(await run_ids(store)) == ["paused", "running"]
    assert await store.records("long") == []


async def newest_runs_keep_their_events(store: RunStore) -> None:
    """Check that what has ended since a time of its status keeps its events, even old ones."""
    ends: list[tuple[RunStatus, int]] = [("completed", 2), ("completed", 4)]
    ends += [("failed", 2), ("failed", 4), ("cancelled", 4)]
    for number, (status, day) in enumerate(ends):
        more = {"ended_at": DAY.format(day), "last_seq": 3}
        await begin_run(store, f"r{number}", 3, status, **more)
    kept = {"completed": DAY.format(3), "failed": DAY.format(1)}
    ages = PurgeAges(DAY.format(8), 10, "", DAY.format(1), kept)
    while await store.purge(ages):
        pass
    found = [len(await store.records(f"r{number}")) for number in range(5)]
    assert found == [0, 3, 3, 3, 0], found


async def the_oldest_are_known(store: RunStore) -> None:
    """Check how far back a store reaches, and the time before which so many runs have ended."""
    assert (await store.reach()).runs_since is None
    assert await store.oldest_end(2, {}, with_events=False) is None
    for day in (5, 3, 4):
        more = {"ended_at": DAY.format(day), "last_seq": 2, "stored_bytes": 900}
        await begin_run(store, f"r{day}", 2, "completed", revision=f"rev{day % 2}", **more)
    await begin_run(store, "paused", status="paused")
    before = await store.oldest_end(1, {}, with_events=True) or ""
    assert await store.purge(replace(NOTHING_OLD, events_before=before)) == 1
    found = await store.reach()
    assert (found.events_since, found.runs_since) == (DAY.format(4), DAY.format(3))
    assert found.bytes > 0
    # what is kept for replays is none of them, and no purge deletes it
    kept = {"completed": DAY.format(4)}
    assert await store.oldest_end(9, kept, with_events=True) is None
    assert await store.oldest_end(9, kept, with_events=False) == f"{DAY.format(3)}~"
    whole = replace(NOTHING_OLD, runs_before="~", kept_since={"completed": ""}, keeps_runs=True)
    assert await store.purge(whole) == 0
    before = await store.oldest_end(2, {}, with_events=False) or ""
    assert await store.purge(replace(NOTHING_OLD, runs_before=before)) == 2
    assert sorted(await run_ids(store)) == ["paused", "r5"]
    assert await store.oldest_end(9, {}, with_events=True) == await store.oldest_end(
        1, {}, with_events=False
    )


async def revisions_are_kept_while_needed(store: RunStore) -> None:
    """Check that a revision is purged some time after the last run that was started with it."""
    files = '{"crew.yaml": "è"}'
    revisions = ("rev", "unused", "fresh", "paused", "running")
    for revision in revisions:
        await store.revisions.keep(revision, files, DAY.format(9 if revision == "fresh" else 1))
    await begin_run(store, "r2", status="paused", revision="paused")
    await begin_run(store, "r3", status="running", revision="running")
    await store.revisions.keep("rev", files, DAY.format(2))
    assert await store.revisions.files("rev") == files
    assert await store.revisions.files("none") is None
    await begin_run(store, "r1", status="completed", ended_at=DAY.format(4))
    await store.purge(PurgeAges(DAY.format(1), 10, DAY.format(1), DAY.format(5)))
    kept = [await store.revisions.files(one) for one in revisions]
    assert kept == [files, None, files, files, files]
    await store.purge(PurgeAges(DAY.format(5), 10, DAY.format(5), DAY.format(5)))
    await store.purge(PurgeAges(DAY.format(5), 10, DAY.format(5), DAY.format(5)))
    assert sorted(await run_ids(store)) == ["r2", "r3"]
    assert await store.revisions.files("rev") is None
    assert [await store.revisions.files(one) for one in ("paused", "running")] == [files, files]


async def the_newest_revisions_are_kept(store: RunStore) -> None:
    """Check what is noted of revisions that are loaded, and how long they are kept."""
    revisions, start = store.revisions, Loading("start")
    first = Load(0, "aa1", DAY.format(1), start, 2, {"shop.py": "5e"})
    await revisions.note(first)
    await revisions.note(Load(0, "aa1", DAY.format(2), Loading("reload", "olga"), 2))
    edited = Load(0, "ab2", DAY.format(3), Loading("edit", "olga", "a reason"), 0)
    await revisions.note(edited)
    back = Load(0, "aa1", DAY.format(4), Loading("rollback", "olga", "back"), 2)
    await revisions.note(back)
    await begin_run(store, "r1", status="paused", revision="aa1")
    await begin_run(store, "r2", status="completed", revision="aa1", ended_at=DAY.format(4))
    assert list(await revisions.loads(2)) == [
        replace(back, number=3, live_runs=1, runs=2),
        replace(edited, number=2),
    ]
    again = replace(first, number=1, loaded_at=DAY.format(2), live_runs=1, runs=2)
    assert list(await revisions.loads(9, 2)) == [again]
    found = {
        text: [one.number for one in await revisions.find(text)]
        for text in ("1", "a", "aa", "ab2", "x", "%", "9")
    }
    assert found == {"1": [1], "a": [3, 2], "aa": [3], "ab2": [2], "x": [], "%": [], "9": []}
    for number in range(KEPT_REVISIONS):
        await revisions.keep(f"n{number}", "{}", DAY.format(1))
        await revisions.note(Load(0, f"n{number}", DAY.format(5), start, 0))
    await revisions.keep("aa1", "{}", DAY.format(1))
    await revisions.keep("ab2", "{}", DAY.format(1))
    await store.purge(PurgeAges(DAY.format(1), 10, DAY.format(1), DAY.format(6)))
    kept = [await revisions.files(one) for one in ("aa1", "ab2", "n0")]
    assert kept == ["{}", None, "{}"]
    oldest = [one.number for one in await revisions.loads(9, 5)]
    assert oldest == [4, 3, 1], "a load without files is gone"
