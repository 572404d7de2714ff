"""The process beside a worker: sends its heartbeats while it is held up.

It imports nothing of ours, so that it starts at once and takes little memory. Run by its path, with
the settings as the first line of stdin; see `crew.backends.postgres.jobs.heartbeat`.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from typing import Any

import asyncpg

HEARTBEAT_SECONDS = 1.0
# for a worker that has been silent for so long heartbeats are sent, and it is reported
LATE_SECONDS = 1.0
SILENT_SECONDS = 2.0
# the first process of a container, which the kernel does not kill for its own
INIT = 1
REMEDY = "start it behind an init, such as `docker run --init`"
# for a connection, and for one heartbeat
TIMEOUT_SECONDS = 5.0


class Sender:
    """Hears the worker, and sends heartbeats while it is silent."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """`settings`: the fields of HeartbeatSettings."""
        self.settings = settings
        self.worker = 0
        # each the run's id and the tool
        self.calls: list[tuple[str, str]] = []
        self.heard = time.monotonic()
        self.reported = False
        self._connection: asyncpg.Connection | None = None

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
            if silent > self.settings["stall_seconds"]:
                text = f"the worker's process is ended: it is held up for {silent:.0f} s"
                worker = os.getppid()
                if worker == INIT:
                    text = f"{text}; the kernel ends no first process of a container: {REMEDY}"
                self._log("error", text)
                os.kill(worker, signal.SIGKILL)
                return
            if silent > SILENT_SECONDS and not self.reported:
                self.reported = True
                self._log("warning", f"the worker's process is held up for {silent:.0f} s")
            if self.worker and silent > LATE_SECONDS:
                await self._try_to_beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _try_to_beat(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._beat()
        except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresError):
            # a database that is away is reported by the worker
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None

    async def _beat(self) -> None:
        if self._connection is None:
            options = self.settings["options"]
            self._connection = await asyncpg.connect(self.settings["url"], **options)
        # one transaction, for behind a pooler the next one may have another connection
        async with self._connection.transaction():
            for sql, arguments in self.settings["statements"]:
                await self._connection.execute(sql, self.worker, *arguments)

    def _log(self, level: str, text: str) -> None:
        calls = ", ".join(f"{tool} of run {run_id}" for run_id, tool in self.calls)
        text = f"{text}; calls at work: {calls or 'none'}"
        if self.settings["log_format"] == "json":
            moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line = {"time": moment, "level": level, "logger": "heartbeat", "message": text}
            text = json.dumps(line, ensure_ascii=False)
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


async def main() -> None:
    """Send heartbeats until the worker is gone."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    settings = await reader.readline()
    if not settings.endswith(b"\n"):
        return  # the worker ended before it had written them
    sender = Sender(json.loads(settings))
    sending = asyncio.create_task(sender.send())
    listening = asyncio.create_task(sender.listen(reader))
    await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    for task in (sending, listening):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


if __name__ == "__main__":
    # the worker drains at such a signal, and needs its heartbeats meanwhile
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    asyncio.run(main())
