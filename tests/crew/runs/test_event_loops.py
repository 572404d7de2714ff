"""A crew in several event loops: one after another, and at the same time."""

import asyncio
import threading
from pathlib import Path

import pytest

from crew import Crew, MemoryStore, Query, Runs, load_crew
from crew.journal.records.rows import RunRow
from tests.support.commands import needs_linux, until_none_is_left
from tests.support.crews import Played, play, write_crew
from tests.support.mcp_servers import sdk_server

FUNCTION = 'def double(number: int) -> int:\n    "Double."\n    return 2 * number\n'
ONE = {"limits": {"max_concurrent": 1}}


def with_tools(folder: Path, *names: str) -> Crew:
    """Load a crew with tools that keep processes, with one place for each, and for the agent."""
    folder.mkdir(exist_ok=True)
    (folder / "functions.py").write_text(FUNCTION)
    given = {"m_add": {"a": 1, "b": 2}, "double": {"number": 2}}
    calls = [{"tool": name, "arguments": given.get(name, {})} for name in names]
    python = {"kind": "python", "function": "functions.py:double", "isolate": "process"}
    tools = {
        "m": sdk_server(folder),
        "double": {**python, **ONE},
        "echo": {"kind": "command", "argv": ["echo", "hello"], "effect": "read", **ONE},
    }
    rules = [{"after": [names[0]], "say": "done"}, {"delay_seconds": 0.05, "calls": calls}]
    agent = {"tools": sorted(set(names)), "max_concurrent": 1, "is_terminal": True}
    settings = {"tool_execution_timeout_seconds": 60, "tool_result_timeout_seconds": 120}
    return load_crew(write_crew(folder, {"a": agent}, rules, tools, settings=settings))


async def play_three(crew: Crew, *, leaves: bool) -> list[Played]:
    """Play three runs at the same time, so that each place is waited for."""
    runs = Runs(crew, MemoryStore())
    played = await asyncio.gather(*(play(crew, "?", runs=runs) for _ in range(3)))
    if leaves:
        await runs.__aexit__(None, None, None)
    return played


@needs_linux
@pytest.mark.parametrize(
    ("names", "leaves"), [(("m_add", "double", "echo", "echo"), True), (("m_add",), False)]
)
def test_one_event_loop_after_another(tmp_path: Path, names: tuple[str, ...], *, leaves: bool):
    """Servers, processes and places are made anew, whether the crew was closed or not."""
    crew = with_tools(tmp_path, *names)
    results = {"m_add": '"sum": 3', "double": "4", "echo": "hello"}
    for _ in range(2):
        for one in asyncio.run(play_three(crew, leaves=leaves)):
            assert (one.row.status, one.row.answer) == ("completed", "done")
            for event in one.of("tool_result"):
                metadata = event["metadata"]
                assert metadata["status"] == "success"
                assert results[metadata["tool"]] in event["content"]

    async def end() -> None:
        await crew.aclose()
        await until_none_is_left()

    asyncio.run(end())


def test_two_event_loops_at_the_same_time(tmp_path: Path):
    """The second one is refused, nothing is stored, and the first one goes on."""
    rules = [{"delay_seconds": 0.05, "say": "done"}]
    crew = load_crew(write_crew(tmp_path, {"a": {"is_terminal": True}}, rules))
    begun, refused = threading.Event(), threading.Event()
    stored: list[RunRow] = []

    def second() -> None:
        async def start() -> None:
            store = MemoryStore()
            with pytest.raises(RuntimeError, match="call load_crew in each event loop"):
                await Runs(crew, store).start(Query("?"))
            stored.extend(await store.rows())
            refused.set()

        begun.wait()
        asyncio.run(start())

    thread = threading.Thread(target=second)
    thread.start()

    async def first() -> Played:
        runs = Runs(crew, MemoryStore())
        run = await runs.start(Query("?"))
        begun.set()
        await asyncio.to_thread(refused.wait, 20)
        await run.outcome()
        return await play(crew, "again", runs=runs)

    assert asyncio.run(first()).row.answer == "done"
    thread.join()
    assert refused.is_set()
    assert stored == []
