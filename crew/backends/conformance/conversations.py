"""Conversations and chores: checks of what every store promises."""

import asyncio
from dataclasses import replace
from typing import get_args

from crew.backends.conformance.samples import DAY, sample_records, sample_row
from crew.journal.events import RunStatus
from crew.journal.records.conversations import ChoreKind, Conversation, Exchange, Fact, Summary
from crew.journal.records.exchanges import ChoreRules, ExchangeEnd, ExchangeStart, Refused
from crew.journal.records.rows import (
    Appended,
    AppendResult,
    IdempotencyRecord,
    KeyTaken,
    Notice,
    Write,
)
from crew.journal.store import RunStore

OWNER, ID, AT = "user:ann", "c1", DAY.format(1)
KINDS = get_args(ChoreKind)
EACH = ChoreRules(title_after=1, unsummarised=2)


def start(run_id: str, number: int, **more: object) -> ExchangeStart:
    """Start a run that is to be this exchange."""
    start = ExchangeStart(OWNER, ID, run_id, number, AT, "the title", 100)
    return replace(start, **more)  # type: ignore[arg-type] # of a check


def ended(run_id: str, number: int, answer: str = "a", rules: ChoreRules = EACH) -> ExchangeEnd:
    """Return the end of a run as this exchange."""
    status: RunStatus = "completed" if answer else "failed"
    one = Exchange(number, run_id, f"q{number}", answer, "x", "X", status, AT, AT)
    one = replace(one, transcript=f"all of {answer}" if answer else "")
    return ExchangeEnd(OWNER, ID, one, bool(answer), rules)


async def begin_conversation(
    store: RunStore,
    run_id: str,
    exchange: ExchangeStart,
    *,
    key: str | None = None,
    first: int = 1,
    expected: RunStatus | None = None,
) -> AppendResult:
    """Write the first event of a segment, with its row."""
    row = sample_row(run_id, user_id="ann", conversation_id=ID, exchange=exchange.number)
    record = IdempotencyRecord(key, "f", run_id, 0) if key is not None else None
    records = sample_records(first, first)
    return await store.append(Write(run_id, records, row, expected, record, exchange=exchange))


async def continue_run(
    store: RunStore,
    run_id: str,
    exchange: ExchangeEnd,
    *,
    first: int = 2,
    epoch: int = 1,
    notices: tuple[Notice, ...] = (),
) -> Appended:
    """Write the last event of a run, with its row."""
    status, number = exchange.exchange.status, exchange.exchange.number
    row = sample_row(
        run_id,
        status,
        user_id="ann",
        conversation_id=ID,
        exchange=number,
        ended_at=AT,
        answer=exchange.exchange.answer,
    )
    records = sample_records(first, first)
    write = Write(run_id, records, row, epoch=epoch, notices=notices, exchange=exchange)
    result = await store.append(write)
    assert isinstance(result, Appended), result
    return result


async def play_exchange(store: RunStore, run_id: str, number: int, answer: str = "a") -> None:
    """Run one exchange, from its start to its end."""
    result = await begin_conversation(store, run_id, start(run_id, number))
    assert isinstance(result, Appended), result
    await continue_run(store, run_id, ended(run_id, number, answer))


async def one_run_at_a_time_is_an_exchange(store: RunStore) -> None:
    """Check that a second start is refused and leaves nothing; so is a number that is taken."""
    log = store.conversations
    assert await log.get(OWNER, ID) is None
    first = await begin_conversation(store, "r1", start("r1", 1))
    assert first == Appended(1), first
    refused = await begin_conversation(store, "r2", start("r2", 2), key="k")
    assert refused == Refused("busy", "r1"), refused
    assert await store.row("r2") is None
    assert await store.idempotency_record("k") is None
    known = await log.get(OWNER, ID)
    assert known is not None
    assert (known.busy, known.started, known.exchanges) == ("r1", 1, 0), known
    assert (known.title, known.titled_by) == ("the title", "query"), known
    await continue_run(store, "r1", ended("r1", 1))
    moved = await begin_conversation(store, "r3", start("r3", 1))
    assert moved == Refused("moved", "r1"), moved
    full = await begin_conversation(store, "r3", start("r3", 2, max_exchanges=1))
    assert full == Refused("full"), full
    known = await log.get(OWNER, ID)
    assert known is not None
    assert (known.busy, known.exchanges, known.shown) == (None, 1, 1), known
    assert await log.get("user:eve", ID) is None


