"""What time and other processes ask for."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from crew.backends.conformance.samples import (
    DAY,
    PATIENCE_SECONDS,
    begin_run,
    epoch_of,
    is_lost,
    run_ids,
    sample_records,
    sample_row,
)
from crew.journal.records.audit import AuditEntry, AuditFilter
from crew.journal.records.cluster import Written
from crew.journal.records.grants import Grant
from crew.journal.records.notices import ChannelNews, ChannelState
from crew.journal.records.rows import (
    FIRST_EPOCH,
    Appended,
    IdempotencyRecord,
    KeyTaken,
    Newest,
    Notice,
    PurgeAges,
    StatusDiffers,
    Write,
)
from crew.journal.records.schedules import ScheduleState
from crew.journal.records.viewers import Viewer
from crew.journal.store import RunStore
from tools.clock import rfc3339


async def pauses_become_due(store: RunStore) -> None:
    """Check that due pauses come earliest first, each to one process, and again after a while."""
    hours = {"r3": -1, "r1": -3, "r2": -2, "later": 1}
    until = {name: rfc3339(store.now() + timedelta(hours=n)) for name, n in hours.items()}
    for run_id, moment in until.items():
        await begin_run(store, run_id, status="paused", paused_until=moment)
    await begin_run(store, "for ever", status="paused")
    assert await due(store, 2, 0.0) == ["r1", "r2"]
    assert await due(store, 1) == ["r1"]
    taken = await asyncio.gather(*(due(store, 1) for _ in range(4)))
    assert sorted(taken) == [[], [], ["r2"], ["r3"]]
    answered = Write("r1", sample_records(2, 2), sample_row("r1"), "paused")
    epoch = await epoch_of(store, answered)
    assert await due(store) == []
    again = sample_row("r1", "paused", paused_until=until["r1"])
    await store.append(Write("r1", sample_records(3, 3), again, epoch=epoch))
    assert await due(store) == ["r1"]


async def due(store: RunStore, limit: int = 9, seconds: float = 3600.0) -> list[str]:
    """Return the runs with a pause that is over, given to this process."""
    return [row.run_id for row in await store.due_pauses(limit, seconds)]


async def the_store_says_whether_it_can_be_written(store: RunStore) -> None:
    """Check that a probe writes, and changes nothing."""
    await begin_run(store, "r1")
    await store.probe()
    assert store.failing is None
    assert await run_ids(store) == ["r1"]


async def processes_know_of_each_others_listeners(store: RunStore) -> None:
    """Check, where a store is shared, that listeners are known for as long as was announced."""
    await store.announce_listeners("here", ["r1"], 60)
    assert await store.has_listeners("r1", "elsewhere") is store.shared
    assert not await store.has_listeners("r1", "here")
    await store.announce_listeners("here", ["r1"], 0)
    assert not await store.has_listeners("r1", "elsewhere")


async def a_watch_is_notified(store: RunStore) -> None:
    """Check that a watch is notified of what others store or publish.

    A run's beginning need not notify: it is found by looking. What was stored comes with the
    notice, or is read.
    """
    await begin_run(store, "r1")
    second, third, fourth = sample_records(2, 4)
    third = replace(third, public=third.public.replace('"3"', '"x\u2028\u0085\u1ea1"'))
    fourth = replace(fourth, public=fourth.public.replace('"4"', f'"{"x" * 10_000}"'))
    writes = [Write("r1", records, epoch=FIRST_EPOCH) for records in ([second, third], [fourth])]
    with store.watch("r1") as watch:
        if not store.shared:
            await store.append(writes[0])
            assert not watch.notices
            return
        async with asyncio.timeout(PATIENCE_SECONDS):
            # a shared store begins to listen with the first watch
            await watch.wait()
            watch.notices.clear()
            delta = '{"type": "agent_delta"}'
            await store.append(writes[0])
            store.publish_ephemeral("r1", delta)
            await store.append(writes[1])
            store.publish_ephemeral("r1", delta)
            notices: list[Written | str] = []
            while len(notices) < 4:
                await watch.wait()
                notices += [notice for notice in watch.notices if notice is not None]
                watch.notices.clear()
    assert notices[1::2] == [delta, delta]
    for notice, write in zip(notices[::2], writes, strict=True):
        events = tuple(record.public for record in write.records)
        assert notice in (Written(write.records[-1].seq, events), Written(write.records[-1].seq))


async def where_runs_are_is_known(store: RunStore) -> None:
    """Check status and newest event of many runs at once, also where the events are purged."""
    await begin_run(store, "r1", events=3)
    ended = sample_row("r2", "completed", ended_at=DAY.format(1), last_seq=2)
    await store.append(Write("r2", sample_records(1, 2), ended))
    wanted = {"r1": Newest("running", 3), "r2": Newest("completed", 2)}
    assert await store.newest(["r1", "r2", "none"]) == wanted
    ages = PurgeAges(DAY.format(2), 9, DAY.format(1), DAY.format(1))
    while await store.purge(ages):
        pass
    assert await store.records("r2") == []
    opened = await store.opened("r2")
    assert opened is not None
    assert (opened.row.status, opened.page, opened.page.is_last) == ("completed", [], True)
    assert await store.newest(["r1", "r2"]) == wanted


async def acts_are_kept(store: RunStore) -> None:
    """Check that entries are listed newest first, found by action and run, and deleted in parts."""
    acts = [
        AuditEntry(DAY.format(1), "start", "shop", "10.0.0.1", "r1", "q1"),
        AuditEntry(DAY.format(2), "refused", "", "::1", None, "q2", "needs admin"),
        AuditEntry(DAY.format(3), "cancel", "os:me", "local", "r1", detail="x"),
    ]
    for act in acts:
        await store.audit.record(act)
    assert list(await store.audit.entries()) == acts[::-1]
    assert list(await store.audit.entries(1)) == acts[2:]
    for wanted, fitting in (
        (AuditFilter("start"), acts[:1]),
        (AuditFilter(run_id="r1"), [acts[2], acts[0]]),
        (AuditFilter("refused", "r1"), []),
        (AuditFilter(name="shop"), acts[:1]),
        (AuditFilter(name=""), acts[1:2]),
        (AuditFilter(since=DAY.format(2)), [acts[2], acts[1]]),
        (AuditFilter(since=DAY.format(2), until=DAY.format(3)[:10]), [acts[1]]),
    ):
        assert list(await store.audit.entries(9, wanted)) == fitting, wanted
    assert await store.audit.purge(DAY.format(3), limit=1) == 1
    assert await store.audit.purge(DAY.format(3)) == 1
    assert await store.audit.purge(DAY.format(3)) == 0
    assert list(await store.audit.entries()) == acts[2:]


async def a_segment_keeps_who_began_it(store: RunStore) -> None:
    """Check that the entry is in the segment's transaction, and that a refusal leaves none."""
    began = AuditEntry(DAY.format(1), "start", "shop", "10.0.0.1", "r9", "q1", "x")
    key = IdempotencyRecord("k", "f", "r9", 0)
    first = Write("r9", sample_records(1, 1), sample_row("r9"), idempotency=key, entry=began)
    assert [type(await store.append(first)) for _ in range(2)] == [Appended, KeyTaken]
    answered = replace(began, action="answer")
    second = Write("r9", sample_records(2, 2), sample_row("r9"), expected="paused", entry=answered)
    assert isinstance(await store.append(second), StatusDiffers)
    assert list(await store.audit.entries(9, AuditFilter(run_id="r9"))) == [began]
    of_ann = Write("r7", sample_records(1, 1), sample_row("r7", user_id="ann"), entry=began)
    await store.append(replace(of_ann, entry=replace(began, run_id="r7")))
    (kept,) = await store.audit.entries(9, AuditFilter(run_id="r7"))
    assert kept.user_id == "ann", "what is done to a run is about its person"
    plain = replace(began, run_id="r8")
    await store.append(Write("r8", sample_records(1, 1), sample_row("r8"), entry=plain))
    assert list(await store.audit.entries(9, AuditFilter(run_id="r8"))) == [plain]


