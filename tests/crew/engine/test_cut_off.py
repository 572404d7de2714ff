"""A call that is cut off has a result all the same: each `tool_start` has its `tool_result`."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crew import Crew, MemoryStore, Query, Runs
from crew.journal.wire import RunEvent
from tests.support.crews import crew_of
from tools import tool

GROUP: dict[str, Any] = {
    "signals": {"c": [{"signal": "[D]", "target": "d"}]},
    "defaults": {"a": "g"},
    "parallel_groups": {
        "g": {"agents": ["b", "c"], "wait_for_all": False, "next_agent": "d"},
    },
}
AGENTS: dict[str, Any] = {"a": {}, "b": {"tools": ["wait"]}, "c": {}, "d": {"is_terminal": True}}
CALL: dict[str, Any] = {"agent": "b", "say": "", "calls": ["wait"]}


def crew(folder: Path, agents: dict[str, Any], rules: list[dict[str, Any]], **more: Any) -> Crew:
    """A crew with a tool that does not end by itself."""

    @tool(timeout_seconds=60)
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    return crew_of(folder, agents, rules, wait, **more)


def calls_of(events: list[RunEvent]) -> list[tuple[str, str]]:
    return [
        (event.type, str(event.metadata["call_id"]))
        for event in events
        if event.type in ("tool_start", "tool_result")
    ]


async def test_of_a_cancelled_run(tmp_path: Path):
    """Its result says so, before the run's end."""
    made = crew(tmp_path, {"b": {"tools": ["wait"]}}, [CALL])
    async with Runs(made, MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        events = []
        async for event in runs.follow(run.id):
            assert event is not None
            events.append(event)
            if event.type == "tool_start":
                await runs.cancel(run.id)
    (start, result) = calls_of(events)
    assert (start[0], result) == ("tool_start", ("tool_result", start[1]))
    assert [event.type for event in events][-2:] == ["tool_result", "done"]
    assert events[-2].metadata["status"] == "error"
    assert "cut off: the run was cancelled; whether it has acted" in events[-2].content


@pytest.mark.parametrize("late", [False, True])
async def test_of_a_member_of_a_group(tmp_path: Path, *, late: bool):
    """That another member's answer has ended, or that was late."""
    group = GROUP["parallel_groups"]["g"]
    routing = {**GROUP}
    if late:
        routing["parallel_groups"] = {"g": {**group, "wait_for_all": True, "timeout_seconds": 0.3}}
    rules: list[dict[str, Any]] = [
        {"agent": "a", "say": "go"},
        CALL,
        {"agent": "c", "say": "[D]", "delay_seconds": 0.1},
        {"agent": "d", "say": "end"},
    ]
    async with Runs(crew(tmp_path, AGENTS, rules, routing=routing), MemoryStore()) as runs:
        run = await runs.start(Query("go"))
        row = await run.outcome()
        events = [one async for one in runs.stored(run.id)]
    assert (row.status, row.answer) == ("completed", "end")
    (start, result) = calls_of(events)
    assert (start[0], result) == ("tool_start", ("tool_result", start[1]))
    types = [event.type for event in events]
    assert types.index("tool_result") < types.index("parallel_end")
    (told,) = [event for event in events if event.type == "tool_result"]
    assert told.metadata["group"] == "g"
    assert "cut off: the group g has ended without it" in told.content
