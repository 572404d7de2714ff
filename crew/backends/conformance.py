"""What every store promises, as checks that any store can be put to: `for check in CHECKS.

Await check(empty_store)`.

Each takes a store with nothing in it and raises AssertionError, or StoreError, where a promise is
broken.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agents.model import Usage
from crew.errors import LostRun, StoreError
from crew.journal.state import Status
from crew.journal.store import Receipt, Record, RunRow, RunStore, Write


def a_row(run_id: str, status: Status = "running", **more: object) -> RunRow:
    """A row with something in every field that a store has to keep."""
    kept = RunRow(
        run_id,
        "crew",
        status,
        "què?",
        "2026-01-01T00:00:00.000Z",
        "req",
        "rev",
        usage=Usage(1, 2, 0.5),
    )
    return replace(kept, **more)  # type: ignore[arg-type] # fields of RunRow


def some_records(first: int, last: int) -> list[Record]:
    """Events of these numbers."""
    return [Record(n, f'{{"n": {n}}}', f'["X",{n}]') for n in range(first, last + 1)]


async def what_is_written_is_read(store: RunStore) -> None:
    """Rows whole, events in order and in pages."""
    epoch = await store.append(Write("r1", some_records(1, 3), a_row("r1")))
    await store.append(Write("r1", some_records(4, 7), epoch=epoch))
    assert await store.row("r1") == a_row("r1")
    assert await store.row("none") is None
    assert await store.records("r1") == some_records(1, 7)
    assert await store.records("r1", after=2, limit=3) == some_records(3, 5)
    assert await store.records("r1", after=7) == []
    assert await store.records("none") == []


async def what_was_asked_for_is_written(store: RunStore) -> None:
    """Also when who asked for it waits no longer."""

    async def asking() -> None:
        await store.append(Write("r1", some_records(1, 2), a_row("r1")))

    asked = asyncio.create_task(asking())
    await asyncio.sleep(0)
    asked.cancel()
    async with asyncio.timeout(10):
        while await store.row("r1") is None:  # noqa: ASYNC110 # a store rings for nobody who wrote
            await asyncio.sleep(0.01)
    assert await store.records("r1") == some_records(1, 2)


async def a_status_is_compared_and_swapped(store: RunStore) -> None:
    """A wrong expectation writes nothing; of many at once one wins."""
    await store.append(Write("r1", some_records(1, 1), a_row("r1", "paused")))
    assert not await store.append(Write("r1", some_records(2, 2), a_row("r1"), expected="running"))
    assert not await store.append(
        Write("none", some_records(1, 1), a_row("none"), expected="paused")
    )
    assert await store.records("r1") == some_records(1, 1)
    answer = Write("r1", some_records(2, 2), a_row("r1"), expected="paused")
    won = await asyncio.gather(*(store.append(answer) for _ in range(10)))
    assert sum(map(bool, won)) == 1
    assert await store.records("r1") == some_records(1, 2)


async def a_number_is_given_once(store: RunStore) -> None:
    """Writing an event again is an error, and leaves all as it was.

    Other writes at the same moment go through.
    """
    await store.append(Write("r1", some_records(1, 2), a_row("r1")))
    writes = [store.append(Write("r1", some_records(2, 3), a_row("r1", "failed")))]
    writes += [
        store.append(Write(f"other{n}", some_records(1, 1), a_row(f"other{n}"))) for n in range(5)
    ]
    done = await asyncio.gather(*writes, return_exceptions=True)
    assert [isinstance(one, StoreError) for one in done] == [True] + [False] * 5
    assert await store.row("r1") == a_row("r1")
    assert await store.records("r1") == some_records(1, 2)
    assert len(await store.rows()) == 6


async def who_lost_a_run_writes_nothing(store: RunStore) -> None:
    """The newest taker writes; those before it no longer, neither events nor the row.

    Of many takers of one epoch one wins.
    """
    first = await store.append(Write("r1", some_records(1, 2), a_row("r1")))
    assert await store.append(Write("r1", some_records(3, 3), epoch=first)) == first
    taken = await store.take("r1")
    assert taken is not None
    assert taken.row == a_row("r1")
    for row in (None, a_row("r1", "completed")):
        try:
            await store.append(Write("r1", some_records(4, 4), row, epoch=first))
        except LostRun:
            continue
        raise AssertionError("a write of an epoch that is over")
    assert (await store.records("r1", 3), await store.row("r1")) == ([], a_row("r1"))
    assert await store.append(Write("r1", some_records(4, 4), epoch=taken.epoch)) == taken.epoch
    won = await asyncio.gather(*(store.take("r1", taken.epoch) for _ in range(8)))
    assert sum(one is not None for one in won) == 1


async def only_what_runs_is_taken(store: RunStore) -> None:
    """Not what is paused or has ended; an answer takes it away from whoever wrote it before."""
    paused = await store.append(Write("r1", some_records(1, 1), a_row("r1", "paused")))
    assert await store.take("r1") is None
    assert await store.take("none") is None
    resumed = await store.append(Write("r1", some_records(2, 2), a_row("r1"), "paused"))
    assert resumed not in (0, paused)
    try:
        await store.append(Write("r1", some_records(3, 3), epoch=paused))
    except LostRun:
        pass
    else:
        raise AssertionError("a write of before the pause")
    assert (
        await store.append(Write("r1", some_records(3, 3), a_row("r1", "completed"), epoch=resumed))
        == resumed
    )
    assert await store.take("r1") is None


async def whom_to_cancel_is_remembered(store: RunStore) -> None:
    """Until the run has ended."""
    for name in ("r1", "r2"):
        await store.append(Write(name, some_records(1, 1), a_row(name)))
    await store.ask_to_cancel("r1")
    await store.ask_to_cancel("r1")
    await store.ask_to_cancel("none")
    assert await store.to_cancel() == [a_row("r1")]
    await store.append(Write("r1", some_records(2, 2), a_row("r1", "paused")))
    assert await store.to_cancel() == [a_row("r1", "paused")]
    await store.append(
        Write(
            "r1", some_records(3, 3), a_row("r1", "cancelled", ended_at="2026-01-01T00:00:00.000Z")
        )
    )
    assert await store.to_cancel() == []


async def rows_are_listed_newest_first(store: RunStore) -> None:
    """By status and in pages; and counted."""
    for n in range(5):
        await store.append(
            Write(f"r{n}", some_records(1, 1), a_row(f"r{n}", "paused" if n % 2 else "running"))
        )
    assert [row.run_id for row in await store.rows()] == ["r4", "r3", "r2", "r1", "r0"]
    assert [row.run_id for row in await store.rows(limit=2, after="r3")] == ["r2", "r1"]
    assert [row.run_id for row in await store.rows("paused")] == ["r3", "r1"]
    await store.append(Write("r3", some_records(2, 2), a_row("r3", "completed")))
    assert [row.run_id for row in await store.rows("paused")] == ["r1"]
    assert (
        await store.count("paused"),
        await store.count("completed"),
        await store.count("failed"),
    ) == (1, 1, 0)


async def a_key_begins_one_thing(store: RunStore) -> None:
    """Of many at once with one key one is written; what it began can be asked for."""
    receipts = [Receipt("key", f"print{n}", f"r{n}", 0) for n in range(8)]
    won = await asyncio.gather(
        *(
            store.append(Write(r.run_id, some_records(1, 1), a_row(r.run_id), None, r))
            for r in receipts
        )
    )
    (winner,) = [receipt for receipt, epoch in zip(receipts, won, strict=True) if epoch]
    assert await store.receipt("key") == winner
    assert [row.run_id for row in await store.rows()] == [winner.run_id]
    assert await store.receipt("other") is None


async def a_key_is_free_where_nothing_was_begun(store: RunStore) -> None:
    """A write that is refused for its status keeps no receipt."""
    await store.append(Write("r1", some_records(1, 1), a_row("r1")))
    receipt = Receipt("key", "print", "r1", 1)
    assert not await store.append(Write("r1", some_records(2, 2), a_row("r1"), "paused", receipt))
    assert await store.receipt("key") is None


async def pauses_fall_due(store: RunStore) -> None:
    """Earliest first; not before their time, nor once they are answered."""
    for n in (3, 1, 2):
        row = a_row(f"r{n}", "paused", paused_until=f"2026-01-0{n}T00:00:00.000Z")
        await store.append(Write(row.run_id, some_records(1, 1), row))
    await store.append(Write("r4", some_records(1, 1), a_row("r4", "paused")))
    assert [row.run_id for row in await store.due("2026-01-02T00:00:00.000Z")] == ["r1", "r2"]
    assert [row.run_id for row in await store.due("2026-02-01T00:00:00.000Z", limit=1)] == ["r1"]
    await store.append(Write("r1", some_records(2, 2), a_row("r1"), "paused"))
    assert [row.run_id for row in await store.due("2026-01-02T00:00:00.000Z")] == ["r2"]


async def what_is_old_is_swept(store: RunStore) -> None:
    """First the events, then the run; of long runs all but the newest events.

    What goes on or is paused stays.
    """
    ended = {"new": "2026-01-09", "old": "2026-01-05", "older": "2026-01-01"}
    for run_id, day in ended.items():
        row = a_row(run_id, "completed", ended_at=f"{day}T00:00:00.000Z", events=10)
        await store.append(
            Write(run_id, some_records(1, 10), row, None, Receipt(f"key-{run_id}", "x", run_id, 0))
        )
    open_: tuple[Status, ...] = ("running", "paused")
    for status in open_:
        await store.append(Write(status, some_records(1, 10), a_row(status, status, events=10)))
    times = ("2026-01-08T00:00:00.000Z", 4, "2026-01-03T00:00:00.000Z")
    assert await store.sweep(*times, limit=1) > 0
    # several at once, as processes that share a store do
    while any(await asyncio.gather(*(store.sweep(*times) for _ in range(3)))):
        pass
    assert sorted(row.run_id for row in await store.rows()) == ["new", "old", "paused", "running"]
    assert (await store.row("old"), await store.records("old")) == (
        a_row("old", "completed", ended_at="2026-01-05T00:00:00.000Z", events=10),
        [],
    )
    assert await store.records("new") == some_records(7, 10)
    assert await store.records("new", after=8, limit=1) == some_records(9, 9)
    assert await store.records("older") == []
    assert (await store.receipt("key-older"), (await store.receipt("key-new")) is not None) == (
        None,
        True,
    )
    for status in open_:
        assert len(await store.records(status)) == 10


async def configurations_are_kept(store: RunStore) -> None:
    """By their revision; once is enough."""
    await store.keep_revision("abc", '{"crew.yaml": "è"}')
    await store.keep_revision("abc", '{"crew.yaml": "è"}')
    assert await store.revision("abc") == '{"crew.yaml": "è"}'
    assert await store.revision("none") is None


CHECKS: tuple[Callable[[RunStore], Awaitable[None]], ...] = (
    what_is_written_is_read,
    what_was_asked_for_is_written,
    a_status_is_compared_and_swapped,
    a_number_is_given_once,
    who_lost_a_run_writes_nothing,
    only_what_runs_is_taken,
    whom_to_cancel_is_remembered,
    rows_are_listed_newest_first,
    a_key_begins_one_thing,
    a_key_is_free_where_nothing_was_begun,
    pauses_fall_due,
    what_is_old_is_swept,
    configurations_are_kept,
)
