"""Logs of runs of many kinds, which protocols say in their languages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import RunRow
from crew.journal.wire import RunEvent
from tests.support.crews import ROOT, copy_example, crew_of
from tools import tool

EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/crew.yaml"))
QUERY = "Is this machine well? My order came broken, and the shop is slow."
MAX_PAUSES = 4


@dataclass
class Log:
    """A run, from its start to its end."""

    crew: Crew
    row: RunRow
    events: list[RunEvent]

    @property
    def ends(self) -> list[RunEvent]:
        """The last event of each segment."""
        return [event for event in self.events if event.ends_segment]


async def log_of(crew: Crew, query: str = QUERY, *, is_forked: bool = False) -> Log:
    """Play a run; a person says yes to all that is asked. Or a fork of it, before its last answer."""
    async with Runs(crew, MemoryStore()) as runs:
        run = await runs.start(Query(query))
        row = await run.outcome()
        for _ in range(MAX_PAUSES):
            pause = await runs.pause_of(row) if row.status == "paused" else None
            if pause is None:
                break
            answer = Answer("it is web, thanks")
            if pause.metadata.get("question"):
                answer = Answer(decision="approve")
            row = await (await runs.resume(row.run_id, answer)).outcome()
        events = [event async for event in runs.stored(row.run_id)]
        if is_forked:
            last = [event.seq or 0 for event in events if event.type == "agent_start"][-1]
            row = await (await runs.fork(row.run_id, last)).outcome()
            events = [event async for event in runs.stored(row.run_id)]
        return Log(crew, row, events)


async def log_of_example(name: str, folder: Path) -> Log:
    """Play a crew of the examples."""
    path = copy_example(name, folder) / "crew.yaml"
    if "\nsettings:" not in (text := path.read_text()):
        # a busy machine starts the servers of tools late
        path.write_text(f"{text}\nsettings: {{ tool_execution_timeout_seconds: 60 }}\n")
    return await log_of(load_crew(path.parent, provider="scripted"))


def group_crew(folder: Path) -> Crew:
    """A crew with a group, a tool, signals that lead on, and one that ends the run."""

    @tool
    async def note(text: str) -> str:
        return f"note {text}"

    agents: dict[str, Any] = {"a": {"tools": ["note"]}, "b": {"tools": ["note"]}, "c": {}, "d": {}}
    routing = {
        "signals": {
            "a": [{"signal": "[G]", "target": "g"}],
            "d": [{"signal": "[END]", "target": None}],
        },
        "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
    }
    rules: list[dict[str, Any]] = [
        {"agent": "a", "after": "note", "say": "noted [G]"},
        {
            "agent": "a",
            "say": "One moment.",
            "calls": [{"tool": "note", "arguments": {"text": "1"}}],
        },
        {"agent": "b", "after": "note", "say": "b has {{result.note}}"},
        {"agent": "b", "say": 'note("3")'},
        {"agent": "c", "say": "c says"},
        {"agent": "d", "say": "All of it is well. [END]"},
    ]
    return crew_of(folder, agents, rules, note, routing=routing)


def twice_crew(folder: Path) -> Crew:
    """A crew that enters its group twice."""
    agents: dict[str, Any] = {"a": {}, "b": {}, "c": {}, "d": {}}
    routing = {
        "signals": {
            "a": [{"signal": "[G]", "target": "g"}],
            "d": [{"signal": "[AGAIN]", "target": "g"}, {"signal": "[END]", "target": None}],
        },
        "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
    }
    rules: list[dict[str, Any]] = [
        {"agent": "a", "say": "all of you [G]"},
        {"agent": "b", "say": "b says"},
        {"agent": "c", "say": "c says"},
        {"agent": "d", "turn": 1, "say": "Once more. [AGAIN]"},
        {"agent": "d", "say": "It is well. [END]"},
    ]
    return crew_of(folder, agents, rules, routing=routing)


def mixed_crew(folder: Path) -> Crew:
    """A crew with an answer of two calls, of which a person decides on one."""

    @tool
    async def look(at: str) -> str:
        return f"saw {at}"

    @tool(requires_approval=True)
    async def book(people: int) -> str:
        return f"booked for {people}"

    both = [
        {"tool": "look", "arguments": {"at": "it"}},
        {"tool": "book", "arguments": {"people": 4}},
    ]
    rules = [{"say": "Two calls.", "calls": both, "turn": 1}, {"say": "Both are done."}]
    agents: dict[str, Any] = {"a": {"tools": ["look", "book"], "is_terminal": True}}
    return crew_of(folder, agents, rules, look, book)


def failing_crew(folder: Path) -> Crew:
    """A crew with a model that refuses its second agent."""
    routing = {"signals": {"a": [{"signal": "[B]", "target": "b"}]}}
    rules = [{"agent": "a", "say": "Over to b [B]"}, {"say": "x", "fail": "refused"}]
    return crew_of(folder, {"a": {}, "b": {"is_terminal": True}}, rules, routing=routing)
