"""One writer at a time: claims, and requests to end a run."""

import asyncio

from crew.backends.conformance.samples import (
    DAY,
    begin_run,
    epoch_of,
    is_lost,
    sample_records,
    sample_row,
)
from crew.journal.records.rows import Appended, Cancellation, Write
from crew.journal.store import RunStore


async def a_former_writer_is_refused(store: RunStore) -> None:
    """Check that a former writer's events and row are refused, and that of many claims one wins."""
    first = await begin_run(store, "r1", events=2)
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
    """Check that paused and ended runs are not claimed, and that an answer takes over a run."""
    paused = await begin_run(store, "r1", status="paused")
    assert await store.claim("r1") is None
    assert await store.claim("none") is None
    answer = Write("r1", sample_records(2, 2), sample_row("r1"), "paused")
    resumed = await epoch_of(store, answer)
    assert resumed != paused
    assert await is_lost(store, Write("r1", sample_records(3, 3), epoch=paused))
    end = Write("r1", sample_records(3, 3), sample_row("r1", "completed"), epoch=resumed)
    assert await epoch_of(store, end) == resumed
    assert await store.claim("r1") is None


async def claimed(store: RunStore, run_id: str) -> tuple[int, int]:
    """Return a claim that must succeed.

    Its epoch, and how many there were since the newest event.
    """
    claim = await store.claim(run_id)
    assert claim is not None
    return claim.epoch, claim.claims


async def claims_without_progress_are_counted(store: RunStore) -> None:
    """Check that an event resets the count, and that a released claim does not count."""
    epoch = await begin_run(store, "r1")
    await begin_run(store, "r2")
    assert await store.claims(["r1", "r2", "none"]) == {}
    first = epoch
    for number in (1, 2, 3):
        epoch, claims = await claimed(store, "r1")
        assert claims == number
        assert await store.claims(["r1", "r2"]) == {"r1": number}
    await store.release("r1", first)
    assert await store.claims(["r1"]) == {"r1": 3}
    await store.release("r1", epoch)
    assert await store.claims(["r1"]) == {"r1": 2}
    await store.append(Write("r1", sample_records(2, 2), epoch=epoch))
    assert await store.claims(["r1"]) == {}
    assert (await claimed(store, "r1"))[1] == 1


async def cancellations_are_kept(store: RunStore) -> None:
    """Check that a cancellation is kept until the run has ended."""
    epoch = await begin_run(store, "r1")
    await begin_run(store, "r2")
    for name in ("r1", "none"):
        await store.request_cancellation(name, "cancelled")
    assert await store.cancellations() == [Cancellation(sample_row("r1"), "cancelled")]
    await store.request_cancellation("r1", "abandoned")
    pause = Write("r1", sample_records(2, 2), sample_row("r1", "paused"), epoch=epoch)
    await store.append(pause)
    paused = sample_row("r1", "paused")
    assert await store.cancellations() == [Cancellation(paused, "abandoned")]
    ended = sample_row("r1", "cancelled", ended_at=DAY.format(1))
    await store.append(Write("r1", sample_records(3, 3), ended, epoch=epoch))
    assert await store.cancellations() == []


async def a_retried_run_is_not_cancelled(store: RunStore) -> None:
    """Check that a cancellation of the failed segment does not end the next one."""
    epoch = await begin_run(store, "r1")
    await store.request_cancellation("r1", "cancelled")
    failed = sample_row("r1", "failed", ended_at=DAY.format(1))
    await store.append(Write("r1", sample_records(2, 2), failed, epoch=epoch))
    again = Write("r1", sample_records(3, 3), sample_row("r1"), expected="failed")
    assert isinstance(await store.append(again), Appended)
    assert await store.cancellations() == []
    await store.request_cancellation("r1", "cancelled")
    assert len(await store.cancellations()) == 1
