"""What is written is read, listed, and refused where it must be."""

import asyncio
from datetime import datetime
from typing import Any

from crew.backends.conformance.samples import (
    DAY,
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    begin_run,
    epoch_of,
    run_ids,
    sample_records,
    sample_row,
)
from crew.journal.errors import LostEvents, StoreError
from crew.journal.events import RunStatus
from crew.journal.records.listing import MAX_LISTED_BYTES, RunFilter
from crew.journal.records.rows import (
    MAX_PAGE_BYTES,
    Appended,
    IdempotencyRecord,
    KeyTaken,
    Opened,
    Record,
    StatusDiffers,
    Write,
)
from crew.journal.store import RunStore


async def what_is_written_is_read(store: RunStore) -> None:
    """Check that rows are read whole, and events in order and in pages."""
    epoch = await begin_run(store, "r1", events=3)
    await store.append(Write("r1", sample_records(4, 7), epoch=epoch))
    assert await store.row("r1") == sample_row("r1")
    assert await store.row("none") is None
    assert await store.records("r1") == sample_records(1, 7)
    assert await store.records("r1", after=2, limit=3) == sample_records(3, 5)
    assert await store.records("r1", after=7) == []
    assert await store.records("none") == []
    assert await store.opened("r1") == Opened(sample_row("r1"), await store.records("r1"))
    assert await store.opened("none") is None


async def an_abandoned_write_is_written(store: RunStore) -> None:
    """Check that a write is done even if its caller is cancelled."""
    writing = asyncio.create_task(begin_run(store, "r1", events=2))
    await asyncio.sleep(0)
    writing.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await store.row("r1") is None:  # noqa: ASYNC110 # a store notifies no writer
            await asyncio.sleep(LOOK_SECONDS)
    assert await store.records("r1") == sample_records(1, 2)


async def a_status_is_compared_and_swapped(store: RunStore) -> None:
    """Check that a wrong expectation writes nothing, and that of many at once one wins."""
    await begin_run(store, "r1", status="paused")
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
    """Check that writing an event again fails and changes nothing."""
    await begin_run(store, "r1", events=2)
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


async def an_event_joins_on(store: RunStore) -> None:
    """Check that nothing is written where the event before it is gone."""
    epoch = await begin_run(store, "r1", events=2)
    paused = await begin_run(store, "r2", status="paused")
    writes = [
        Write("r1", sample_records(4, 5), epoch=epoch),
        Write("r1", sample_records(4, 4), sample_row("r1", "completed"), epoch=epoch),
        Write("r2", sample_records(3, 3), sample_row("r2"), "paused"),
        Write("none", sample_records(2, 2), epoch=epoch),
    ]
    results = await asyncio.gather(*map(store.append, writes), return_exceptions=True)
    assert [type(result) for result in results] == [LostEvents] * 4
    assert await store.row("r1") == sample_row("r1")
    assert await store.row("r2") == sample_row("r2", "paused")
    assert await store.records("r1") == sample_records(1, 2)
    assert await epoch_of(store, Write("r1", sample_records(3, 3), epoch=epoch)) == epoch
    assert await epoch_of(store, Write("r2", sample_records(2, 2), epoch=paused)) == paused


async def rows_of_an_owner_are_listed_alone(store: RunStore) -> None:
    """Check lists of one owner, by status and in pages, too."""
    for n in range(6):
        row = sample_row(f"r{n}", owner="a" if n % 2 else "b")
        await store.append(Write(row.run_id, sample_records(1, 1), row))
    assert [row.run_id for row in await store.rows(RunFilter(owner="a"))] == ["r5", "r3", "r1"]
    page = await store.rows(RunFilter("running", "a"), limit=1, after="r5")
    assert [row.run_id for row in page] == ["r3"]
    assert await store.rows(RunFilter("paused", "a")) == []
    assert await store.rows(RunFilter(owner="nobody")) == []


async def rows_are_found_in_whatever_case(store: RunStore) -> None:
    """Check letters with two lower-case forms, with none of one character, and ligatures."""
    known = {
        "ĐĨA CỨNG đầy": ("đĩa cứng", "ĐẦY"),
        "Große Straße": ("STRASSE", "große"),
        "Ο ΛΟΓΟΣ": ("λογοσ", "ΛΟΓΟς"),
        "\ufb01nd the o\ufb03ce": ("FIND", "\ufb01ND", "office", "OF\ufb01ce"),
        "40 µs of τῳ": ("40 \u03bcS", "\u039c", "ΤΩΙ"),
    }
    for n, query in enumerate(known):
        await begin_run(store, f"r{n}", query=query)
    for n, texts in enumerate(known.values()):
        for text in texts:
            found = await store.rows(RunFilter(text=text))
            assert [row.run_id for row in found] == [f"r{n}"], text


