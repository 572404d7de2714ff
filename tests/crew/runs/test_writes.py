"""How many transactions a run takes: each is a trip to the database, or a commit."""

from pathlib import Path

from crew import MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import AppendResult, Write
from tests.support.crews import write_crew
from tools import tool


class Counted(MemoryStore):
    """Notes how many events each write has."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    async def append(self, write: Write) -> AppendResult:
        self.writes.append(len(write.records))
        return await super().append(write)


async def test_the_start_and_the_first_step_are_one(tmp_path: Path):
    """The first step waits for the start to be stored; its own event goes with it."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "yes"}])
    store = Counted()
    async with Runs(load_crew(folder), store) as runs:
        await (await runs.start(Query("hi"))).outcome()
    # start and agent_start; how the rest is grouped depends on the clock
    assert store.writes[0] == 2
    assert sum(store.writes) == 4


async def test_calls_at_once_begin_in_one(tmp_path: Path):
    """Each waits until its own start is stored; all of an answer are stored together."""

    async def look(n: int) -> str:
        """Look."""
        return str(n)

    calls = [{"tool": "look", "arguments": {"n": n}} for n in range(5)]
    rules = [{"turn": 1, "say": "", "calls": calls}, {"say": "seen"}]
    settings = {"parallel_tool_calls": True}
    folder = write_crew(tmp_path, {"a": {"tools": ["look"]}}, rules, settings=settings)
    store = Counted()
    async with Runs(load_crew(folder, tools=[tool(look)]), store) as runs:
        await (await runs.start(Query("hi"))).outcome()
    # the run's start; what the model said, perhaps on its own if the machine is busy; the calls
    assert max(store.writes[:3]) >= 5, store.writes