async def grants_are_kept_until_they_end(store: RunStore) -> None:
    """Check that grants are found by their tools, newest first, until they are revoked."""
    made = [
        Grant(f"g{n}", "pay", definition, "a", {"to": [n, "è"]}, "ann", "r1", DAY.format(n), until)
        for n, definition, until in (
            (1, "old", DAY.format(4)),
            (2, "new", DAY.format(9)),
            (3, "new", DAY.format(9)),
        )
    ]
    await store.grants.add(made)
    await store.grants.add([replace(made[0], by="eve")])
    now = DAY.format(3)
    assert await store.grants.find(now) == made[::-1]
    assert await store.grants.find(now, ["old", "none"]) == made[:1]
    assert await store.grants.find(now, []) == []
    assert await store.grants.find(DAY.format(4)) == made[:0:-1]
    assert await store.grants.revoke("g3")
    assert not await store.grants.revoke("g3")
    assert await store.grants.purge(DAY.format(4)) == 1
    assert await store.grants.find(now) == made[1:2]


async def notices_are_kept_until_they_are_sent(store: RunStore) -> None:
    """Check that notices are written with their event, and each is taken once, in order."""
    made = [
        Notice(f"r1:{n}:{to}", to, "done", DAY.format(n), "crew", "r1", n, "completed", *rest)
        for n, to in ((3, "chat"), (2, "chat"), (2, "mail"))
        for rest in (("terminal", "a", "què?", "hallo", DAY.format(9)),)
    ]
    epoch = await begin_run(store, "r1")
    claimed = await store.claim("r1")
    assert claimed is not None
    assert await is_lost(store, Write("r1", sample_records(2, 2), epoch=epoch, notices=made))
    now, later = DAY.format(4), DAY.format(5)
    assert await store.outbox.take("chat", now, later, 9) == []
    row = sample_row("r1", "completed", ended_at=DAY.format(1))
    await epoch_of(store, Write("r1", sample_records(2, 2), row, epoch=claimed.epoch, notices=made))
    assert await store.outbox.take("chat", DAY.format(1), later, 9) == []
    assert await store.outbox.take("chat", now, later, 1) == [(made[1], 1)]
    assert await store.outbox.take("chat", now, later, 9) == [(made[0], 1)]
    assert await store.outbox.take("chat", now, later, 9) == []
    failed = ChannelNews("chat", DAY.format(3), "failed", "it answers with 500")
    await store.outbox.postpone(made[0].id, DAY.format(3), failed)
    assert await store.outbox.take("chat", now, DAY.format(6), 9) == [(made[0], 2)]
    await store.outbox.finish(made[1].id, ChannelNews("chat", DAY.format(4), "sent"))
    failed_at, error = DAY.format(3), "it answers with 500"
    chat = ChannelState(1, DAY.format(4), 0, "", failed_at, error, 1, DAY.format(3))
    mail = ChannelState(waiting=1, waiting_since=DAY.format(2))
    assert await store.outbox.channels() == {"chat": chat, "mail": mail}
    assert await store.outbox.take("chat", later, DAY.format(6), 9) == []
    begun = Write("r1", sample_records(3, 3), sample_row("r1"), "completed", notices=made[2:])
    # it is there already, and stays as it was
    await epoch_of(store, begun)
    assert await store.outbox.take("mail", now, later, 9) == [(made[2], 1)]
    assert await store.outbox.purge(DAY.format(3)) == 1
    assert await store.outbox.take("mail", later, later, 9) == []
    assert await store.outbox.take("chat", DAY.format(6), DAY.format(7), 9) == [(made[0], 3)]
    alone = [replace(one, id=f"alone:{one.id}", channel="push") for one in made[:2]]
    await store.outbox.add(alone[:1])
    await store.outbox.add(alone)
    found = await store.outbox.take("push", later, DAY.format(6), 9)
    assert found == [(alone[1], 1), (alone[0], 1)]
    for at, outcome in ((6, "given_up"), (5, "sent"), (7, "sent")):
        error = "it is away" if outcome == "given_up" else ""
        news = ChannelNews("push", DAY.format(at), outcome, error)  # type: ignore[arg-type] # of these
        await store.outbox.finish(alone[at % 2].id, news)
    push = (await store.outbox.channels())["push"]
    given_up = (1, DAY.format(6), DAY.format(6), "it is away")
    assert push == ChannelState(2, DAY.format(7), *given_up), push


