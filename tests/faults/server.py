"""`crew serve` or `crew worker` with a store and a connection that reach the crash points.

Run: python -m tests.faults.server serve|worker DIR PORT, with CREW_DATABASE_URL for PostgreSQL.
"""

import asyncio
import os
import random
import socket
import sys
from collections.abc import Awaitable
from pathlib import Path

from starlette.types import Message, Receive, Scope, Send

from crew import load_crew
from crew.backends.postgres.jobs.queue import JobQueue
from crew.backends.postgres.schema import prepare, prepare_queue
from crew.backends.postgres.server import PostgresServer
from crew.backends.postgres.store import QUEUE_CONNECTIONS, PostgresStore
from crew.backends.sqlite.store import SqliteStore
from crew.database import CONNECTIONS, Database
from crew.journal.errors import StoreError
from crew.journal.records.rows import AppendResult, Write
from server.http.app import build_server
from server.process.serve import DrainingServer, listen
from server.process.worker import build_worker
from server.settings import ServerSettings
from server.telemetry.logs import set_up_logging
from tests.faults.crashing import reach

SLOW_SECONDS = 0.03


async def _slowly(writing: Awaitable[AppendResult]) -> AppendResult:
    reach("before_store")
    written = await writing
    reach("after_store")
    return written


class CrashingSqlite(SqliteStore):
    """A store that may be the end of its process, before and after each write."""

    def append(self, write: Write) -> "asyncio.Future[AppendResult]":
        """See RunStore."""
        return asyncio.ensure_future(self._slowly(write))

    async def _slowly(self, write: Write) -> AppendResult:
        # as a disk under load: what must not happen before it is stored has time to happen
        await asyncio.sleep(random.random() * SLOW_SECONDS)
        return await _slowly(super().append(write))


class CrashingPostgres(PostgresStore):
    """The same, over a network that takes its time."""

    async def _append(self, write: Write) -> AppendResult:
        await asyncio.sleep(random.random() * SLOW_SECONDS)
        return await _slowly(super()._append(write))


class MarkingServer(DrainingServer):
    """Writes a file once it serves: before that, a signal ends it as it ends any program."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        await super().startup(sockets)
        Path(os.environ["SERVES"]).touch()  # noqa: ASYNC240 # a moment, before anything is served


def main() -> None:
    """Serve, or work, until killed."""
    role, folder, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    settings = ServerSettings.read(os.environ, "127.0.0.1", port)
    crew = load_crew(folder)
    set_up_logging(settings, crew.secrets)
    listener = listen(settings)
    database = asyncio.run(_crashing(settings, folder))
    if role == "worker":
        app = build_worker(crew, database, settings, 20)
    else:
        app = build_server(crew, database, settings)

    async def crashing(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            event = message["type"] == "http.response.body" and b"data: " in message.get(
                "body", b""
            )
            if event:
                reach("before_send")
            await send(message)
            if event:
                reach("after_send")

        await app(scope, receive, sending)

    server = MarkingServer(app, settings)
    server.config.app = crashing
    server.run(sockets=[listener])


async def _crashing(settings: ServerSettings, folder: Path) -> Database:
    url = settings.database_url
    if url is None:
        return Database(CrashingSqlite(folder / ".crew" / "crew.db"))
    while True:
        try:
            time = await prepare(url)
            await prepare_queue(url)
            break
        except StoreError:
            # the database restarts right now; a supervisor would start the process again
            await asyncio.sleep(SLOW_SECONDS)
    store = CrashingPostgres(PostgresServer(url, CONNECTIONS, time))
    return Database(store, JobQueue(PostgresServer(url, QUEUE_CONNECTIONS, time, of_queue=True)))


if __name__ == "__main__":
    main()
