"""Approvals of the members of a group: asked together, in one pause, when all others have ended."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crew import Answer, MemoryStore, Query, Runs, SqliteStore, load_crew
from crew.journal.query import CallDecision, Decision
from tests.support.crews import Played, write_crew
from tools.clock import rfc3339
from tools.virtual_clock import VirtualClock

ACTS = '''
import asyncio
from pathlib import Path
LEDGER = Path(__file__).parent / "ledger"

def _act(what):
    with LEDGER.open("a") as out:
        out.write(what + "\\n")
    return what

async def restart(host: str) -> str:
    """Restart a host; one of them never comes up."""
    if host == "web1" and (Path(__file__).parent / "hangs").exists():
        await asyncio.Event().wait()
    return _act(f"restart {host}")

async def look(host: str) -> str:
    """Look at a host."""
    return _act(f"look {host}")
'''


def call(tool: str, host: str) -> dict[str, Any]:
    return {"tool": tool, "arguments": {"host": host}}


# `db` and `web` restart something, `net` only looks
RULES: list[dict[str, Any]] = [
    {"agent": "a", "say": "all [go]"},
    {"agent": "db", "after": "restart", "say": "db: {{result.restart}}"},
    {"agent": "db", "say": "", "calls": [call("look", "db1"), call("restart", "db1")]},
    {"agent": "web", "after": "restart", "say": "web: {{result.restart}}"},
    {"agent": "web", "say": "", "calls": [call("restart", "web1")]},
    {"agent": "net", "after": "look", "say": "net: {{result.look}}"},
    {"agent": "net", "say": "", "calls": [call("look", "net1")]},
    {"agent": "z", "say": "the end"},
]


def folder_of(path: Path, rules: list[dict[str, Any]] | None = None, **keys: Any) -> Path:
    path.mkdir(exist_ok=True)
    (path / "acts.py").write_text(ACTS)
    restart = {"requires_approval": True, "effect": "once", **keys.pop("restart", {})}
    group = {"agents": ["db", "web", "net"], "wait_for_all": True, "next_agent": "z", **keys}
    tools = ["restart", "look"]
    return write_crew(
        path,
        {
            "a": {},
            "db": {"tools": tools},
            "web": {"tools": tools},
            "net": {"tools": tools},
            "z": {},
        },
        rules or RULES,
        tools={
            "restart": {"kind": "python", "function": "acts.py:restart", **restart},
            "look": {"kind": "python", "function": "acts.py:look", "effect": "read"},
        },
        routing={
            "signals": {"a": [{"signal": "[go]", "target": "all"}]},
            "parallel_groups": {"all": group},
            "defaults": {"z": None},
        },
    )


def acts(folder: Path) -> list[str]:
    ledger = folder / "ledger"
    return sorted(ledger.read_text().splitlines()) if ledger.exists() else []


async def played(runs: Runs, run_id: str, row: Any) -> Played:
    events = [json.loads(one.encoded) async for one in runs.follow(run_id) if one is not None]
    return Played(row, events)


def asked(told: Played) -> list[list[tuple[str, str]]]:
    """The calls of each pause: agent and tool."""
    return [
        [(one["agent_id"], one["tool"]) for one in pause["metadata"]["calls"]]
        for pause in told.of("pause")
    ]


async def test_calls_of_all_members_are_asked_together(tmp_path: Path):
    """In one pause, when the others have ended; each is decided by itself."""
    folder = folder_of(tmp_path / "crew")
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        first = await run.outcome()
        assert (first.status, first.paused_agent_id) == ("paused", "db")
        # a person is asked before any call of an answer is made
        assert acts(folder) == ["look net1"]
        decisions = (
            CallDecision("call_1_2", "approve", "db", arguments={"host": "db2"}),
            CallDecision("call_1_1", "deny", "web", reason="in use"),
        )
        answer = Answer(decisions=decisions, by="ann")
        told = await played(runs, run.id, await (await runs.resume(run.id, answer)).outcome())
    assert asked(told) == [[("db", "restart"), ("web", "restart")]]
    assert (told.row.status, told.row.answer) == ("completed", "the end")
    assert acts(folder) == ["look db1", "look net1", "restart db2"]
    started = {
        (one["metadata"]["agent_id"], one["metadata"]["tool"]): one["metadata"]
        for one in told.of("tool_start")
    }
    assert started["db", "restart"]["approved_by"] == "ann"
    assert started["db", "restart"]["edited"] is True
    assert "approved_by" not in started["db", "look"]
    said = {one["metadata"]["agent_id"]: one["content"] for one in told.of("agent_response")}
    assert said["db"].startswith("db: [A person changed the arguments")
    assert said["web"].endswith("Denied by a person: in use")
    # who has answered does not speak again
    assert told.path.count("net") == 2


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_another_process_goes_on(tmp_path: Path, decision: Decision):
    """After the pause, with one decision for all calls."""
    folder = folder_of(tmp_path / "crew")
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("go"))
        assert (await run.outcome()).status == "paused"
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        row = await (await runs.resume(run.id, Answer(decision=decision))).outcome()
        told = await played(runs, run.id, row)
    assert row.status == "completed"
    restarted = ["restart db1", "restart web1"] if decision == "approve" else []
    assert acts(folder) == ["look db1", "look net1", *restarted]
    assert told.path.count("net") == 2


async def test_a_member_that_asks_again(tmp_path: Path):
    """Is asked about again, while the other one has ended."""
    twice = [
        {"agent": "web", "turn": 2, "say": "", "calls": [call("restart", "web2")]},
        *RULES,
    ]
    folder = folder_of(tmp_path / "crew", twice)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        for _ in range(2):
            assert (await run.outcome()).status == "paused"
            run = await runs.resume(run.id, Answer(decision="approve"))
        told = await played(runs, run.id, await run.outcome())
    assert asked(told) == [[("db", "restart"), ("web", "restart")], [("web", "restart")]]
    assert acts(folder) == ["look db1", "look net1", "restart db1", "restart web1", "restart web2"]


async def test_an_answer_that_decides_ends_the_question(tmp_path: Path):
    """A group that does not wait for all is not held up by a member that asks."""
    rules = [{"agent": "net", "after": "look", "say": "it is the network [found]"}, *RULES]
    folder = folder_of(tmp_path / "crew", rules, wait_for_all=False, next_agent=None)
    crew_file = folder / "crew.yaml"
    signal = "    net:\n    - {signal: '[found]', target: z}\n"
    crew_file.write_text(crew_file.read_text().replace("  signals:\n", f"  signals:\n{signal}"))
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        told = await played(runs, run.id, await run.outcome())
    assert (told.row.status, asked(told)) == ("completed", [])
    assert acts(folder) == ["look net1"]


@pytest.mark.parametrize("wait_for_all", [True, False])
async def test_an_approval_ends_with_its_group(tmp_path: Path, wait_for_all: bool):
    """A call that was approved, and cut off, approves no later one: not even of the same id."""
    rules: list[dict[str, Any]] = [
        {"agent": "web", "hears": "PARALLEL", "say": "", "calls": [call("restart", "web3")]},
        {"agent": "db", "after": "restart", "say": "it was me [found]"},
        *RULES,
    ]
    folder = folder_of(
        tmp_path / "crew",
        rules,
        restart={"timeout_seconds": 600, "effect": "idempotent"},
        wait_for_all=wait_for_all,
        next_agent="web" if wait_for_all else None,
        timeout_seconds=60,
    )
    (folder / "hangs").touch()
    crew_file = folder / "crew.yaml"
    signal = "    db:\n    - {signal: '[found]', target: web}\n"
    crew_file.write_text(crew_file.read_text().replace("  signals:\n", f"  signals:\n{signal}"))
    clock = VirtualClock()
    async with Runs(load_crew(folder, clock=clock), MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("go"))
        await run.outcome()
        row = await (await runs.resume(run.id, Answer(decision="approve"))).outcome()
        moving.cancel()
        told = await played(runs, run.id, row)
    assert asked(told)[1:] == [[("web", "restart")]]
    assert (row.status, acts(folder)) == ("paused", ["look db1", "look net1", "restart db1"])


async def test_nobody_decides_in_time(tmp_path: Path):
    """All calls are refused then, and the members go on."""
    folder = folder_of(tmp_path / "crew", restart={"requires_approval": {"deadline_seconds": 3600}})
    clock = VirtualClock()
    async with Runs(load_crew(folder, clock=clock), MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("go"))
        until = rfc3339(clock.now() + timedelta(hours=1))
        assert (await run.outcome()).paused_until == until
        await runs.expire(await runs.row(run.id))
        row = await runs.outcome(run.id)
        moving.cancel()
        told = await played(runs, run.id, row)
    assert acts(folder) == ["look db1", "look net1"]
    results = [one["content"] for one in told.of("tool_result")]
    assert sum("Denied without an answer" in one for one in results) == 2


MEMBERS = ("db", "web", "net")
wanted = st.fixed_dictionaries(
    {
        member: st.lists(st.tuples(st.sampled_from(["look", "restart"]), st.booleans()), max_size=3)
        for member in MEMBERS
    }
)


@settings(max_examples=25, deadline=None)
@given(wanted)
async def test_whatever_members_call(
    tmp_path_factory: pytest.TempPathFactory, rounds: dict[str, list[tuple[str, bool]]]
):
    """Each call has one result; those that were approved are made once, no other restart is.

    A member makes its calls one after the other; the second part of each is whether a person
    approves it.
    """
    rules = [
        {
            "agent": member,
            "turn": number,
            "say": "",
            "calls": [call(tool, f"{member}{number}")],
        }
        for member, calls in rounds.items()
        for number, (tool, _) in enumerate(calls, 1)
    ]
    rules += [{"agent": "a", "say": "all [go]"}, {"say": "done"}]
    folder = folder_of(tmp_path_factory.mktemp("crews") / "crew", rules)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        while (row := await run.outcome()).status == "paused":
            told = await played(runs, run.id, row)
            decisions = []
            for one in told.of("pause")[-1]["metadata"]["calls"]:
                member, number = one["agent_id"], int(one["arguments"]["host"][-1])
                yes = rounds[member][number - 1][1]
                decision: Decision = "approve" if yes else "deny"
                decisions.append(CallDecision(one["call_id"], decision, member))
            run = await runs.resume(run.id, Answer(decisions=tuple(decisions)))
        told = await played(runs, run.id, row)
    assert row.status == "completed"
    expected = [
        f"{tool} {member}{number}"
        for member, calls in rounds.items()
        for number, (tool, yes) in enumerate(calls, 1)
        if tool == "look" or yes
    ]
    assert acts(folder) == sorted(expected)
    assert len(told.of("tool_result")) == sum(map(len, rounds.values()))