async def exchanges_are_read_in_order(store: RunStore) -> None:
    """Check pages of all exchanges, and of those that models are shown, without failed ones."""
    log = store.conversations
    for number, answer in enumerate(("a", "", "c", "d"), 1):
        await play_exchange(store, f"r{number}", number, answer)
    found = await log.exchanges(OWNER, ID, 1, 2)
    assert [(one.number, one.position) for one in found] == [(2, None), (3, 2)], found
    shown = await log.shown(OWNER, ID, 1, transcripts=True)
    assert [(one.number, one.position) for one in shown] == [(3, 2), (4, 3)], shown
    assert [one.transcript for one in shown] == ["all of c", "all of d"], shown
    (first,) = await log.shown(OWNER, ID, 0, 1, transcripts=False)
    assert (first.number, first.answer, first.transcript) == (1, "a", ""), first
    assert await log.exchanges("user:eve", ID) == []


async def runs_wait_for_their_turn(store: RunStore) -> None:
    """Check that ten wait at most, and that the oldest goes on when the one at work has ended."""
    log = store.conversations
    await begin_conversation(store, "r1", start("r1", 1))
    for number in range(2, 12):
        waits = await begin_conversation(
            store, f"r{number}", start(f"r{number}", number, may_wait=True)
        )
        assert waits == Appended(1, waits=True), waits
    refused = await begin_conversation(store, "r12", start("r12", 12, may_wait=True))
    assert refused == Refused("waiting", "r1"), refused
    assert await log.waiting(["r1", "r2", "r3", "r12"]) == {"r2", "r3"}
    # one that is ended while it waits
    cancelled = await continue_run(store, "r2", ended("r2", 2, ""))
    assert cancelled.next_run is None, cancelled
    promoted = await continue_run(store, "r1", ended("r1", 1))
    assert promoted.next_run == "r3", promoted
    known = await log.get(OWNER, ID)
    assert known is not None
    assert (known.busy, known.started, known.exchanges) == ("r3", 11, 2), known
    assert await log.waiting(["r3", "r4"]) == {"r4"}


async def a_retried_run_is_the_same_exchange(store: RunStore) -> None:
    """Check that a retry replaces its exchange, if no other one came since."""
    log = store.conversations
    await play_exchange(store, "r1", 1)
    await play_exchange(store, "r2", 2, "")
    again = start("r2", 2, again=True)
    result = await begin_conversation(store, "r2", again, first=3, expected="failed")
    assert isinstance(result, Appended), result
    await continue_run(store, "r2", ended("r2", 2, "b"), first=4, epoch=result.epoch)
    found = await log.exchanges(OWNER, ID)
    assert [(one.number, one.answer, one.position) for one in found] == [(1, "a", 1), (2, "b", 2)]
    known = await log.get(OWNER, ID)
    assert known is not None
    assert (known.exchanges, known.shown, known.busy) == (2, 2, None), known


async def a_key_starts_one_exchange(store: RunStore) -> None:
    """Check that the same request again starts none, and finds the first."""
    await begin_conversation(store, "r1", start("r1", 1), key="k")
    again = await begin_conversation(store, "r2", start("r2", 2), key="k")
    assert isinstance(again, KeyTaken), again
    assert again.record.run_id == "r1"


