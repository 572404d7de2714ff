"""Time is handed in: a run that takes days plays at once on a virtual clock, on the real engine."""

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from crew import MemoryStore, Query, Runs
from crew.assembly.recipe import Recipe
from crew.config.files.sources import read_sources
from crew.crew import load_from
from tests.support.crews import write_crew
from tools import VirtualClock, tool
from tools.clock import rfc3339

DAY_SECONDS = 86_400
RULES: list[dict[str, Any]] = [
    {"agent": "a", "after": "wait", "say": "what now?"},
    {
        "agent": "a",
        "say": "",
        "calls": ["wait"],
        "fail": {"code": "unavailable", "times": 2},
    },
    {"agent": "b", "say": "nobody answered", "delay_seconds": 3600},
]
ROUTING = {
    "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    "agent_behaviors": {
        "a": {
            "wait_for_signal": True,
            "wait_timeout_seconds": 2 * DAY_SECONDS,
            "on_wait_timeout": "b",
        }
    },
}


def moment(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["timestamp"]).timestamp()


def due(clock: VirtualClock) -> str:
    return rfc3339(clock.now() + timedelta(days=2))


async def test_two_days_pass_at_once(tmp_path: Path):
    """Backoff, a tool that exceeds its time, a pause that nobody answers, a slow model."""
    clock = VirtualClock()

    @tool(timeout_seconds=60)
    async def wait() -> str:
        await clock.sleep(DAY_SECONDS)
        return "late"

    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["wait"]}, "b": {"is_terminal": True}},
        RULES,
        routing=ROUTING,
        settings={
            "retry_backoff_min_millis": 20_000,
            "retry_backoff_max_seconds": 40,
            "timeout_seconds": 7200,
            "tool_result_timeout_seconds": 300,
            "tool_retries": 0,
        },
    )
    crew = load_from(Recipe(tools=(wait,), clock=clock, environment={}), read_sources(folder))
    async with Runs(crew, MemoryStore(clock)) as runs:
        moving = asyncio.create_task(clock.run())
        run = await runs.start(Query("go"))
        paused_row = await run.outcome()
        assert (paused_row.status, paused_row.paused_until) == ("paused", due(clock))
        await clock.sleep(2 * DAY_SECONDS)
        await runs.expire(paused_row)
        row = await runs.outcome(run.id)
        events = [json.loads(event.encoded) async for event in runs.stored(run.id)]
        moving.cancel()
    assert (row.answer, row.reason) == ("nobody answered", "terminal")
    (result,) = [event for event in events if event["type"] == "tool_result"]
    started = next(event for event in events if event["type"] == "tool_start")
    paused = next(event for event in events if event["type"] == "pause")
    resumed = [event for event in events if event["type"] == "start"][1]
    assert result["metadata"]["status"] == "timeout"
    assert 59 <= moment(result) - moment(started) <= 61
    # two tries that failed, with a wait after each
    assert moment(started) - moment(events[0]) >= 20
    assert 0 <= moment(resumed) - moment(paused) - 2 * DAY_SECONDS <= 2
    assert moment(events[-1]) - moment(resumed) >= 3600
