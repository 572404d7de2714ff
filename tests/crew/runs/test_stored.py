"""What a run has stored by now, read while it is at work."""

from pathlib import Path

from anyio.lowlevel import checkpoint

from crew import MemoryStore, Query, Runs, load_crew
from tests.support.crews import write_crew


async def test_events_on_their_way_are_not_lost(tmp_path: Path):
    """They are missing, and nothing stands for them: they come."""
    rules = [
        {"after": "GetSystemInfo", "say": "slow", "delay_seconds": 3600},
        {"calls": ["GetSystemInfo"]},
    ]
    agents = {"a": {"is_terminal": True, "tools": ["GetSystemInfo"]}}
    crew = load_crew(write_crew(tmp_path, agents, rules))
    async with Runs(crew, MemoryStore(crew.clock)) as runs:
        run = await runs.start(Query("hello"))
        while run.journal.backlog == 0:
            await checkpoint()
        found = [event.type async for event in runs.stored(run.id)]
        assert found[0] == "start"
        assert "gap" not in found
        await runs.cancel(run.id)
