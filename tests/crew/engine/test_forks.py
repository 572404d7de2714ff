"""Another run that begins with the first events of one: it goes on from there, and repeats nothing before."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.journal.query import CallDecision, IdempotencyKey
from crew.journal.records.audit import AuditEntry, AuditFilter
from crew.journal.records.conversations import Conversation
from crew.journal.records.exchanges import Began, ExchangeStart, begin
from crew.runs.errors import AlreadyStarted, KeyReused, NotForkable, UnknownRun
from crew.runs.forks import ForkPoint
from tests.support.crews import write_crew
from tools.approval import Remember

ACTS = '''
from pathlib import Path

def pay(to: str) -> str:
    """Pay."""
    with (Path(__file__).parent / "ledger").open("a") as out:
        out.write(to + " ")
    return "paid " + to
'''
RULES: list[dict[str, Any]] = [
    {"agent": "a", "say": "both [G]"},
    {"agent": "b", "say": "b looked"},
    {"agent": "c", "say": "c looked"},
    {"agent": "d", "after": "pay", "say": "{{result.pay}}"},
    {"agent": "d", "say": "I pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
]
ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}]},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}


TWICE: list[dict[str, Any]] = [
    {"turn": 1, "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"turn": 2, "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"say": "paid"},
]


def folder_of(path: Path, rules: list[dict[str, Any]] = RULES) -> Path:
    path.mkdir(exist_ok=True)
    (path / "acts.py").write_text(ACTS)
    asks = {"remember": ["run", "always"]}
    pay = {"kind": "python", "function": "acts.py:pay", "requires_approval": asks, "effect": "once"}
    if rules is TWICE:
        return write_crew(path, {"a": {"tools": ["pay"]}}, rules, {"pay": pay})
    agents: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    agents["d"] = {"tools": ["pay"], "is_terminal": True}
    return write_crew(path, agents, rules, {"pay": pay}, routing=ROUTING)


def paid(folder: Path) -> int:
    ledger = folder / "ledger"
    return len(ledger.read_text().split()) if ledger.exists() else 0


async def answered(runs: Runs, run_id: str, decision: Any) -> str:
    """Decide on the call that a run asks about; the answer that it ends with."""
    row = await runs.outcome(run_id)
    pause = await runs.pause_of(row)
    assert pause is not None
    (asked,) = pause.metadata["calls"]
    one = CallDecision(asked["call_id"], decision, asked["agent_id"], hash=asked["hash"])
    row = await (await runs.resume(run_id, Answer(decisions=(one,)))).outcome()
    assert row.status == "completed", row
    return str(row.answer)


async def seqs(runs: Runs, run_id: str) -> dict[str, int]:
    """The numbers of a run's events, by their types; of several, the last."""
    return {one.type: one.seq or 0 async for one in runs.stored(run_id)}


async def test_what_is_copied_was_paid_for_by_the_other_run(tmp_path: Path):
    """Also in the row of a copy that has not gone on yet, and in the totals of both."""
    async with Runs(load_crew(folder_of(tmp_path)), MemoryStore()) as runs:
        first = (await runs.start(Query("go"))).id
        assert "Denied" in await answered(runs, (await runs.outcome(first)).run_id, "deny")
        pause = (await seqs(runs, first))["pause"]
        forked = (await runs.fork(first, pause + 1)).id
        await runs.outcome(forked)
        assert (await runs.row(forked)).usage.total_tokens == 0
        assert await answered(runs, forked, "approve") == "paid bob"
        events = [one async for one in runs.stored(forked)]
        (done,) = [one for one in events if one.type == "done" and one.metadata["seq"] > pause + 3]
        own = [one for one in events if one.type == "agent_response"][-1]
        assert done.metadata["usage"]["total_tokens"] == own.metadata["usage"]["total_tokens"] > 0
        assert (await runs.row(forked)).usage.total_tokens == own.metadata["usage"]["total_tokens"]


async def test_it_is_answered_otherwise(tmp_path: Path):
    """From a pause: the other run waits again, and each goes its own way, in another process too."""
    folder = folder_of(tmp_path)
    path = tmp_path / "x.db"
    async with Runs(load_crew(folder), SqliteStore(path)) as runs:
        first = (await runs.start(Query("go"))).id
        assert (await runs.outcome(first)).status == "paused"
        pause = (await seqs(runs, first))["pause"]
        assert "Denied" in await answered(runs, first, "deny")
        entry = AuditEntry("2026-01-01T00:00:00.000Z", "fork", "eve", "10.0.0.1")
        forked = (await runs.fork(first, pause + 1, owner="eve", max_priority=2, entry=entry)).id
        await runs.outcome(forked)
        told = await runs.store.audit.entries(9, AuditFilter(run_id=forked))
        assert list(told) == [replace(entry, run_id=forked)]
    async with Runs(load_crew(folder), SqliteStore(path)) as runs:
        row = await runs.row(forked)
        assert (row.status, row.owner, row.priority) == ("paused", "eve", 2)
        assert await answered(runs, forked, "approve") == "paid bob"
        assert paid(folder) == 1
        events = [one async for one in runs.stored(forked)]
        assert {one.metadata["run_id"] for one in events} == {forked}
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        copied_from = [one.metadata.get("forked_from") for one in events if one.type == "start"]
        assert f"{first}:{pause}" in copied_from
        assert (await runs.row(first)).answer != (await runs.row(forked)).answer


