"""`crew serve` or `crew worker` with a store and a connection that reach the crash points.

Run: python -m tests.faults.server serve|worker DIR PORT, with CREW_DATABASE_URL for PostgreSQL.
"""

import asyncio
import os
import random
import sys
from collections.abc import Awaitable
from pathlib import Path

from starlette.types import Message, Receive, Scope, Send

from crew import load_crew
from crew.backends.postgres.queue import JobQueue
from crew.backends.postgres.server import prepare
from crew.backends.postgres.store import PostgresStore
from crew.backends.sqlite.store import SqliteStore
from crew.database import open_queue
from crew.journal.store import RunStore, Write
from server.http.app import build_app
from server.process.serve import Server, listen
from server.process.worker import build_worker
from server.settings import Settings
from server.telemetry.logs import set_up
from tests.faults.crashing import reach

SLOW_SECONDS = 0.03


async def _slowly(writing: Awaitable[int]) -> int:
    reach("before_store")
    written = await writing
    reach("after_store")
    return written


class CrashingSqlite(SqliteStore):
    """A store that may be the end of its process, before and after each write."""

    def append(self, write: Write) -> "asyncio.Future[int]":
        """See RunStore."""
        return asyncio.ensure_future(self._slowly(write))

    async def _slowly(self, write: Write) -> int:
        # as a disk under load: what must not happen before it is stored has time to happen
        await asyncio.sleep(random.random() * SLOW_SECONDS)
        return await _slowly(super().append(write))


class CrashingPostgres(PostgresStore):
    """The same, over a network that takes its time."""

    async def _append(self, write: Write) -> int:
        await asyncio.sleep(random.random() * SLOW_SECONDS)
        return await _slowly(super()._append(write))


def main() -> None:
    """Serve, or work, until killed."""
    role, folder, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    settings = Settings.read(os.environ, "127.0.0.1", port)
    set_up(settings)
    crew = load_crew(folder)
    listener = listen(settings)
    queue, store = open_queue(settings.database_url), _crashing(settings, folder)
    if role == "worker":
        assert isinstance(queue, JobQueue), "a worker has one"
        app = build_worker(crew, store, settings, queue, 20)
    else:
        app = build_app(crew, store, settings, queue=queue)

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

    server = Server(app, settings)
    server.config.app = crashing
    server.run(sockets=[listener])


def _crashing(settings: Settings, folder: Path) -> RunStore:
    if settings.database_url is None:
        return CrashingSqlite(folder / ".crew" / "crew.db")
    asyncio.run(prepare(settings.database_url))
    return CrashingPostgres(settings.database_url)


if __name__ == "__main__":
    main()