async def conversations_are_listed_by_use(store: RunStore) -> None:
    """Check lists: last used first, in pages, by a part of the title or a query, in any case."""
    log = store.conversations
    for number in range(4):
        at = f"2026-01-0{number + 1}T00:00:00.000Z"
        made = Conversation(OWNER, f"c{number}", at, at, f"Title Ü{number}", metadata={"n": number})
        assert await log.create(made)
        assert not await log.create(made)
    found = await log.listed(OWNER, 2)
    assert [one.conversation_id for one in found] == ["c3", "c2"], found
    assert found[0].metadata == {"n": 3}
    rest = await log.listed(OWNER, 5, (found[-1].used_at, found[-1].conversation_id))
    assert [one.conversation_id for one in rest] == ["c1", "c0"], rest
    assert [one.conversation_id for one in await log.listed(OWNER, text="title ü2")] == ["c2"]
    assert await log.listed("crew") == []
    assert await log.set_title(OWNER, "c1", "by a helper", "helper")
    assert await log.set_title(OWNER, "c1", "by a person", "person")
    assert not await log.set_title(OWNER, "c1", "by a helper again", "helper")
    assert not await log.set_title(OWNER, "nosuch", "x", "person")
    assert await log.set_metadata(OWNER, "c1", {"a": [1]})
    known = await log.get(OWNER, "c1")
    assert known is not None
    assert (known.title, known.metadata) == ("by a person", {"a": [1]}), known
    assert sorted(await log.old("2026-01-03T00:00:00.000Z")) == [(OWNER, "c0"), (OWNER, "c1")]


async def any_character_is_kept_and_searched(store: RunStore) -> None:
    """Check that a NUL is kept as it is or as the replacement character."""
    log = store.conversations
    title, metadata = "\\u0000 y \0", {"a\0": "\0\\\0"}
    assert await log.create(Conversation(OWNER, ID, AT, AT, title, metadata=metadata))
    await begin_conversation(store, "r1", start("r1", 1))
    await continue_run(store, "r1", ended("r1", 1, "b\0c"))
    assert [one.conversation_id for one in await log.listed(OWNER, text="\\u0000 Y")] == [ID]
    assert await log.listed(OWNER, text="z\0") == []
    known, row = await log.get(OWNER, ID), await store.row("r1")
    assert known is not None
    assert known.title.replace("\ufffd", "\0") == title, known
    assert row is not None
    assert (row.answer or "").replace("\ufffd", "\0") == "b\0c", row


async def summaries_are_kept_in_versions(store: RunStore) -> None:
    """Check that only the next version is taken, and that five stay."""
    log = store.conversations
    for number in range(1, 8):
        await play_exchange(store, f"r{number}", number)
    # of another conversation that had this id, or of more than there is
    assert not await log.add_summary(OWNER, ID, Summary(1, 1, "s", (), AT), "2025")
    assert not await log.add_summary(OWNER, ID, Summary(1, 8, "s", (), AT), AT)
    assert not await log.set_title(OWNER, ID, "x", "helper", "2025")
    for version in range(1, 8):
        facts = (Fact("f", "q", 1),)
        made = Summary(version, version, f"s{version}", facts, AT)
        kept = await asyncio.gather(
            log.add_summary(OWNER, ID, made, AT), log.add_summary(OWNER, ID, made, AT)
        )
        assert sorted(kept) == [False, True], kept
    newest = await log.summary(OWNER, ID)
    assert newest == Summary(7, 7, "s7", (Fact("f", "q", 1),), AT), newest
    earlier = await log.summary(OWNER, ID, 4)
    assert earlier is not None
    assert earlier.version == 4
    assert await log.summary(OWNER, ID, 2) is None
    known = await log.get(OWNER, ID)
    assert known is not None
    assert (known.summary_version, known.summarised) == (7, 7), known


async def conversations_are_forked(store: RunStore) -> None:
    """Check that a fork has the exchanges up to a number, and their summary."""
    log = store.conversations
    for number in range(1, 5):
        await play_exchange(store, f"r{number}", number)
    for version, through in ((1, 1), (2, 3)):
        await log.add_summary(OWNER, ID, Summary(version, through, f"s{version}", (), AT), AT)
    copy = Conversation(OWNER, "c2", AT, AT)
    assert await log.fork(OWNER, ID, 2, copy)
    assert not await log.fork(OWNER, ID, 2, copy)
    assert not await log.fork("user:eve", ID, 2, replace(copy, conversation_id="c3"))
    known = await log.get(OWNER, "c2")
    assert known is not None
    assert (known.title, known.started, known.shown, known.busy) == ("the title", 2, 2, None)
    assert (known.summarised, known.summary_version) == (1, 1), known
    assert [one.number for one in await log.exchanges(OWNER, "c2")] == [1, 2]
    summary = await log.summary(OWNER, "c2")
    assert summary is not None
    assert (summary.text, summary.version) == ("s1", 1), summary


