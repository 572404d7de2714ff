"""What a run has in memory is freed when it ends, not by a later collection of the process."""

import gc
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from tests.crew.engine.test_agent_tools import helping, without_approval
from tests.support.crews import write_crew
from tests.support.planning import planning, task

TIMES = 20
GROUP: dict[str, Any] = {
    "signals": {"a": [{"signal": "[G]", "target": "g"}]},
    "parallel_groups": {"g": {"agents": ["b", "c"], "next_agent": "end"}},
}


def grouping(folder: Path) -> Path:
    agents: dict[str, Any] = {"a": {}, "b": {}, "c": {}, "end": {"is_terminal": True}}
    rules = [{"agent": "a", "say": "[G]"}, {"say": "done"}]
    return write_crew(folder, agents, rules, routing=GROUP)


def planned(folder: Path) -> Path:
    return planning(folder, [task("a"), task("b", "a")])


def helped(folder: Path) -> Path:
    return helping(folder, tools=without_approval())


@pytest.mark.parametrize("write", [grouping, planned, helped])
async def test_nothing_of_a_run_waits_for_a_collection(tmp_path: Path, write: Any):
    async with Runs(load_crew(write(tmp_path)), MemoryStore()) as runs:
        await (await runs.start(Query("x"))).outcome()
        gc.collect()
        gc.disable()
        try:
            for _ in range(TIMES):
                assert (await (await runs.start(Query("x"))).outcome()).status == "completed"
            found = gc.collect()
        finally:
            gc.enable()
    assert found < TIMES
