"""`replay.keep`: the newest runs of each end keep their events for a while, whatever the retention says."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

from crew import MemoryStore, Query, Runs, load_crew
from crew.runs.upkeep.maintenance import Retention, purge_batch
from tests.support.crews import write_crew
from tools.virtual_clock import VirtualClock

DAY = timedelta(days=1).total_seconds()
RULES = [{"hears": "fail", "fail": "refused"}, {"say": "done"}]


async def kept(folder: Path, retention: Retention, **keep: Any) -> list[str]:
    """Of runs of five days, two a day, what was asked in those that have events after a purge."""
    clock = VirtualClock()
    moving = asyncio.create_task(clock.run())
    crew = load_crew(write_crew(folder, {"a": {}}, RULES, replay={"keep": keep}), clock=clock)
    store = MemoryStore(clock)
    async with Runs(crew, store) as runs:
        for day in range(5):
            for query in (f"good {day}", f"fail {day}"):
                run = await runs.start(Query(query))
                await runs.outcome(run.id)
            await clock.sleep(DAY)
        while await purge_batch(runs, retention):
            pass
        moving.cancel()
        rows = await store.rows(oldest_first=True)
        return sorted([row.query for row in rows if await store.records(row.run_id)])


async def test_the_newest_of_each_end(tmp_path: Path):
    retention = Retention(events_days=0)
    assert await kept(tmp_path / "a", retention, runs=2) == ["fail 3", "fail 4", "good 3", "good 4"]
    assert await kept(tmp_path / "b", retention, runs=2, days=1.5) == ["fail 4", "good 4"]
    assert await kept(tmp_path / "c", retention, runs=0) == []


async def test_what_the_retention_keeps_is_kept(tmp_path: Path):
    """And a run that is deleted has no events."""
    longer = Retention(events_days=3.5)
    expected = [f"{kind} {day}" for kind in ("fail", "good") for day in (2, 3, 4)]
    assert await kept(tmp_path / "a", longer, runs=1) == expected
    shorter = Retention(events_days=0, runs_days=1.5)
    assert await kept(tmp_path / "b", shorter) == ["fail 4", "good 4"]