async def a_deleted_conversation_leaves_nothing(store: RunStore) -> None:
    """Check that a deletion leaves no rows, and is refused while a run is at work."""
    log = store.conversations
    await begin_conversation(store, "r1", start("r1", 1), key="k")
    assert await log.delete(OWNER, ID) == "busy"
    notice = Notice("r1:2:c", "c", "done", AT, "crew", "r1", 2, "completed", None, None, "q", "t")
    await continue_run(store, "r1", ended("r1", 1), notices=(notice,))
    await log.add_summary(OWNER, ID, Summary(1, 1, "s", (), AT), AT)
    assert await log.delete("user:eve", ID) == "none"
    assert await log.delete(OWNER, ID) == "deleted"
    assert await log.delete(OWNER, ID) == "none"
    assert await store.row("r1") is None
    assert await store.records("r1") == []
    assert await store.idempotency_record("k") is None
    assert await store.outbox.take("c", AT, AT, 5) == []
    assert await log.exchanges(OWNER, ID) == []
    assert await log.summary(OWNER, ID) is None
    assert await store.chores.counts() == {}
    # a conversation of the same id begins anew
    await play_exchange(store, "r2", 1)
    assert [one.run_id for one in await log.exchanges(OWNER, ID)] == ["r2"]


async def chores_wait_until_they_are_done(store: RunStore) -> None:
    """Check that ends of runs make chores once, and that one worker at a time has each."""
    chores, later = store.chores, "2027-01-01T00:00:00.000Z"
    await play_exchange(store, "r1", 1)
    assert await chores.counts() == {"title": 1}
    await play_exchange(store, "r2", 2)
    assert await chores.counts() == {"title": 1, "summary": 1}
    assert await chores.take(AT, later, 5, []) == []
    taken = await chores.take(AT, later, 5, ["title"])
    taken += await chores.take(AT, later, 5, KINDS)
    assert [one.kind for one in taken] == ["title", "summary"], taken
    assert {(one.owner, one.key, one.attempts) for one in taken} == {(OWNER, ID, 1)}
    title, summary = taken
    # it is under way: what makes it necessary again changes nothing
    await play_exchange(store, "r3", 3)
    assert await chores.take(AT, later, 5, KINDS) == []
    await chores.postpone(title, AT)
    (again,) = await chores.take(AT, later, 5, KINDS)
    assert (again.kind, again.attempts) == ("title", 2), again
    # whose time was over has it no more
    await chores.finish(title, AT)
    # it became necessary again, and is due again
    await chores.finish(summary, AT)
    await chores.finish(again, AT)
    taken = await chores.take(AT, later, 5, KINDS)
    assert sorted((one.kind, one.attempts) for one in taken) == [("summary", 1), ("title", 1)]
    for one in taken:
        await chores.finish(one, AT, more=one.kind == "title")
    assert await chores.counts() == {"title": 1}
    (more,) = await chores.take(AT, later, 5, KINDS)
    await chores.finish(more, AT)
    assert await chores.counts() == {}


async def a_run_that_is_over_keeps_no_conversation_busy(store: RunStore) -> None:
    """Check it also for runs that an older version has ended, which writes no exchange."""
    log = store.conversations
    await begin_conversation(store, "r1", start("r1", 1))
    over = sample_row("r1", "completed", user_id="ann", conversation_id=ID, ended_at=AT)
    await store.append(Write("r1", sample_records(2, 2), over, epoch=1))
    assert await begin_conversation(store, "r2", start("r2", 2)) == Appended(1)
    over = replace(over, run_id="r2")
    await store.append(Write("r2", sample_records(2, 2), over, epoch=1))
    assert await log.delete(OWNER, ID, "2000") == "busy"
    assert await log.delete(OWNER, ID) == "deleted"


CHECKS = (
    one_run_at_a_time_is_an_exchange,
    exchanges_are_read_in_order,
    runs_wait_for_their_turn,
    a_retried_run_is_the_same_exchange,
    a_key_starts_one_exchange,
    conversations_are_listed_by_use,
    any_character_is_kept_and_searched,
    summaries_are_kept_in_versions,
    conversations_are_forked,
    a_deleted_conversation_leaves_nothing,
    chores_wait_until_they_are_done,
    a_run_that_is_over_keeps_no_conversation_busy,
)