@settings(max_examples=25)
@given(share=st.integers(0, 99))
def test_from_every_event(tmp_path_factory: pytest.TempPathFactory, share: int):
    """It ends as the first one did: what the copy records is not done again, and what it does is asked."""
    folder = folder_of(tmp_path_factory.mktemp("crew"))

    async def play() -> None:
        async with Runs(load_crew(folder), MemoryStore()) as runs:
            first = (await runs.start(Query("go"))).id
            whole = await answered(runs, first, "approve")
            numbers = await seqs(runs, first)
            last = numbers["done"]
            after = 1 + share * (last - 1) // 100
            with pytest.raises(NotForkable, match="had ended"):
                await runs.fork(first, last)
            forked = (await runs.fork(first, after)).id
            row = await runs.outcome(forked)
            has_paid = after >= numbers["tool_result"]
            assert row.status == ("completed" if has_paid else "paused")
            if row.status == "paused":
                pause = await runs.pause_of(row)
                assert pause is not None
                # a call that had started without a result is asked about anew
                approves = pause.metadata["question"] == "approval"
                assert await answered(runs, forked, "approve" if approves else "retry") == whole
            else:
                assert row.answer == whole
            # once by the first run, and by the other one unless its copy has the result
            assert paid(folder) == (1 if has_paid else 2)

    asyncio.run(play())


async def test_what_cannot_be_forked(tmp_path: Path):
    """Nothing that is not there."""
    async with Runs(load_crew(folder_of(tmp_path)), MemoryStore()) as runs:
        run_id = (await runs.start(Query("go"))).id
        await runs.outcome(run_id)
        with pytest.raises(NotForkable, match="there is no event 999"):
            await runs.fork(run_id, 999)
        with pytest.raises(UnknownRun):
            await runs.fork("nope", 1)


@pytest.mark.parametrize("remember", ["run", "always"])
async def test_what_was_approved_for_more_than_a_call_is_asked_again(
    tmp_path: Path, remember: Remember
):
    """From every event; and a grant that was taken back does not come back."""
    folder = folder_of(tmp_path, TWICE)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        first = (await runs.start(Query("go"))).id
        await runs.outcome(first)
        one = CallDecision("call_1_1", "approve", remember=remember)
        await (await runs.resume(first, Answer(decisions=(one,), by="ann"))).outcome()
        assert ((await runs.row(first)).status, paid(folder)) == ("completed", 2)
        for grant in await runs.store.grants.find(""):
            await runs.store.grants.revoke(grant.id)
        numbers = await seqs(runs, first)
        for after in range(1, numbers["done"]):
            row = await runs.outcome((await runs.fork(first, after)).id)
            has_paid = after >= numbers["tool_result"]
            assert row.status == ("completed" if has_paid else "paused"), after
        assert paid(folder) == 2
        assert await runs.store.grants.find("") == []


