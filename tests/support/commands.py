"""Commands that a test runs as tools, and the processes that they leave."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.made_tools import tool_of
from tools import ToolResult
from tools.confinement import landlock
from tools.kinds.command.marks import VARIABLE

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="commands are run on Linux")
needs_landlock = pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
# what this Python needs to start
PYTHON_FOLDERS = sorted({sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent)})


async def sh(
    folder: Path, script: str, arguments: dict[str, Any] | None = None, **entry: Any
) -> ToolResult:
    """The result of a shell script, which the operator wrote."""
    async with tool_of("command", folder, argv=["sh", "-c", script], **entry) as tool:
        return await tool(**arguments or {})


async def python(folder: Path, code: str, **entry: Any) -> ToolResult:
    """The result of a Python program."""
    entry = {"argv": [sys.executable, "-c", code], "read": PYTHON_FOLDERS, **entry}
    async with tool_of("command", folder, **entry) as tool:
        return await tool()


def marked() -> list[psutil.Process]:
    """Processes that carry the mark of a call of this process."""
    found = []
    for process in psutil.process_iter():
        try:
            if f".{os.getpid()}." in process.environ().get(VARIABLE, ""):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE]


async def come(condition: Callable[[], Any]) -> None:
    """Wait for what processes do."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, marked()
        await asyncio.sleep(0.05)


async def until_none_is_left() -> None:
    """Wait until no process of a call is left."""
    await come(lambda: not marked())


def files_in(folder: Path, beginning: str = "") -> list[str]:
    """The files of a folder."""
    return [str(one) for one in folder.iterdir() if str(one).startswith(beginning)]
