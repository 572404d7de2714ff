"""What is kept of users: checks of what every store promises."""

from dataclasses import replace

from crew.backends.conformance.conversations import begin_conversation, continue_run, ended, start
from crew.backends.conformance.core import sample
from crew.backends.conformance.recall import LIMITS, addition
from crew.backends.conformance.samples import DAY, begin_run, sample_records, sample_row
from crew.journal.records.audit import AuditEntry, AuditFilter
from crew.journal.records.conversations import Chore
from crew.journal.records.grants import Grant
from crew.journal.records.listing import RunFilter
from crew.journal.records.remembered.people import Erasure, digest_of_user
from crew.journal.records.rows import Write
from crew.journal.store import RunStore

AT, LATER = DAY.format(1), DAY.format(2)
ANN, EVE = "user:ann", "user:eve"


async def end_run(store: RunStore, run_id: str, user_id: str) -> None:
    """Write a run of a user that has ended, with an entry of the audit and a grant."""
    await begin_run(store, run_id, user_id=user_id)
    row = sample_row(run_id, "completed", user_id=user_id, ended_at=LATER)
    await store.append(Write(run_id, sample_records(2, 2), row, epoch=1))
    await store.audit.record(AuditEntry(AT, "start", "shop", "local", run_id))
    grant = Grant(f"g{run_id}", "t", "d", "a", {}, "shop", run_id, AT, LATER, {}, "shop", user_id)
    await store.grants.add([grant])


async def runs_are_found_by_their_user(store: RunStore) -> None:
    """Check that runs of others, and runs without a user, are not among them."""
    for run_id, user_id in (("r1", "ann"), ("r2", "eve"), ("r3", ""), ("r4", "ann")):
        await begin_run(store, run_id, user_id=user_id)
    found = await store.rows(RunFilter(user_id="ann"))
    assert [one.run_id for one in found] == ["r4", "r1"], found
    assert await store.rows(RunFilter(user_id="")) == []
    open_runs = await store.rows(RunFilter("running", user_id="eve"))
    assert [one.run_id for one in open_runs] == ["r2"], open_runs


async def a_user_is_erased(store: RunStore) -> None:
    """Check that all of a user goes, in batches, and that others keep what they have."""
    for number in range(1, 6):
        await end_run(store, f"a{number}", "ann")
    await end_run(store, "e1", "eve")
    await begin_run(store, "a9", user_id="ann")
    for owner, user_id in ((ANN, "ann"), (EVE, "eve")):
        assert await store.core.add(sample(1, owner))
        item = addition(1, f"of {user_id}", owner=owner)
        assert await store.recall.add(owner, [item], LIMITS) is not None
        await store.chores.add(Chore("learn", owner, "c9", AT))
        entry = AuditEntry(AT, "memory", "shop", "local", detail=f"of {user_id}", user_id=user_id)
        await store.audit.record(entry)
    assert [one.action for one in await store.people.audit("ann")] == [*["start"] * 5, "memory"]
    entries = await store.audit.entries(9, AuditFilter(run_id="a1"))
    assert [one.user_id for one in entries] == ["ann"], "what is done to a run names its person"
    await end_run(store, "a0", "ann")
    await store.delete_runs(["a0"])
    assert len(await store.people.audit("ann")) == 7, "also once the run is gone"
    given = [one.id for one in await store.grants.of_user("ann")]
    assert given == ["ga0", "ga1", "ga2", "ga3", "ga4", "ga5"], given
    assert await store.grants.of_user("") == []
    assert await store.people.audit("") == []
    await store.people.begin(Erasure(digest_of_user("ann"), AT))
    await store.people.begin(Erasure(digest_of_user("ann"), AT, counts={"runs": 7}))
    await store.chores.add(Chore("erase", ANN, AT, AT))
    first = await store.people.erase("ann", AT, 3)
    assert first == {"runs": 3, "grants": 3, "audit": 3}, first
    second = await store.people.erase("ann", AT, 3)
    assert second == {"runs": 2, "grants": 2, "audit": 2}, second
    rest = await store.people.erase("ann", AT, 3)
    assert rest == {"core": 1, "recall": 1, "audit": 2, "chores": 1, "grants": 1}, rest
    assert await store.people.erase("ann", AT, 3) == {}
    # one that has not ended stays
    assert [one.run_id for one in await store.rows(RunFilter(user_id="ann"))] == ["a9"]
    await store.people.count("ann", AT, {"conversations": 2})
    done = await store.people.finish("ann", AT, LATER)
    counts = {"runs": 5, "grants": 6, "audit": 7, "core": 1, "recall": 1, "chores": 1}
    wanted = Erasure(digest_of_user("ann"), AT, LATER, {**counts, "conversations": 2})
    assert done == wanted, done
    assert await store.people.erasures("ann") == [wanted]
    assert await store.people.erasures("eve") == []
    assert await store.people.finish("eve", AT, LATER) is None
    assert await store.chores.counts() == {"learn": 1, "erase": 1}
    # what is eve's
    assert [one.run_id for one in await store.rows(RunFilter(user_id="eve"))] == ["e1"]
    assert len(await store.people.audit("eve")) == 2
    assert len(await store.core.newest([ANN, EVE])) == 1
    assert await store.recall.listed(ANN) == []
    assert len(await store.recall.listed(EVE)) == 1
    assert [one.run_id for one in await store.grants.find(AT)] == ["e1"]
    page = await store.records("a1")
    assert list(page) == []


async def an_exchange_keeps_what_was_read(store: RunStore) -> None:
    """Check that an exchange, and a copy of it, have the sources of text of others."""
    await begin_conversation(store, "r1", start("r1", 1))
    end = ended("r1", 1)
    tainted = replace(end, exchange=replace(end.exchange, taint=("news",)))
    await continue_run(store, "r1", tainted)
    (kept,) = await store.conversations.exchanges(ANN, "c1")
    assert kept.taint == ("news",)
    known = await store.conversations.get(ANN, "c1")
    assert known is not None
    copy = replace(known, conversation_id="c2")
    assert await store.conversations.fork(ANN, "c1", 1, copy)
    (kept,) = await store.conversations.exchanges(ANN, "c2")
    assert kept.taint == ("news",)


CHECKS = (runs_are_found_by_their_user, a_user_is_erased, an_exchange_keeps_what_was_read)
