"""Python tools in processes of their own: kept, limited, and killed at their deadlines."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.processes import until
from tests.support.tool_calls import run
from tools import Tool, ToolCall, ToolResult
from tools.calls import CallRetried
from tools.config import PythonTool
from tools.kinds.python.isolated import MAX_IDLE, isolated
from tools.kinds.python.reference import python_tool
from tools.limits.deadline import Limits

# the start of a process takes time on a busy machine
PATIENT = Limits(sequence_seconds=60, tool_seconds=60)
FUNCTIONS = '''
import ctypes, os, subprocess, sys, time
from pathlib import Path

from pydantic import BaseModel

from tools import ArgumentsError, PermanentError, TemporaryError

HERE = Path(__file__).parent


class Place(BaseModel):
    """A place."""

    name: str


def where(number: int = 7) -> dict[str, int]:
    """The process."""
    print("not a reply")
    return {"pid": os.getpid(), "number": number, "input": len(sys.stdin.read())}


async def greet(place: Place, times: int) -> str:
    """A greeting."""
    return place.name * times


def hold(seconds: int) -> str:
    """Keep the interpreter's lock, with a child."""
    child = subprocess.Popen(["sleep", str(seconds)])
    (HERE / "pids").write_text(f"{os.getpid()} {child.pid}")
    ctypes.PyDLL(None).sleep(seconds)
    return ""


def exits(how: str) -> str:
    """End the process, with a child."""
    child = subprocess.Popen(["sleep", "600"])
    (HERE / "pids").write_text(str(child.pid))
    if how == "exit":
        os._exit(3)
    if how == "abort":
        os.abort()
    sys.exit("enough")


def fails(how: str) -> str:
    """Fail."""
    errors = {"temporary": TemporaryError, "permanent": PermanentError, "arguments": ArgumentsError,
              "network": ConnectionRefusedError, "timeout": TimeoutError, "bug": KeyError}
    raise errors[how]("no " + how)


def fills(megabytes: int) -> int:
    """Use memory."""
    return len(bytearray(megabytes << 20))


def counts() -> None:
    """Use the CPU."""
    while True:
        pass


def long(size: int) -> str:
    """A long result."""
    return "é" * size
