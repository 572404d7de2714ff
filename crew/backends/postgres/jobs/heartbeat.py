"""Heartbeats of a worker that is held up, from a process beside it, which no tool can hold up.

The worker's event loop says through a pipe that it is alive, and which calls run. While it is
silent that process sends its heartbeats, so that no other worker takes its runs and is held up by
them too. The worker is ended when it has been silent for too long.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crew.backends.postgres.address import DatabaseAddress
from crew.backends.postgres.jobs.queue_statements import HEARTBEAT_STATEMENTS
from tools.handlers.running import notified

# how often the worker says that it is alive
TICK_SECONDS = 0.5
SENDER = Path(__file__).with_name("heartbeat_sender.py")

# the calls that run, each as the run's id and the tool
ListCalls = Callable[[], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """The first message to the process."""

    # as asyncpg takes them
    url: str
    options: dict[str, Any]
    # of one heartbeat: SQL whose first parameter is the worker's id, and the others
    statements: list[tuple[str, list[float]]]
    # a worker that is silent for so long is ended
    stall_seconds: float
    # of its log lines: text or json
    log_format: str

    @classmethod
    def of(cls, url: str, stall_seconds: float, log_format: str) -> "HeartbeatSettings":
        """Make the settings for the worker of a database."""
        address = DatabaseAddress.of(url)
        options = address.options("crew heartbeat")
        return cls(address.url, options, HEARTBEAT_STATEMENTS, stall_seconds, log_format)


class HeartbeatProcess:
    """The process, as the worker sees it."""

    def __init__(self, process: asyncio.subprocess.Process, calls: ListCalls) -> None:
        self.process, self.calls = process, calls

    async def tell(self, worker_id: Callable[[], int]) -> None:
        """Report that this process is not blocked, until that one ends."""
        assert self.process.stdin is not None, "it is a pipe"
        with contextlib.suppress(ConnectionError), notified(lambda: self._write(worker_id())):
            while True:
                self._write(worker_id())
                await self.process.stdin.drain()
                await asyncio.sleep(TICK_SECONDS)

    def _write(self, worker_id: int) -> None:
        assert self.process.stdin is not None, "it is a pipe"
        message = {"worker": worker_id, "calls": self.calls()}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")


class Heartbeat:
    """Starts the process."""

    def __init__(self, settings: HeartbeatSettings, calls: ListCalls) -> None:
        self.settings, self.calls = settings, calls

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HeartbeatProcess]:
        """Yield the process, ended with the block."""
        # -P: what lies beside the script must not hide a package
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(SENDER), stdin=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None, "it is a pipe"
        try:
            # not in its arguments or its environment, where others may read a password
            process.stdin.write(json.dumps(asdict(self.settings)).encode() + b"\n")
            yield HeartbeatProcess(process, self.calls)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
