"""Several calls in one pause are decided one by one, in one answer."""

from pathlib import Path
from typing import Any

import pytest

from agents.costs.usage import Usage
from agents.events import AgentResponded, ToolStarted
from agents.messages import ToolMessage
from crew import Answer, MemoryStore, Query, Run, Runs, load_crew
from crew.engine.decisions import wrong_decision
from crew.journal.events import HandedOff, ParallelStarted, RunStarted, encode_event
from crew.journal.query import CallDecision
from crew.journal.questions import Approval, PendingCall, UnknownOutcome
from crew.journal.records.rows import Record, RunRow, Write
from crew.runs.errors import WrongDecision
from tests.support.crews import write_crew
from tools import ToolCall

ACTS = """
from pathlib import Path


def pay(to: str) -> str:
    '''Pay someone.'''
    with (Path(__file__).parent / "ledger").open("a") as out:
        out.write(to + " ")
    return f"paid {to}"
"""
BOB, EVE = ToolCall("1", "pay", {"to": "bob"}), ToolCall("2", "pay", {"to": "eve"})
RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "{{heard}}"},
    {"say": "", "calls": [{"tool": "pay", "arguments": {"to": to}} for to in ("bob", "eve")]},
]


def crew(folder: Path, *, group: bool = False, **keys: Any) -> Path:
    (folder / "acts.py").write_text(ACTS)
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", **keys}}
    if not group:
        return write_crew(folder, {"a": {"tools": ["pay"]}}, RULES, tools)
    agents = {"a": {"tools": ["pay"]}, "b": {"tools": ["pay"]}, "e": {"is_terminal": True}}
    routing = {
        "defaults": {"a": "g"},
        "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "e"}},
    }
    rules = [{"agent": "e", "say": "{{heard}}"}, *RULES]
    return write_crew(folder, agents, rules, tools, routing=routing)


def ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return sorted(path.read_text().split()) if path.exists() else []


async def left_behind(store: MemoryStore, events: list[Any]) -> None:
    """What a process wrote before it died."""
    public = '{"type":"x","agent":"","content":"","timestamp":"","metadata":{}}'
    records = [Record(n, public, encode_event(event, 0.0)) for n, event in enumerate(events, 1)]
    row = RunRow("r1", "test-crew", "running", "go", "2026-01-01T00:00:00.000Z", "")
    await store.append(Write("r1", records, row))


def results(run: Run) -> list[str]:
    history = run.executor.state.main.history
    (message,) = [one for one in history if isinstance(one, ToolMessage)]
    return [result.output for result in message.results]


async def test_one_was_made_and_one_was_not(tmp_path: Path):
    """The result of the first is not that of the second."""
    folder, store = crew(tmp_path, effect="once"), MemoryStore()
    await left_behind(
        store,
        [
            RunStarted("test-crew", "a", "A", "", Query("go")),
            AgentResponded("a", "A", None, 1, "", 0.1, Usage(), "m", (BOB, EVE)),
            ToolStarted("a", "A", None, BOB, 5.0, True),
            ToolStarted("a", "A", None, EVE, 5.0, True),
        ],
    )
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        assert (await run.outcome()).status == "paused"
        for_all = Answer(decision="done", result="the first was paid")
        with pytest.raises(WrongDecision, match="done is of one call: give decisions"):
            await runs.resume("r1", for_all)
        decisions = (
            CallDecision("1", "done", result="the first was paid"),
            CallDecision("2", "retry"),
        )
        resumed = await runs.resume("r1", Answer(decisions=decisions))
        assert (await resumed.outcome()).status == "completed"
    assert ledger(folder) == ["eve"]
    assert results(resumed) == ["the first was paid", "paid eve"]


async def test_one_is_allowed_and_one_is_not(tmp_path: Path):
    """Approvals alike, each with its reason."""
    folder = crew(tmp_path, requires_approval=True)
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        question = run.executor.state.question
        assert question is not None
        bob, eve = question.calls
        decisions = (
            CallDecision(eve.call.id, "approve"),
            CallDecision(bob.call.id, "deny", reason="too dear"),
        )
        resumed = await runs.resume(run.id, Answer(decisions=decisions))
        assert (await resumed.outcome()).status == "completed"
    assert ledger(folder) == ["eve"]
    denied, paid = results(resumed)
    assert (denied, paid) == ("Denied by a person: too dear", "paid eve")


async def test_members_of_a_group_may_have_calls_of_one_id(tmp_path: Path):
    """Then the agent is named too."""
    folder, store = crew(tmp_path, group=True, effect="once"), MemoryStore()
    events: list[Any] = [
        RunStarted("test-crew", "a", "A", "", Query("go")),
        HandedOff("a", "g", "default", None, (), None, "A"),
        ParallelStarted("g", ("a", "b")),
    ]
    for agent, to in (("a", "bob"), ("b", "eve")):
        call = ToolCall("1", "pay", {"to": to})
        events += [
            AgentResponded(agent, agent, "g", 1, "", 0.1, Usage(), "m", (call,)),
            ToolStarted(agent, agent, "g", call, 5.0, True),
        ]
    await left_behind(store, events)
    async with Runs(load_crew(folder), store) as runs:
        (run,) = await runs.recover()
        await run.outcome()
        with pytest.raises(WrongDecision, match="several agents have a call 1"):
            await runs.resume("r1", Answer(decisions=(CallDecision("1", "skip"),)))
        decisions = (CallDecision("1", "skip", "a"), CallDecision("1", "retry", "b"))
        resumed = await runs.resume("r1", Answer(decisions=decisions))
        assert (await resumed.outcome()).status == "completed"
    assert ledger(folder) == ["eve"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Answer(decisions=(CallDecision("1", "skip"),)),
            "no decision on the call 2 of a; give one",
        ),
        (
            Answer(decisions=(CallDecision("1", "skip"), CallDecision("1", "retry"))),
            "2 decisions on the call 1 of a; give one",
        ),
        (
            Answer(decisions=tuple(CallDecision(n, "skip") for n in "123")),
            "this pause does not ask about a call 3",
        ),
        (
            Answer(decisions=(CallDecision("1", "done"), CallDecision("2", "skip"))),
            "done needs a result: what the call 1 has returned",
        ),
        (
            Answer(decision="skip", decisions=(CallDecision("1", "skip"),)),
            "give one decision for all calls, or decisions for each of them",
        ),
        (
            Answer(decisions=(CallDecision("1", "approve"), CallDecision("2", "skip"))),
            "this pause asks for retry or skip or done, not approve",
        ),
    ],
)
def test_each_call_is_decided_once(answer: Answer, said: str):
    """And what is wrong is told."""
    question = UnknownOutcome((PendingCall("a", BOB), PendingCall("a", EVE)))
    assert wrong_decision(answer, question, {}) == said


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_one_decision_may_be_for_all(decision: Any):
    """Where it says the same of each."""
    question = Approval((PendingCall("a", BOB), PendingCall("a", EVE)))
    assert wrong_decision(Answer(decision=decision), question, {}) is None