async def schedules_are_taken_further_by_one(store: RunStore) -> None:
    """Check that only the newest version is replaced, and that a forgotten one begins anew."""
    first = ScheduleState("0 7 * * * UTC", DAY.format(1))
    second = replace(first, due_at=DAY.format(2), pending=True, run_id="r1")
    assert await store.schedules.states() == {}
    assert await store.schedules.move("c:è", first, None)
    assert not await store.schedules.move("c:è", second, None)
    assert await store.schedules.move("c:other", second, None)
    assert not await store.schedules.move("c:none", first, 1)
    assert await store.schedules.states() == {"c:è": (first, 1), "c:other": (second, 1)}
    assert await store.schedules.move("c:è", second, 1)
    assert not await store.schedules.move("c:è", first, 1)
    assert await store.schedules.states() == {"c:è": (second, 2), "c:other": (second, 1)}
    await store.schedules.forget("c:è")
    await store.schedules.forget("c:none")
    assert not await store.schedules.move("c:è", first, 2)
    assert await store.schedules.states() == {"c:other": (second, 1)}


async def viewers_are_known_until_they_end(store: RunStore) -> None:
    """Check that those who look at a run are known, since their first time, until they end."""
    ann = Viewer("r1", "v1", "ann", DAY.format(1), DAY.format(3))
    bo = Viewer("r2", "v2", "bo", DAY.format(2), DAY.format(4))
    for one in (ann, bo, replace(ann, since=DAY.format(2), until=DAY.format(5))):
        await store.viewers.announce(one)
    known = replace(ann, until=DAY.format(5))
    assert await store.viewers.find(["r1", "r2", "r3"], DAY.format(3)) == [known, bo]
    assert await store.viewers.find(["r1", "r2"], DAY.format(4)) == [known]
    assert await store.viewers.find(["r2"], DAY.format(4)) == []
    # who comes back is there since then
    back = replace(ann, since=DAY.format(6), until=DAY.format(7))
    await store.viewers.announce(back)
    assert await store.viewers.find(["r1", "r2"], DAY.format(1)) == [back]