'''


@asynccontextmanager
async def isolation(folder: Path, function: str, **entry: Any) -> AsyncIterator[Tool]:
    """A tool of FUNCTIONS in processes of its own."""
    (folder / "functions.py").write_text(FUNCTIONS)
    reference = f"functions.py:{function}"
    config = PythonTool(kind="python", function=reference, isolate="process", **entry)
    made = isolated(python_tool(function, config, folder), config, folder)
    assert made.close is not None
    try:
        yield made
    finally:
        await made.close()


async def result(tool: Tool, limits: Limits = PATIENT, **arguments: Any) -> ToolResult:
    (found,), _ = await run([ToolCall("1", tool.name, arguments)], tool, limits=limits)
    return found


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until_gone(pid: int) -> None:
    await asyncio.to_thread(until, lambda: is_gone(pid))


async def test_one_process_does_all_calls(tmp_path: Path):
    """It is another, it is kept, and what it prints is no reply."""
    async with isolation(tmp_path, "where") as tool:
        first, second = await result(tool), await result(tool, number="5")
    assert first.status == second.status == "success"
    pid = json.loads(first.output)["pid"]
    assert pid != os.getpid()
    assert first.output == f'{{"pid":{pid},"number":7,"input":0}}'
    assert second.output == f'{{"pid":{pid},"number":5,"input":0}}'
    assert not psutil.pid_exists(pid)


async def test_arguments_become_python_values_in_the_process(tmp_path: Path):
    """Checked before it, made there; an async function is awaited."""
    async with isolation(tmp_path, "greet") as tool:
        good = await result(tool, place={"name": "Huế"}, times="2")
        wrong = await result(tool, place={"nam": "Huế"}, times=2)
    assert (good.status, good.output) == ("success", "HuếHuế")
    assert (wrong.status, wrong.attempts) == ("error", 0)
    assert "place" in wrong.output


async def test_a_deadline_ends_what_keeps_the_interpreter(tmp_path: Path):
    """With what it has started; the next call gets another process."""
    async with isolation(tmp_path, "hold", retries=0) as tool:
        assert (await result(tool, seconds=0)).status == "success"
        late = await result(tool, Limits(sequence_seconds=4, tool_seconds=3), seconds=600)
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert late.status == "timeout"
        for pid in pids:
            await until_gone(pid)
        assert (await result(tool, seconds=0)).status == "success"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("exit", "its process ended with exit code 3"),
        ("abort", "its process ended (SIGABRT: the function, or a library of it, failed)"),
        ("raise", "SystemExit: enough"),
    ],
)
async def test_a_function_may_end_its_process(tmp_path: Path, how: str, told: str):
    """It ends only its own; nothing is tried again, and the next call gets another."""
    async with isolation(tmp_path, "exits") as tool:
        for _ in range(2):
            ended = await result(tool, how=how)
            assert (ended.status, ended.attempts, ended.output) == ("error", 1, told)
        if how != "raise":
            await until_gone(int((tmp_path / "pids").read_text()))
    await until_gone(int((tmp_path / "pids").read_text()))


@pytest.mark.parametrize(
    ("how", "status", "attempts", "told"),
    [
        ("temporary", "error", 2, "no temporary"),
        ("network", "error", 2, "no network"),
        ("timeout", "timeout", 2, "no timeout"),
        ("permanent", "error", 1, "no permanent"),
        ("arguments", "error", 1, "no arguments"),
        ("bug", "error", 1, "KeyError: 'no bug'"),
    ],
)
async def test_errors_are_those_of_the_function(
    tmp_path: Path, how: str, status: str, attempts: int, told: str
):
    """Tried again by class, as without a process."""
    async with isolation(tmp_path, "fails", retries=1) as tool:
        failed = await result(tool, how=how)
    assert (failed.status, failed.attempts, failed.output) == (status, attempts, told)


async def test_memory_is_limited(tmp_path: Path):
    """What needs more fails alone."""
    async with isolation(tmp_path, "fills", max_memory_mb=256) as tool:
        failed = await result(tool, megabytes=400)
        assert failed.output == "it needs more than 256 MB of memory (max_memory_mb)"
        assert (await result(tool, megabytes=10)).status == "success"


async def test_the_cpu_is_limited(tmp_path: Path):
    """Long before the deadline."""
    async with isolation(tmp_path, "counts", max_cpu_seconds=1) as tool:
        ended = await result(tool)
    assert ended.output == (
        "its process ended (SIGXCPU: it used all its time of the CPU (max_cpu_seconds))"
    )


async def test_a_result_that_is_too_long_is_an_error(tmp_path: Path):
    """And does not end the process."""
    async with isolation(tmp_path, "long") as tool:
        too_long = await result(tool, size=4 << 20)
        assert (too_long.status, too_long.attempts) == ("error", 1)
        assert "at most 16,777,216 can be passed on" in too_long.output
        assert (await result(tool, size=2)).output == "éé"


async def test_calls_at_the_same_time_have_processes_of_their_own(tmp_path: Path):
    """Few are kept."""
    async with isolation(tmp_path, "where") as tool:
        asked = [ToolCall(str(number), "where") for number in range(5)]
        limits = Limits(sequence_seconds=60, tool_seconds=60, parallel=True)
        results, events = await run(asked, tool, limits=limits)
        assert len({result.output for result in results}) == 5
        assert not [event for event in events if isinstance(event, CallRetried)]
        pids = [json.loads(result.output)["pid"] for result in results]
        await asyncio.to_thread(until, lambda: sum(map(is_gone, pids)) == 5 - MAX_IDLE)


async def test_a_process_that_cannot_start_says_why(tmp_path: Path):
    """Its function was there when the crew was loaded."""
    async with isolation(tmp_path, "where") as tool:
        (tmp_path / "functions.py").write_text("")
        failed = await result(tool)
    assert failed.status == "error"
    assert failed.output == "its process did not start: functions.py has no 'where'"


OWNER = """
import asyncio, sys
from pathlib import Path
from tools.config import PythonTool
from tools.context import ToolContext
from tools.kinds.python.isolated import isolated
from tools.kinds.python.reference import python_tool

config = PythonTool(kind="python", function="functions.py:hold", isolate="process")
tool = isolated(python_tool("hold", config, Path(".")), config, Path("."))
asyncio.run(tool.act({"seconds": 600}, ToolContext()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends it in the middle of a call")
async def test_a_process_ends_with_its_owner(tmp_path: Path):
    """Killed without a word, in the middle of a call."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, cwd=tmp_path)
    pids = tmp_path / "pids"
    await asyncio.to_thread(until, lambda: pids.is_file() and bool(pids.read_text()))
    pid, child = (int(pid) for pid in pids.read_text().split())
    owner.kill()
    await owner.wait()
    await until_gone(pid)
    # what a function starts is its own; only a deadline ends it too
    os.kill(child, signal.SIGKILL)
