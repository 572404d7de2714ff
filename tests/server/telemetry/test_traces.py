"""Runs as traces: what spans say, that they nest, and that whoever computes them gets the same."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crew import Answer, Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.events import RunStarted, decode_event
from crew.journal.records.rows import Record, RunRow, Write
from crew.journal.wire import RunEvent
from server.telemetry.traces.spans import Span, SpanFold
from server.telemetry.traces.tracer import Tracer
from tests.support.crews import ROOT, copy_example, crew_of
from tools import ToolContext, tool
from tools.tracing import SAMPLED, TraceContext, incoming_traceparent

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROUTING = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}]},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
}
AGENTS: dict[str, Any] = {
    "a": {"tools": ["note"]},
    "b": {"tools": ["note"]},
    "c": {},
    "d": {"is_terminal": True},
}
RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "note", "say": "noted [G]"},
    {"agent": "a", "say": "", "calls": [{"tool": "note", "arguments": {"text": "1"}}]},
    {"agent": "b", "after": "note", "say": "b has {{result.note}}"},
    {"agent": "b", "say": 'note("3")'},
    {"agent": "c", "say": "c says"},
    {"agent": "d", "say": "all: {{heard}}"},
]
# by name: its parent's name
TREE = {
    "invoke_workflow test-crew": None,
    "invoke_agent A": "invoke_workflow test-crew",
    "invoke_agent B": "invoke_workflow test-crew",
    "invoke_agent C": "invoke_workflow test-crew",
    "invoke_agent D": "invoke_workflow test-crew",
    "execute_tool note": "invoke_agent",
    "chat scripted": "invoke_agent",
}


class Collected:
    """A sender that keeps what it gets; `flags` of all traces that no caller decides on."""

    def __init__(self, flags: int = SAMPLED) -> None:
        self.spans: list[Span] = []
        self.flags = flags
        self.sent, self.lost = 0, 0

    def flags_of(self, _trace_id: str, caller: TraceContext | None) -> int:
        return self.flags if caller is None else caller.flags

    def send(self, span: Span) -> None:
        self.spans.append(span)

    def close(self) -> None:
        """Nothing waits."""


def traced(crew: Crew, store: Any = None) -> tuple[Runs, Collected]:
    kept = Collected()
    tracing = Tracer(kept, contents=True)
    return Runs(crew, store or MemoryStore(), tracing=tracing), kept


def group_crew(folder: Path, seen: list[str]) -> Crew:
    @tool
    async def note(text: str, context: ToolContext) -> str:
        seen.append(context.traceparent)
        return f"note {text}"

    return crew_of(folder, AGENTS, RULES, note, routing=ROUTING)


def computed(run_id: str, revision: str, records: list[Record]) -> list[Span]:
    """The spans of stored events."""
    fold = SpanFold(run_id, revision, Collected().flags_of, contents=True)
    return [span for one in records for span in fold.add(RunEvent.of_record(one))]


def check_nesting(spans: list[Span]) -> None:
    """Each span stands in one of the same trace, and within its time; no id comes twice."""
    by_id = {(span.context.trace_id, span.context.span_id): span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        assert span.start <= span.end
        if span.parent is None or span.is_remote:
            assert span.operation == "invoke_workflow"
            continue
        parent = by_id[(span.parent.trace_id, span.parent.span_id)]
        assert parent.start <= span.start
        assert span.end <= parent.end


async def test_a_run_with_a_group_and_tools(tmp_path: Path):
    """Agents of a group stand side by side; a call knows the span that it is."""
    seen: list[str] = []
    runs, kept = traced(group_crew(tmp_path, seen))
    async with runs:
        row = await (await runs.start(Query("go"))).outcome()
        records = await runs.store.records(row.run_id)
    check_nesting(kept.spans)
    names = {span.context.span_id: span.name for span in kept.spans}
    for span in kept.spans:
        parent = TREE[span.name]
        assert (span.parent is None) == (parent is None)
        if parent is not None and span.parent is not None:
            assert names[span.parent.span_id].startswith(parent)
        assert span.context.trace_id == row.run_id
    assert Counter(span.name for span in kept.spans) == {
        **dict.fromkeys(TREE, 1),
        "execute_tool note": 2,
        "chat scripted": 6,
    }
    tools = {span.context.header for span in kept.spans if span.operation == "execute_tool"}
    assert tools == set(seen)
    assert kept.spans == computed(row.run_id, row.revision, records)
    workflow = kept.spans[-1]
    assert [one.name for one in workflow.events] == [
        *("crew.handoff", "crew.parallel_start", "crew.parallel_end", "crew.handoff")
    ]
    assert workflow.attributes["crew.reason"] == "terminal"
    assert json.loads(str(workflow.attributes["gen_ai.output.messages"])) == [
        {"role": "assistant", "parts": [{"type": "text", "content": row.answer}]}
    ]


async def test_a_run_that_goes_on_elsewhere(tmp_path: Path):
    """After each event another process claims it: all spans are reported, with the same ids.

    What was under way when the first process ended is reported by the second one alone, with the
    time since it began.
    """
    crew = group_crew(tmp_path, [])
    runs, _ = traced(crew)
    async with runs:
        row = await (await runs.start(Query("go"))).outcome()
        records = await runs.store.records(row.run_id)
    for count in range(1, len(records)):
        store, first = MemoryStore(), decode_event(records[0].event)[0]
        assert isinstance(first, RunStarted)
        running = RunRow(
            row.run_id, row.crew, "running", row.query, row.started_at, "", row.revision
        )
        await store.append(Write(row.run_id, records[:count], running))
        # what the first process has reported
        before = computed(row.run_id, row.revision, records[:count])
        again, kept = traced(crew, store)
        async with again:
            await asyncio.gather(*(one.outcome() for one in await again.recover()))
            stored = await store.records(row.run_id)
        assert before + kept.spans == computed(row.run_id, row.revision, stored)
        check_nesting(before + kept.spans)


async def test_the_trace_of_a_caller(tmp_path: Path):
    """Its trace goes on, its sampling holds; a wrong header is none."""
    crew = crew_of(tmp_path, {"a": {"is_terminal": True}}, [{"say": "yes"}])
    runs, kept = traced(crew)
    async with runs:
        for header in (CALLER, CALLER[:-2] + "00", "00-" + "0" * 32 + CALLER[35:], ""):
            given = incoming_traceparent.set(header)
            run = await runs.start(Query("go"))
            incoming_traceparent.reset(given)
            await run.outcome()
            start = RunEvent.of_record((await runs.store.records(run.id))[0])
            assert start.metadata.get("traceparent", "") == header
    by_trace = Counter((span.context.trace_id, span.context.flags) for span in kept.spans)
    theirs = "0af7651916cd43dd8448eb211c80319c"
    assert by_trace.pop((theirs, 1)) == by_trace.pop((theirs, 0)) == 3
    # those are named by the runs
    assert set(by_trace.values()) == {3}
    assert len(by_trace) == 2
    (workflow, *_) = [span for span in kept.spans if span.parent and span.is_remote]
    assert workflow.parent is not None
    assert workflow.parent.span_id == "b7ad6b7169203331"


async def test_each_segment_is_a_trace(tmp_path: Path):
    """The second one begins a trace of its own, which says where the first is."""
    crew = crew_of(
        tmp_path,
        {"a": {}},
        [{"agent": "a", "hears": "b", "say": "thanks"}, {"say": "which?"}],
        routing={"agent_behaviors": {"a": {"wait_for_signal": True}}},
    )
    runs, kept = traced(crew)
    async with runs:
        run = await runs.start(Query("go"))
        await run.outcome()
        run = await runs.resume(run.id, Answer("b"))
        await run.outcome()
    first, second = (span for span in kept.spans if span.operation == "invoke_workflow")
    assert first.context.trace_id == run.id != second.context.trace_id
    assert second.link == first.context
    assert first.link is None
    assert first.attributes["crew.reason"] == "paused"
    assert [one.name for one in first.events] == ["crew.pause"]


@pytest.mark.parametrize(
    ("fail", "error"),
    [("refused", "refused"), ({"code": "unavailable", "times": 1, "retry_after_seconds": 0}, "")],
)
async def test_what_fails(tmp_path: Path, fail: Any, error: str):
    """A model that fails ends its span, its agent's and the run's with the code; a try does not."""
    agents = {"a": {"is_terminal": True}}
    runs, kept = traced(crew_of(tmp_path, agents, [{"say": "oh", "fail": fail}]))
    async with runs:
        await (await runs.start(Query("go"))).outcome()
    assert [span.operation for span in kept.spans] == ["chat", "invoke_agent", "invoke_workflow"]
    assert {span.error for span in kept.spans} == {error}
    assert {span.attributes.get("error.type", "") for span in kept.spans} == {error}


@pytest.mark.parametrize(
    "name", sorted(path.parent.name for path in ROOT.glob("examples/*/crew.yaml"))
)
async def test_examples(name: str, tmp_path: Path):
    """Of each example, to its first pause or its end: all spans nest, and are those of the log."""
    crew = load_crew(copy_example(name, tmp_path), provider="scripted")
    runs, kept = traced(crew)
    async with runs:
        row = await (
            await runs.start(Query("Is this machine well? My order came broken."))
        ).outcome()
        records = await runs.store.records(row.run_id)
    check_nesting(kept.spans)
    assert kept.spans == computed(row.run_id, row.revision, records)
    events = [RunEvent.of_record(one) for one in records]
    counts = Counter(span.operation for span in kept.spans)
    assert counts["chat"] == sum(one.type == "agent_response" for one in events)
    assert counts["execute_tool"] == sum(one.type == "tool_result" for one in events)
    assert counts["invoke_workflow"] == 1