async def rows_are_found_by_what_they_have(store: RunStore) -> None:
    """Check filters by a part of the query, by agent and by time, and the order."""
    queries = ("Disk FULL on db-1", "đĩa đầy 100%", "all good", "disk_full")
    for n, query in enumerate(queries):
        more: dict[str, Any] = {"query": query, "agent_id": f"a{n % 2}"}
        more |= {"started_at": DAY.format(n + 1), "source": "schedule" if n == 1 else "api"}
        more |= {"source_name": f"s{n}", "conversation_id": "c" if n == 2 else ""}
        await begin_run(store, f"r{n}", status="paused", **more)

    async def found(wanted: RunFilter, **page: Any) -> list[str]:
        return [row.run_id for row in await store.rows(wanted, **page)]

    assert await found(RunFilter(text="disk full")) == ["r0"]
    assert await found(RunFilter(text="đầy 100%")) == ["r1"]
    assert await found(RunFilter(text="DISK_f")) == ["r3"]
    assert await found(RunFilter(text="%")) == ["r1"]
    assert await found(RunFilter(source="schedule")) == ["r1"]
    assert await found(RunFilter("paused", source_name="s3")) == ["r3"]
    assert await found(RunFilter("paused", conversation_id="c")) == ["r2"]
    assert await found(RunFilter(agent_id="a1")) == ["r3", "r1"]
    assert await found(RunFilter("paused", agent_id="a0", text="good")) == ["r2"]
    assert await found(RunFilter("running")) == []
    assert await found(RunFilter("paused"), limit=2, oldest_first=True) == ["r0", "r1"]
    assert await found(RunFilter("paused"), after="r1", oldest_first=True) == ["r2", "r3"]
    # ids as runs have them begin with their time
    ids = {}
    for day in (4, 5, 6):
        millis = int(datetime.fromisoformat(DAY.format(day)).timestamp() * 1000)
        ids[day] = f"{millis:012x}{'f' * 20}"
        await begin_run(store, ids[day], started_at=DAY.format(day))
    since = {day: await found(RunFilter("running", since=DAY.format(day))) for day in (4, 5, 6, 7)}
    assert since == {4: [ids[6], ids[5], ids[4]], 5: [ids[6], ids[5]], 6: [ids[6]], 7: []}, since
    between = RunFilter("running", since=DAY.format(4), until=DAY.format(6))
    assert await found(between) == [ids[5], ids[4]]
    assert await found(RunFilter("running", until=DAY.format(4))) == []
    # a month, or a day, is its beginning
    assert await found(RunFilter("running", since=DAY.format(5)[:10])) == [ids[6], ids[5]]
    assert len(await found(RunFilter("running", since=DAY.format(5)[:7]))) == len(ids)


async def rows_are_listed_newest_first(store: RunStore) -> None:
    """Check lists by status and in pages, and counts."""
    epochs = {}
    for n in range(5):
        epochs[n] = await begin_run(store, f"r{n}", status="paused" if n % 2 else "running")
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
    """Check that of many writes with one key one is done, and that the others get its result."""
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
    """Check that a write that is refused for its status leaves its key free."""
    await begin_run(store, "r1")
    record = IdempotencyRecord("key", "print", "r1", 1)
    write = Write("r1", sample_records(2, 2), sample_row("r1"), "paused", record)
    assert await store.append(write) == StatusDiffers("running")
    assert await store.idempotency_record("key") is None


async def large_events_come_in_small_pages(store: RunStore) -> None:
    """Check that an event that is larger than a page comes alone."""
    sizes = [10, MAX_PAGE_BYTES + 10, MAX_PAGE_BYTES // 2, MAX_PAGE_BYTES // 2, 10]
    large = [Record(n, "x" * size, "y") for n, size in enumerate(sizes, 1)]
    await store.append(Write("r1", large, sample_row("r1")))
    found: list[Record] = []
    while len(found) < len(large):
        page = await store.records("r1", len(found))
        sizes = [len(record.public) for record in page]
        assert sum(sizes) <= MAX_PAGE_BYTES or len(page) == 1
        found += page
        assert page.is_last == (len(found) == len(large))
    assert found == large
    opened = await store.opened("r1")
    assert opened == Opened(sample_row("r1"), await store.records("r1"))
    assert not opened.page.is_last


async def a_page_says_whether_it_is_the_last(store: RunStore) -> None:
    """Check it, but for a page with exactly as many events as were requested."""
    await begin_run(store, "r1")
    await store.append(Write("r1", sample_records(2, 5), epoch=1))
    pages = [await store.records("r1", after, 2) for after in (0, 2, 3, 4, 5)]
    lasts = [([one.seq for one in page], page.is_last) for page in pages]
    expected = [([1, 2], False), ([3, 4], False), ([4, 5], False), ([5], True), ([], True)]
    assert lasts == expected
    assert (await store.records("unknown")).is_last


async def lists_have_short_answers(store: RunStore) -> None:
    """Check that lists have the beginning of an answer, and the run's own row the whole."""
    answer = "đ" * MAX_LISTED_BYTES
    for run_id, text in (("r1", answer), ("r2", "short"), ("r3", None)):
        await begin_run(store, run_id, status="completed", answer=text)
    r3, r2, r1 = await store.rows()
    assert (r3.answer, r2.answer) == (None, "short")
    assert r1.answer is not None
    assert r1.answer.startswith("đđ")
    assert r1.answer.endswith("…")
    assert len(r1.answer.encode()) <= MAX_LISTED_BYTES
    assert await store.row("r1") == sample_row("r1", "completed", answer=answer)
