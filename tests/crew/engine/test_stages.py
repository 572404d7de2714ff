"""What a run's time went to, on a virtual clock."""

import asyncio
from pathlib import Path

import pytest

from crew import MemoryStore, Runs
from crew.assembly.recipe import Recipe
from crew.config.files.sources import read_sources
from crew.crew import load_from
from tests.support.crews import play, write_crew
from tools import VirtualClock, tool


async def test_each_second_is_of_one_stage(tmp_path: Path):
    """Models 10 s, a tool 3 s, a group of two models at the same time 20 s, and the same after a pause."""
    clock = VirtualClock()

    @tool(timeout_seconds=60)
    async def wait() -> str:
        await clock.sleep(3)
        return "waited"

    rules = [
        {"agent": "a", "after": "wait", "say": "[G]", "delay_seconds": 5},
        {"agent": "a", "calls": ["wait"], "delay_seconds": 5},
        {"agent": "b", "say": "b", "delay_seconds": 20},
        {"agent": "c", "say": "c", "delay_seconds": 20},
        {"agent": "d", "turn": 1, "say": "what now?", "delay_seconds": 1},
        {"agent": "d", "say": "[END]", "delay_seconds": 2},
    ]
    routing = {
        "signals": {
            "a": [{"signal": "[G]", "target": "g"}],
            "d": [{"signal": "[END]", "target": None}],
        },
        "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "d"}},
        "agent_behaviors": {"d": {"wait_for_signal": True}},
    }
    agents = {"a": {"tools": ["wait"]}, "b": {}, "c": {}, "d": {}}
    settings = {"tool_execution_timeout_seconds": 30}
    folder = write_crew(tmp_path, agents, rules, routing=routing, settings=settings)
    crew = load_from(Recipe(tools=(wait,), clock=clock), read_sources(folder))
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await play(crew, "go", "on", runs=runs)
        moving.cancel()
    paused, done = [event["metadata"] for event in run.of("done")]
    assert paused["stages"] == pytest.approx(
        {"models": 31, "tools": 3, "context": 0, "other": 0}, abs=0.01
    )
    assert done["stages"] == pytest.approx(
        {"models": 33, "tools": 3, "context": 0, "other": 0}, abs=0.01
    )
    assert sum(done["stages"].values()) == pytest.approx(done["duration_seconds"], abs=0.01)