async def test_what_was_said_of_an_unknown_outcome_is_not_copied(tmp_path: Path):
    """Whether the call acted is asked in the other run too, although nobody approves the tool."""
    rules = [
        {"after": "pay", "say": "paid"},
        {"calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    (tmp_path / "acts.py").write_text(ACTS)
    pay = {"kind": "python", "function": "acts.py:pay", "effect": "once"}
    folder = write_crew(tmp_path, {"a": {"tools": ["pay"]}}, rules, {"pay": pay})
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        first = (await runs.start(Query("go"))).id
        await runs.outcome(first)
        started = (await seqs(runs, first))["tool_start"]
        second = (await runs.fork(first, started)).id
        assert await answered(runs, second, "retry") == "paid"
        numbers = await seqs(runs, second)
        for after in range(started, numbers["tool_result"]):
            row = await runs.outcome((await runs.fork(second, after)).id)
            pause = await runs.pause_of(row)
            assert pause is not None, after
            assert pause.metadata["question"] == "unknown_outcome"
        assert paid(folder) == 2


async def test_a_key_forks_once(tmp_path: Path):
    """As often as it is asked; with another number it is another request."""
    async with Runs(load_crew(folder_of(tmp_path)), MemoryStore()) as runs:
        first = (await runs.start(Query("go"))).id
        await runs.outcome(first)
        forked = (await runs.fork(first, 3, key=IdempotencyKey("k", "one"))).id
        with pytest.raises(AlreadyStarted) as again:
            await runs.fork(first, 3, key=IdempotencyKey("k", "one"))
        assert again.value.record.run_id == forked
        with pytest.raises(KeyReused):
            await runs.fork(first, 4, key=IdempotencyKey("k", "two"))
        assert len(await runs.store.rows()) == 2


TALK: list[dict[str, Any]] = [
    {"hears": "my name is Ann", "say": "Hello Ann."},
    {"hears": "pay", "after": "pay", "say": "{{result.pay}}"},
    {"hears": "pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"seen": "my name is Ann", "hears": "who am I", "say": "You are Ann."},
    {"say": "I do not know."},
]


def talk_of(path: Path) -> Path:
    """A crew with conversations, in which a person allows payments."""
    folder = folder_of(path, TWICE)
    context = {"blocks": [{"kind": "history"}]}
    pay = {
        "kind": "python",
        "function": "acts.py:pay",
        "requires_approval": True,
        "effect": "once",
    }
    agents: dict[str, Any] = {"a": {"tools": ["pay"], "is_terminal": True}}
    return write_crew(folder, agents, TALK, {"pay": pay}, conversations={}, context=context)


async def test_an_exchange_goes_on_in_a_copy_of_its_conversation(tmp_path: Path):
    """With the exchanges before it; the conversation stays as it was, and the copy goes on."""
    path = tmp_path / "x.db"
    async with Runs(load_crew(talk_of(tmp_path / "crew")), SqliteStore(path)) as runs:
        ids: list[str] = []
        for text in ("my name is Ann", "who am I"):
            run = await runs.start(Query(text, user_id="ann", conversation_id="c1"))
            ids.append((await run.outcome()).run_id)
        await runs.outcome((await runs.start(Query("x", user_id="ann", conversation_id="c1"))).id)
        said = (await seqs(runs, ids[1]))["agent_response"]
        forked = await runs.fork(ids[1], ForkPoint(said, "You are somebody else."))
        row = await runs.outcome(forked.id)
        assert (row.status, row.answer) == ("completed", "You are somebody else.")
        assert (row.exchange, row.user_id) == (2, "ann")
        assert row.conversation_id != "c1"
        starts = [one.metadata async for one in runs.stored(row.run_id) if one.type == "start"]
        assert {one["conversation_id"] for one in starts} == {row.conversation_id}
        for id_, answers in (
            ("c1", ["Hello Ann.", "You are Ann.", "I do not know."]),
            (row.conversation_id, ["Hello Ann.", "You are somebody else."]),
        ):
            kept = await runs.conversations.all_exchanges("ann", id_)
            assert [one.answer for one in kept] == answers
    async with Runs(load_crew(tmp_path / "crew"), SqliteStore(path)) as runs:
        query = Query("who am I", user_id="ann", conversation_id=row.conversation_id)
        again = await (await runs.start(query)).outcome()
        assert (again.exchange, again.answer) == (3, "You are Ann.")


async def test_a_paused_exchange_waits_in_the_copy_too(tmp_path: Path):
    """Each is answered by itself; deleting the copy's conversation leaves the first one."""
    folder = talk_of(tmp_path / "crew")
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        query = Query("pay", user_id="ann", conversation_id="c1")
        first = (await runs.start(query)).id
        await runs.outcome(first)
        pause = (await seqs(runs, first))["pause"]
        key = IdempotencyKey("k", "one")
        forked = (await runs.fork(first, pause, key=key)).id
        with pytest.raises(AlreadyStarted):
            await runs.fork(first, pause, key=key)
        assert len(await runs.conversations.listed("ann")) == 2
        assert await answered(runs, forked, "approve") == "paid bob"
        other = (await runs.row(forked)).conversation_id
        assert (await runs.conversations.get("ann", other)).busy is None
        await runs.conversations.delete("ann", other)
        assert await answered(runs, first, "approve") == "paid bob"
        assert paid(folder) == 2


@pytest.mark.parametrize(("number", "begins"), [(1, False), (2, True), (3, True), (4, False)])
def test_a_copied_exchange_that_has_not_gone_on_may_be_retried(number: int, begins: bool):
    """Where a process ends between the copy and its start; not after another exchange."""
    now = "2026-01-01T00:00:00.000Z"
    known = Conversation("user:ann", "c1", now, now, started=2)
    start = ExchangeStart("user:ann", "c1", "r", number, now, "", 100, again=True)
    assert isinstance(begin(known, start, 0), Began) is begins
