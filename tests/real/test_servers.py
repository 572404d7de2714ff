"""MCP servers that others wrote: listed, called, killed in the middle, and there again."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.real.installed import NODE, NODE_PROGRAMS, PYTHON_PROGRAMS, needs_real
from tests.support.commands import needs_linux
from tests.support.made_tools import tools_of

pytestmark = [needs_real, needs_linux]


def node(program: str, *args: str) -> dict[str, Any]:
    return {"command": str(NODE), "args": [str(NODE_PROGRAMS / program), *args]}


def entry_of(name: str, folder: Path) -> dict[str, Any]:
    """An entry of tools.yaml for a server, with something to look at."""
    match name:
        case "filesystem":
            (folder / "a.txt").write_text("hello from a file")
            return node("mcp-server-filesystem", str(folder))
        case "everything":
            return node("mcp-server-everything", "stdio")
        case "memory":
            return node("mcp-server-memory") | {"env": {"MEMORY_FILE_PATH": str(folder / "m.json")}}
        case "git":
            subprocess.run(["git", "init", "-q", str(folder / "repo")], check=True)
            args = ["--repository", str(folder / "repo")]
            return {"command": str(PYTHON_PROGRAMS / "mcp-server-git"), "args": args}
        case _:
            return {"command": str(PYTHON_PROGRAMS / f"mcp-server-{name}")}


# of each: how many tools, a call, and what its result has
SERVERS: dict[str, tuple[int, str, dict[str, Any], str]] = {
    "filesystem": (14, "read_text_file", {"path": "FOLDER/a.txt"}, "hello from a file"),
    "everything": (15, "echo", {"message": "hi there"}, "hi there"),
    "memory": (9, "read_graph", {}, "entities"),
    "time": (2, "get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
    "git": (12, "git_status", {"repo_path": "FOLDER/repo"}, "No commits yet"),
    # it refuses addresses of this machine; no test leaves it
    "fetch": (1, "fetch", {"url": "http://127.0.0.1:1/"}, "127.0.0.1"),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_a_real_server(name: str, tmp_path: Path):
    """Killed, it is told at the next call, or answers already; then it is there as before."""
    count, tool, given, shown = SERVERS[name]
    arguments = {key: value.replace("FOLDER", str(tmp_path)) for key, value in given.items()}
    entry = entry_of(name, tmp_path)
    options: dict[str, Any] = {"sandbox": "off", "startup_seconds": 60, "timeout_seconds": 60}
    others = psutil.Process().children()
    async with tools_of("mcp", tmp_path, retries=0, **options, **entry) as tools:
        assert len(tools) == count, sorted(tools)
        call = tools[f"T_{tool}"]
        first = await call(**arguments)
        assert shown in first.output, first
        end_children(others)
        # the call in between may be told that it is gone
        while shown not in (again := await call(**arguments)).output:
            assert again.status == "error", again


def end_children(others: list[psutil.Process]) -> None:
    """End what has started since; `others`: what serves other tests, too."""
    for child in psutil.Process().children():
        if child not in others:
            for one in (*child.children(recursive=True), child):
                one.kill()


async def test_a_real_server_dies_in_the_middle_of_a_call(tmp_path: Path):
    """The call has its one result, which says that it was sent."""
    entry = entry_of("everything", tmp_path)
    options: dict[str, Any] = {"sandbox": "off", "startup_seconds": 60, "timeout_seconds": 60}
    others = psutil.Process().children()
    async with tools_of("mcp", tmp_path, retries=0, **options, **entry) as tools:
        slow = tools["T_trigger-long-running-operation"]
        begun = asyncio.Event()

        async def hear(_: Any) -> None:
            if len(slow.events) > 1:
                begun.set()

        slow.on_event = hear
        calling = asyncio.create_task(slow(duration=600, steps=600))
        await begun.wait()
        end_children(others)
        result = await calling
        assert (result.status, result.facts.get("sent")) == ("error", True), result
        assert (await tools["T_echo"](message="back")).status == "success"
