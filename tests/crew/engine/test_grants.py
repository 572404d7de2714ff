"""Approvals that outlive their run: whose calls they cover, how long, and what ends them."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, load_crew
from crew.journal.errors import StoreError
from crew.journal.query import CallDecision
from crew.journal.records.grants import Grant
from crew.journal.records.rows import Write
from crew.journal.store import RunStore
from tests.support.crews import Played, write_crew
from tools.clock import rfc3339
from tools.virtual_clock import VirtualClock

ACTS = """
from pathlib import Path
LEDGER = Path(__file__).parent / "ledger"

async def pay(to: str, amount: int = 10) -> str:
    '''Pay someone.'''
    with LEDGER.open("a") as out:
        out.write(f"{to} {amount}\\n")
    return f"paid {amount} to {to}"
"""
ALWAYS: dict[str, Any] = {"remember": ["run", "always"]}


def paying(folder: Path, to: str = "bob", **keys: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    rules = [
        {"after": "pay", "say": "{{result.pay}}"},
        {"say": "", "calls": [{"tool": "pay", "arguments": {"to": to}}]},
    ]
    entry = {"kind": "python", "function": "acts.py:pay", "requires_approval": ALWAYS, **keys}
    return write_crew(folder, {"a": {"tools": ["pay"]}}, rules, tools={"pay": entry})


def paid(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return ledger.read_text().splitlines() if ledger.exists() else []


async def run(folder: Path, store: RunStore, *answers: Answer) -> Played:
    """A run in a store of several runs, with these answers to its pauses."""
    runs = Runs(load_crew(folder), store)
    begun = await runs.start(Query("pay"))
    row = await begun.outcome()
    for answer in answers:
        assert row.status == "paused"
        row = await (await runs.resume(begun.id, answer)).outcome()
    return Played(row, [json.loads(one.encoded) async for one in runs.stored(begun.id)])


def always(**more: Any) -> Answer:
    decision = CallDecision("call_1_1", "approve", remember="always", **more)
    return Answer(decisions=(decision,), by="ann")


async def test_the_same_call_is_not_asked_about_again(tmp_path: Path):
    """In later runs, which tell whose word it was; another call is."""
    folder = paying(tmp_path / "crew")
    store = MemoryStore()
    first = await run(folder, store, always())
    assert first.of("pause")[0]["metadata"]["calls"][0]["remember"] == ["run", "always"]
    assert first.of("answered")[0]["metadata"]["decisions"][0]["remember"] == "always"
    second = await run(folder, store)
    assert second.row.status == "completed"
    (started,) = [one["metadata"] for one in second.of("tool_start")]
    (grant,) = await store.grants.find("")
    assert (started["approved_by"], started["grant"]) == ("ann", grant.id)
    assert (grant.tool, grant.agent_id, grant.arguments) == ("pay", "a", {"to": "bob"})
    assert (await run(paying(folder, "eve"), store)).row.status == "paused"
    assert paid(folder) == ["bob 10", "bob 10"]


async def test_arguments_that_may_be_others(tmp_path: Path):
    """As the globs say that the person gives; and of the arguments as the person edited them."""
    folder = paying(tmp_path / "crew")
    store = MemoryStore()
    edited = {"to": "bob@example.com", "amount": 5}
    await run(folder, store, always(arguments=edited, patterns={"to": "*@example.com"}))
    assert paid(folder) == ["bob@example.com 5"]
    # the amount is another
    assert (await run(paying(folder, "eve@example.com"), store)).row.status == "paused"
    store = MemoryStore()
    await run(paying(folder), store, always(patterns={"to": "[be]*"}))
    assert (await run(paying(folder, "eve"), store)).row.status == "completed"
    assert (await run(paying(folder, "joe"), store)).row.status == "paused"


@pytest.mark.parametrize("change", ["tool", "agent", "revoked", "time", "rule"])
async def test_what_ends_it(tmp_path: Path, change: str):
    """A person is asked again."""
    folder = paying(tmp_path / "crew")
    clock = VirtualClock()
    store = MemoryStore(clock)
    await run(folder, store, always())
    (grant,) = await store.grants.find("")
    assert grant.until == rfc3339(clock.now() + timedelta(days=90))
    if change == "tool":
        paying(folder, description="Pay someone at once.")
    elif change == "rule":
        paying(folder, requires_approval={"remember": ["run"]})
    elif change == "agent":
        agents = folder / "agents"
        agents.joinpath("b.yaml").write_text(
            agents.joinpath("a.yaml").read_text().replace("id: a", "id: b")
        )
        agents.joinpath("a.yaml").unlink()
        crew_file = folder / "crew.yaml"
        crew_file.write_text(crew_file.read_text().replace("- a", "- b"))
    elif change == "revoked":
        assert await store.grants.revoke(grant.id)
    else:
        clock.call_later(90 * 86_400, lambda: None)
        clock.advance()
    assert (await run(folder, store)).row.status == "paused"
    assert paid(folder) == ["bob 10"]


@pytest.mark.parametrize("was_kept", [True, False])
async def test_a_process_that_ends_when_it_has_an_answer(tmp_path: Path, was_kept: bool):
    """The answer is stored: the next process keeps what it says, once."""
    folder = paying(tmp_path / "crew")
    before = MemoryStore()
    whole = await run(folder, before, always())
    records = await before.records(whole.row.run_id)
    resumed = next(n for n, one in enumerate(records, 1) if "RunResumed" in one.event)
    store = MemoryStore()
    left = replace(whole.row, status="running", ended_at=None)
    await store.append(Write(left.run_id, records[:resumed], left))
    if was_kept:
        await store.grants.add(await before.grants.find(""))
    async with Runs(load_crew(folder), store) as runs:
        (again,) = await runs.recover()
        assert (await again.outcome()).status == "completed"
        told = [one.type async for one in runs.stored(left.run_id)]
    assert told.count("answered") == 1
    (grant,) = await store.grants.find("")
    assert (grant.by, grant.arguments) == ("ann", {"to": "bob"})


class Away:
    """Grants that cannot be asked for; the rest of the store works."""

    def __init__(self) -> None:
        self.asked = 0

    async def _fail(self, *_: object) -> Any:
        self.asked += 1
        raise StoreError("away")

    add = find = revoke = purge = _fail


async def test_grants_that_cannot_be_asked_for(tmp_path: Path):
    """A person is asked; what cannot be kept is told, and the run goes on."""
    folder = paying(tmp_path / "crew")
    clock = VirtualClock()
    store = MemoryStore(clock)
    away = Away()
    store.grants = away  # type: ignore[assignment]
    moving = asyncio.create_task(clock.run())
    runs = Runs(load_crew(folder, clock=clock), store)
    begun = await runs.start(Query("pay"))
    assert ((await begun.outcome()).status, away.asked) == ("paused", 1)
    row = await (await runs.resume(begun.id, always())).outcome()
    moving.cancel()
    told = [one async for one in runs.stored(begun.id)]
    assert row.status == "completed"
    assert [one.metadata["code"] for one in told if one.type == "warning"] == ["grant_lost"]
    assert away.asked > 50


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "1", "a", "true"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner),
    max_leaves=4,
)
arguments = st.dictionaries(st.sampled_from("xyz"), values)


@given(arguments, arguments)
def test_what_a_grant_covers(given_: dict[str, Any], other: dict[str, Any]):
    """These arguments, and none that are other JSON."""
    grant = Grant("g", "pay", "d", "a", given_, "ann", "r", "", "~")
    assert grant.covers("a", "d", given_)
    same = json.dumps(given_, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert grant.covers("a", "d", other) is same
    assert not grant.covers("b", "d", given_)
    assert not grant.covers("a", "e", given_)
    more = {**given_, "w": "w"}
    assert not grant.covers("a", "d", more)
    assert not replace(grant, patterns={"w": "v*"}).covers("a", "d", more)
    assert replace(grant, patterns={"w": "w*"}).covers("a", "d", more)
    assert not replace(grant, patterns={"w": "*"}).covers("a", "d", {**given_, "w": ["w"]})
