"""A person decides: tools that need a yes, and calls of which nobody knows whether they acted."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.costs.usage import Usage
from agents.events import AgentResponded, ToolStarted
from crew import Answer, Query, Runs, SqliteStore, load_crew
from crew.journal.events import HandedOff, ParallelStarted, RunStarted, encode_event
from crew.journal.query import Decision
from crew.journal.records.rows import Record, RunRow, Write
from crew.journal.wire import to_run_event
from crew.runs.run import Run
from tests.support.crews import Played, play, write_crew
from tools import ToolCall

ACTS = """
from pathlib import Path
LEDGER = Path(__file__).parent / "ledger"

def pay(to: str) -> str:
    '''Pay someone.'''
    with LEDGER.open("a") as out:
        out.write(to + "\\n")
    return f"paid {to}"
"""
RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "{{result.pay}}"},
    {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
]


def paying(folder: Path, **keys: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "acts.py").write_text(ACTS)
    return write_crew(
        folder,
        {"a": {"tools": ["pay"]}},
        RULES,
        tools={"pay": {"kind": "python", "function": "acts.py:pay", **keys}},
    )


def paid(folder: Path) -> int:
    ledger = folder / "ledger"
    return len(ledger.read_text().splitlines()) if ledger.exists() else 0


@pytest.mark.parametrize(
    ("answer", "status", "acts", "said"),
    [
        (Answer(decision="approve"), "success", 1, "paid bob"),
        (Answer("too dear", "deny"), "denied", 0, "Error: Denied by a person: too dear"),
    ],
    ids=["yes", "no"],
)
async def test_a_tool_that_needs_a_yes(
    tmp_path: Path, answer: Answer, status: str, acts: int, said: str
):
    """The run pauses before the call, names it, and goes on by the decision."""
    folder = paying(tmp_path / "crew", requires_approval=True)
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("pay bob"))
        assert (await run.outcome()).status == "paused"
        assert paid(folder) == 0
        row = await (await runs.resume(run.id, answer)).outcome()
        events = [json.loads(event.encoded) async for event in runs.follow(run.id) if event]
    played = Played(row, events)
    asked = (pause := played.of("pause")[0]["metadata"])["calls"][0]
    assert (len(asked.pop("hash")), list(asked.pop("schema")["properties"])) == (64, ["to"])
    assert {"question": pause["question"], **asked} == {
        "question": "approval",
        "call_id": "call_1_1",
        "agent_id": "a",
        "tool": "pay",
        "arguments": {"to": "bob"},
        "effect": "idempotent",
        "where": "",
        "source": "python",
        "may": ["approve", "edit", "deny"],
        "remember": ["run"],
    }
    assert [event["metadata"]["status"] for event in played.of("tool_result")] == [status]
    assert row.answer == said
    assert paid(folder) == acts


def records_of(events: list[Any]) -> list[Record]:
    records = []
    for seq, event in enumerate(events, 1):
        shown = to_run_event(event, "r1", seq, "2026-01-01T00:00:00.000Z")
        records.append(Record(seq, shown.encoded if shown else "{}", encode_event(event, 0.0)))
    return records


def left_behind(call: ToolCall) -> list[Any]:
    """What a process wrote before it died in the middle of a call."""
    return [
        RunStarted("test-crew", "a", "A", "", Query("pay bob")),
        AgentResponded("a", "A", None, 1, "", 0.1, Usage(1, 1), "m", (call,)),
        ToolStarted("a", "A", None, call, 5.0, True),
    ]


@pytest.mark.parametrize(
    ("answer", "acts", "said"),
    [
        (Answer(decision="retry"), 1, "paid bob"),
        (
            Answer(decision="skip"),
            0,
            "Error: Interrupted; whether it acted is not known. Not made again",
        ),
        (Answer(decision="done", result="receipt 7"), 0, "receipt 7"),
    ],
    ids=["retry", "skip", "done"],
)
async def test_a_call_whose_outcome_is_unknown_is_asked_about(
    tmp_path: Path, answer: Answer, acts: int, said: str
):
    """A tool with effect `once` is not made again unasked; the answer decides."""
    folder = paying(tmp_path / "crew", effect="once")
    call = ToolCall("call_1_1", "pay", {"to": "bob"})
    store = SqliteStore(tmp_path / "x.db")
    records = records_of(left_behind(call))
    await store.append(
        Write(
            "r1",
            records,
            RunRow("r1", "test-crew", "running", "pay bob", "2026-01-01T00:00:00.000Z", ""),
        )
    )
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        assert (await run.outcome()).status == "paused"
        received = [json.loads(event.encoded) async for event in runs.follow("r1", 3) if event]
        assert [event["type"] for event in received] == ["warning", "pause", "done"]
        assert received[0]["metadata"]["code"] == "unknown_outcome"
        assert paid(folder) == 0
        row = await (await runs.resume("r1", answer)).outcome()
    assert (row.status, row.answer) == ("completed", said)
    assert paid(folder) == acts


async def test_a_second_crash_is_asked_about_again(tmp_path: Path):
    """The yes to making a call again holds for one act."""
    folder = paying(tmp_path / "crew", effect="once")
    (folder / "acts.py").write_text(
        ACTS.replace("    return f", "    import time\n    time.sleep(30)\n    return f")
    )
    call = ToolCall("call_1_1", "pay", {"to": "bob"})
    store = SqliteStore(tmp_path / "x.db")
    records = records_of(left_behind(call))
    await store.append(
        Write(
            "r1",
            records,
            RunRow("r1", "test-crew", "running", "pay bob", "2026-01-01T00:00:00.000Z", ""),
        )
    )
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        await run.outcome()
        await runs.resume("r1", Answer(decision="retry"))
        async for event in runs.follow("r1"):
            if event and event.type == "tool_start":
                break
        await runs.drain(0)
    async with Runs(load_crew(folder), SqliteStore(tmp_path / "x.db")) as runs:
        (run,) = await runs.recover()
        assert (await run.outcome()).status == "paused"


async def test_members_of_a_group_ask_together(tmp_path: Path):
    """One question for all, one answer for all."""
    folder = paying(tmp_path / "crew", effect="once")
    rules = [
        {"agent": "s", "say": "[G]"},
        *({**rule, "agent": ["m", "k"]} for rule in RULES),
        {"say": "{{heard}}"},
    ]
    agents: dict[str, Any] = {
        "s": {},
        "m": {"tools": ["pay"]},
        "k": {"tools": ["pay"]},
        "e": {"is_terminal": True},
    }
    routing = {
        "signals": {"s": [{"signal": "[G]", "target": "g"}]},
        "parallel_groups": {"g": {"agents": ["m", "k"], "next_agent": "e"}},
    }
    write_crew(
        folder,
        agents,
        rules,
        tools={"pay": {"kind": "python", "function": "acts.py:pay", "effect": "once"}},
        routing=routing,
    )
    events: list[Any] = [
        RunStarted("test-crew", "s", "S", "", Query("go")),
        AgentResponded("s", "S", None, 1, "[G]", 0.1, Usage(), "m"),
        HandedOff("s", "g", "signal", "[G]", (), None, "S"),
        ParallelStarted("g", ("m", "k")),
    ]
    for member in ("m", "k"):
        call = ToolCall("call_1_1", "pay", {"to": member})
        events += [
            AgentResponded(member, member, "g", 1, "", 0.1, Usage(), "m", (call,)),
            ToolStarted(member, member, "g", call, 5.0, True),
        ]
    store = SqliteStore(tmp_path / "x.db")
    records = records_of(events)
    await store.append(
        Write(
            "r1",
            records,
            RunRow("r1", "test-crew", "running", "go", "2026-01-01T00:00:00.000Z", ""),
        )
    )
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        assert (await run.outcome()).status == "paused"
        row = await (await runs.resume("r1", Answer(decision="retry"))).outcome()
    assert row.status == "completed"
    assert sorted((folder / "ledger").read_text().split()) == ["k", "m"]
    assert "paid m" in (row.answer or "")


@pytest.mark.parametrize("decision", ["skip", "retry", "done"])
async def test_a_decision_leaves_other_members_alone(tmp_path: Path, decision: Decision):
    """A call of unknown outcome in one member, a call that may be made again in the other."""
    folder = paying(tmp_path / "crew")
    calls = {"m": "pay", "k": "note"}
    (folder / "acts.py").write_text(f"{ACTS}\n\ndef note(to: str) -> str:\n    return to\n")
    rules = [{"agent": name, "after": tool, "say": "x"} for name, tool in calls.items()]
    tools = {tool: {"kind": "python", "function": f"acts.py:{tool}"} for tool in calls.values()}
    write_crew(
        folder,
        {**{name: {"tools": [tool]} for name, tool in calls.items()}, "e": {"is_terminal": True}},
        [*rules, {"say": "{{heard}}"}],
        tools={"pay": {**tools["pay"], "effect": "once"}, "note": tools["note"]},
        routing={
            "defaults": {"m": "g"},
            "parallel_groups": {"g": {"agents": ["m", "k"], "next_agent": "e"}},
        },
    )
    events: list[Any] = [
        RunStarted("test-crew", "m", "M", "", Query("go")),
        AgentResponded("m", "M", None, 1, "go", 0.1, Usage(), "m"),
        HandedOff("m", "g", "default", None, (), None, "M"),
        ParallelStarted("g", ("m", "k")),
    ]
    for name, tool in calls.items():
        call = ToolCall("c1", tool, {"to": name})
        events += [
            AgentResponded(name, name, "g", 1, "", 0.1, Usage(), "m", (call,)),
            ToolStarted(name, name, "g", call, 5.0, tool == "pay"),
        ]
    store = SqliteStore(tmp_path / "x.db")
    row = RunRow("r1", "test-crew", "running", "go", "2026-01-01T00:00:00.000Z", "")
    await store.append(Write("r1", records_of(events), row))
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        assert (await run.outcome()).status == "paused"
        result = "x" if decision == "done" else ""
        answer = Answer(decision=decision, result=result)
        ended = await (await runs.resume("r1", answer)).outcome()
    assert ended.status == "completed"


async def test_an_idempotent_call_is_made_again(tmp_path: Path):
    """Unasked, and without publishing its start again where its agent's turn was published."""
    folder = paying(tmp_path / "crew")
    call = ToolCall("call_1_1", "pay", {"to": "bob"})
    store = SqliteStore(tmp_path / "x.db")
    events = left_behind(call)
    events[2] = ToolStarted("a", "A", None, call, 5.0, False)
    await store.append(
        Write(
            "r1",
            records_of(events),
            RunRow("r1", "test-crew", "running", "pay bob", "t", ""),
        )
    )
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        assert isinstance(run, Run)
        assert (await run.outcome()).answer == "paid bob"
        received = [
            json.loads(event.encoded)["type"] async for event in runs.follow("r1", 3) if event
        ]
    assert received == ["tool_result", "agent_start", "agent_response", "done"]
    assert paid(folder) == 1


