"""Nothing that a command starts outlives its call, and it takes no more than it is given."""

import asyncio
import shutil
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.commands import (
    come,
    files_in,
    marked,
    needs_linux,
    python,
    sh,
    until_none_is_left,
)
from tests.support.made_tools import MadeTool, tool_of
from tools import ToolResult
from tools.kinds.command.marks import VARIABLE, end_orphans

pytestmark = needs_linux


ESCAPES = {
    "a child": "sleep 600 & echo started; wait",
    "a child that is left": "sleep 600 & echo left",
    "a child in a session of its own": "setsid sleep 600 & sleep 0.3; echo left",
    "a double fork": "(setsid sh -c 'sleep 600 & sleep 600' &) ; sleep 0.3; echo left",
    "one that ignores TERM": "trap '' TERM; sleep 600 & wait; sleep 600",
    "one that holds the pipe": "setsid sh -c 'exec sleep 600' & sleep 0.3; echo left",
    "many": "for i in 1 2 3 4 5 6 7 8; do setsid sleep 600 & done; sleep 0.3; echo left",
    "a cleared environment": "env -i sleep 600 & sleep 0.3; echo left",
    "closed output": "exec >&- 2>&-; sleep 600",
    "no end": "while :; do :; done",
}


@pytest.mark.parametrize("name", ESCAPES)
async def test_nothing_outlives_a_call(tmp_path: Path, name: str):
    """Neither its deadline nor its end."""
    started = time.monotonic()
    result = await sh(tmp_path, ESCAPES[name], timeout_seconds=3)
    if "left" in ESCAPES[name]:
        assert (result.status, result.output) == ("success", "left\n")
    else:
        assert result.status == "timeout"
    assert time.monotonic() - started < 20
    await until_none_is_left()


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not installed")
async def test_a_namespace_ends_what_has_no_mark(tmp_path: Path):
    """A program in a session and an environment of its own; Landlock alone cannot find that one."""
    script = "env -i setsid sleep 617 & sleep 0.3; echo left"
    result = await sh(tmp_path, script, sandbox="bwrap", timeout_seconds=10)
    assert (result.status, result.output) == ("success", "left\n")
    await come(lambda: not [p for p in psutil.process_iter() if argv(p) == ["sleep", "617"]])


def argv(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_cancelled_call_ends_its_program(tmp_path: Path):
    """At once."""
    async with tool_of("command", tmp_path, argv=["sleep", "600"]) as tool:
        task = asyncio.ensure_future(tool())
        await come(marked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until_none_is_left()


async def test_limits_of_the_machine(tmp_path: Path):
    """Memory, time of the CPU, size of a file."""
    code = "x = bytearray(500_000_000); print('taken')"
    memory = await python(tmp_path, code, memory_mb=200)
    assert memory.status == "error"
    assert "MemoryError" in memory.output
    cpu = await sh(tmp_path, "while :; do :; done", cpu_seconds=1, timeout_seconds=20)
    assert "it used all its time of the CPU (cpu_seconds)" in cpu.output
    large = await sh(tmp_path, "head -c 3000000 /dev/zero > $HOME/x", file_mb=1)
    assert large.status == "error"
    many = await sh(tmp_path, "ulimit -c; ulimit -f", file_mb=1)
    assert many.output == "0\n2048\n"


async def test_what_a_dead_server_has_left_is_ended(tmp_path: Path):
    """By the next one of the same folder, and by no other."""
    crew, other = tmp_path / "crew", tmp_path / "other"
    for folder in (crew, other):
        folder.mkdir()
    owner = (
        "import asyncio, sys; from pathlib import Path\n"
        "from tests.support.made_tools import tool_of\n"
        "from tools.limits.deadline import Limits\n"
        "ARGV = ['sh', '-c', 'setsid sleep 600 & wait']\n"
        "LIMITS = Limits(sequence_seconds=500, tool_seconds=500)\n"
        "async def main():\n"
        "    async with tool_of('command', Path(sys.argv[1]), argv=ARGV, limits=LIMITS) as tool:\n"
        "        await tool()\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", owner, str(crew))

    def left() -> list[psutil.Process]:
        mark = f".{process.pid}."
        found = []
        for one in psutil.process_iter():
            try:
                if mark in one.environ().get(VARIABLE, "") and "sleep" in one.name():
                    found.append(one)
            except (psutil.Error, OSError):
                continue
        return found

    await come(left)
    assert end_orphans(crew) == 0
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert end_orphans(other) == 0
    assert left()
    assert end_orphans(crew) > 0
    await come(lambda: not left())


async def test_many_calls_at_once_leave_nothing(tmp_path: Path):
    """No descriptor, no zombie, no folder."""

    async def call(tool: MadeTool, n: int) -> ToolResult:
        return await tool(a=str(n))

    async with tool_of("command", tmp_path, argv=["printf", "%s", "{a}"]) as tool:
        await call(tool, 0)
        before = len(files_in(Path("/proc/self/fd")))
        results = await asyncio.gather(*(call(tool, n) for n in range(40)))
    assert sorted(int(result.output) for result in results) == list(range(40))
    assert len(files_in(Path("/proc/self/fd"))) <= before + 1
    assert [one for one in psutil.Process().children() if one.status() == "zombie"] == []
