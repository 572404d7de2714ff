"""What carries a call's mark in its environment: ended when the call, or its server, has ended.

A program that clears its environment, and leaves its session, cannot be found so.
"""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from tools.loops import goes_on_here

VARIABLE = "CREW_CALL"
# one look at all processes takes milliseconds
SWEEP_SECONDS = 0.5
# in a row, while something is found
MAX_LOOKS = 20


# of all calls of this process
_numbers = count(1)


class Marks:
    """The marks of one server's calls: folder, process, start of the process, number."""

    def __init__(self, folder: Path) -> None:
        self._prefix = _prefix(folder)
        self._ended: set[str] = set()
        self._sweeping: asyncio.Task[None] | None = None

    def new(self) -> str:
        """Make the mark of another call."""
        pid = os.getpid()
        return f"{self._prefix}.{pid}.{_started(pid)}.{next(_numbers)}"

    def end(self, mark: str) -> None:
        """End a call: what carries its mark is ended soon."""
        self._ended.add(mark)
        if not goes_on_here(self._sweeping):
            self._sweeping = asyncio.ensure_future(self._sweep())

    async def _sweep(self) -> None:
        while self._ended:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self._look()
            except RuntimeError:
                # the process ends: no thread begins any more, and the next one ends what is left
                return

    async def _look(self) -> None:
        marks = set(self._ended)
        for _ in range(MAX_LOOKS):
            # what is ended may have started another one meanwhile
            if not await asyncio.to_thread(end_marked, marks.__contains__):
                break
        self._ended -= marks

    async def close(self) -> None:
        """End at once what ended calls have left."""
        if self._sweeping is not None and goes_on_here(self._sweeping):
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping})
        if self._ended:
            await self._look()


def end_orphans(folder: Path) -> int:
    """End what servers of a folder have left that are gone; how many programs."""

    def is_orphan(mark: str) -> bool:
        prefix, _, rest = mark.partition(".")
        pid, _, rest = rest.partition(".")
        started = rest.partition(".")[0]
        return prefix == ours and pid.isdecimal() and _started(int(pid)) != started

    if sys.platform != "linux":
        return 0
    ours = _prefix(folder)
    return end_marked(is_orphan)


def end_marked(is_meant: Callable[[str], bool]) -> int:
    """Kill the processes with the mark; return how many there were."""
    killed = 0
    for pid, mark in _marked():
        if is_meant(mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    return killed


def _marked() -> Iterator[tuple[int, str]]:
    """Yield the processes with a mark."""
    wanted = f"{VARIABLE}=".encode()
    for name in os.listdir("/proc"):  # noqa: PTH208 # names are all that is needed, and many
        if not name.isdecimal():
            continue
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        for variable in environment.split(b"\0"):
            if variable.startswith(wanted):
                yield int(name), variable[len(wanted) :].decode(errors="replace")


def _prefix(folder: Path) -> str:
    return hashlib.sha256(str(folder.resolve()).encode(errors="surrogateescape")).hexdigest()[:16]


def _started(pid: int) -> str:
    """Return when a process began, in ticks since the machine's start; "" where there is none."""
    try:
        # behind the name, which may hold anything: field 22 of proc(5)
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