async def test_an_approved_call_needs_its_yes_each_time(tmp_path: Path):
    """The yes to one call is not one to the next."""
    folder = paying(tmp_path / "crew", requires_approval=True)
    (folder / "script.yaml").write_text(
        'rules:\n  - {turn: 3, say: done}\n  - {say: "", calls: [{tool: pay, arguments: {to: bob}}]}\n'
    )
    crew = load_crew(folder)
    async with Runs(crew, SqliteStore(tmp_path / "x.db")) as runs:
        run = await runs.start(Query("go"))
        for acts in (0, 1):
            assert (await run.outcome()).status == "paused"
            assert paid(folder) == acts
            run = await runs.resume(run.id, Answer(decision="approve"))
        assert (await run.outcome()).answer == "done"
    assert paid(folder) == 2


async def test_plain_answers_need_no_decision(tmp_path: Path):
    """A pause in words is answered in words."""
    folder = write_crew(
        tmp_path,
        {"a": {}},
        [{"turn": 1, "say": "which?"}, {"say": "{{heard}} [E]"}],
        routing={
            "signals": {"a": [{"signal": "[E]"}]},
            "agent_behaviors": {"a": {"wait_for_signal": True}},
        },
    )
    assert (await play(load_crew(folder), "x", "this one")).row.answer == "this one [E]"
