"""A group that one answer ends: what happens to the run meanwhile, or afterwards, is not lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.events import AgentResponded
from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.events import Event
from tests.support.crews import write_crew
from tools import VirtualClock

AGENTS = {"chair": {}, "x": {}, "y": {}, "last": {"is_terminal": True}}
RULES: list[dict[str, Any]] = [
    {"agent": "chair", "say": "go [P]"},
    {"agent": "x", "say": "fast", "delay_seconds": 1},
    {"agent": "y", "say": "late", "delay_seconds": 500},
    {"agent": "last", "say": "end", "delay_seconds": 50},
]
GROUP = {"agents": ["x", "y"], "wait_for_all": False, "next_agent": "last", "timeout_seconds": 600}
ROUTING = {
    "signals": {"chair": [{"signal": "[P]", "target": "g"}]},
    "parallel_groups": {"g": GROUP},
}


def crew(folder: Path, clock: VirtualClock, seconds: float) -> Crew:
    write_crew(folder, AGENTS, RULES, routing=ROUTING, settings={"timeout_seconds": seconds})
    return load_crew(folder, clock=clock)


async def test_the_run_has_its_time_limit_afterwards(tmp_path: Path):
    """It fails with an event, and its row says so."""
    clock = VirtualClock()
    async with Runs(crew(tmp_path, clock, 20), MemoryStore()) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("hi"))
        row = await run.outcome()
        moving.cancel()
        types = [event.type async for event in runs.stored(run.id)]
    assert (row.status, row.reason) == ("failed", "timeout")
    assert types[-1] == "error"


@pytest.mark.parametrize("passes", range(10))
async def test_the_run_can_be_cancelled_meanwhile(tmp_path: Path, passes: int):
    """So many passes of the event loop after the answer that ends the group."""
    clock = VirtualClock()
    runs: Runs

    def cancel(run_id: str, event: Event) -> None:
        if isinstance(event, AgentResponded) and event.agent_id == "x":
            cancel_later(run_id, passes)

    def cancel_later(run_id: str, passes: int) -> None:
        if passes:
            asyncio.get_running_loop().call_soon(cancel_later, run_id, passes - 1)
        elif (run := runs.live.get(run_id)) is not None:
            run.cancel()

    async with Runs(crew(tmp_path, clock, 300), MemoryStore(), (cancel,)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("hi"))
        row = await run.outcome()
        moving.cancel()
    assert row.status == "cancelled"
