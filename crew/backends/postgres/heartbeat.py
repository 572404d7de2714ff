"""Heartbeats of a worker that is held up, from a process beside it, which no tool can hold up.

The worker's event loop says through a pipe that it is alive, and which calls run. While it is
silent this process sends its heartbeats, so that no other worker takes its runs and is held up by
them too. The worker is ended when it has been silent for too long.

Run: python -P -m crew.backends.postgres.heartbeat, with the first line of stdin as the settings.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from procrastinate.exceptions import ConnectorException

from crew.backends.postgres.queue import STALLED_SECONDS, TIMEOUT_SECONDS, JobQueue
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.shared_time import SharedTime
from crew.journal.errors import StoreError
from tools.running import notified

# how often the worker says that it is alive, and how often it is looked at
TICK_SECONDS = 0.5
HEARTBEAT_SECONDS = 1.0
# for a worker that has been silent for so long heartbeats are sent, and it is reported
LATE_SECONDS = 1.0
SILENT_SECONDS = 2.0

# the calls that run, each as the run's id and the tool
ListCalls = Callable[[], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """What the process is told first."""

    url: str
    # a worker that is silent for so long is ended
    stall_seconds: float
    # of its log lines: text or json
    log_format: str


class HeartbeatProcess:
    """The process, as the worker sees it."""

    def __init__(self, process: asyncio.subprocess.Process, calls: ListCalls) -> None:
        self.process, self.calls = process, calls

    async def tell(self, worker_id: Callable[[], int]) -> None:
        """Tell it that this process is not held up, until that one ends."""
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
        """The process, ended with the block."""
        # -P: what lies in the working folder must not hide a package
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            __name__,
            stdin=asyncio.subprocess.PIPE,
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


class _Sender:
    """What runs in the process."""

    def __init__(self, settings: HeartbeatSettings) -> None:
        self.settings = settings
        time_of_database = SharedTime(datetime.now(UTC))
        self.queue = JobQueue(PostgresServer(settings.url, 1, time_of_database))
        self.worker = 0
        self.calls: list[tuple[str, str]] = []
        self.heard = time.monotonic()
        self.reported = False

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Hear the worker, until it is gone."""
        while line := await reader.readline():
            message = json.loads(line)
            self.worker, self.calls = message["worker"], message["calls"]
            self.heard, self.reported = time.monotonic(), False

    async def send(self) -> None:
        """Send heartbeats; report a worker that is silent, and end it in the end."""
        while True:
            silent = time.monotonic() - self.heard
            if silent > self.settings.stall_seconds:
                self._log(
                    "error", f"the worker's process is ended: it is held up for {silent:.0f} s"
                )
                os.kill(os.getppid(), signal.SIGKILL)
                return
            if silent > SILENT_SECONDS and not self.reported:
                self.reported = True
                self._log("warning", f"the worker's process is held up for {silent:.0f} s")
            if self.worker and silent > LATE_SECONDS:
                # a database that is away is reported by the worker
                with contextlib.suppress(StoreError, ConnectorException, TimeoutError):
                    await self._beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _beat(self) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await self.queue.manager.update_heartbeat(self.worker)
            await self.queue.announce_worker(self.worker, STALLED_SECONDS)

    def _log(self, level: str, text: str) -> None:
        calls = ", ".join(f"{tool} of run {run_id}" for run_id, tool in self.calls)
        text = f"{text}; calls at work: {calls or 'none'}"
        if self.settings.log_format == "json":
            moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = {"time": moment, "level": level, "logger": __name__, "message": text}
            text = json.dumps(line, ensure_ascii=False)
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


async def _main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    sender = _Sender(HeartbeatSettings(**json.loads(await reader.readline())))
    sending = asyncio.create_task(sender.send())
    listening = asyncio.create_task(sender.listen(reader))
    await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    # the worker drains at such a signal, and needs its heartbeats meanwhile
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    asyncio.run(_main())
