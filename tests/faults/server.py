"""`crew serve` with a store and a connection that reach the crash points. Run: python -m tests.faults.server DIR PORT."""

import asyncio
import os
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.types import Message, Receive, Scope, Send

from crew import load_crew
from crew.stores.contract import Write
from crew.stores.sqlite import SqliteStore
from server.app import build_app
from server.logs import set_up
from server.serving import Server, listen
from server.settings import Settings
from tests.faults.crashing import reach

SLOW_SECONDS = 0.03


class CrashingStore(SqliteStore):
    """A SQLite store that may be the end of its process, before and after each write."""

    def append(self, write: Write) -> "asyncio.Future[int]":
        """See RunStore."""
        return asyncio.ensure_future(self._slowly(super().append, write))

    async def _slowly(self, append: Callable[[Write], Awaitable[int]], write: Write) -> int:
        # as a disk under load: what must not happen before it is stored has time to happen
        await asyncio.sleep(random.random() * SLOW_SECONDS)
        reach("before_store")
        written = await append(write)
        reach("after_store")
        return written


def main() -> None:
    """Serve until killed."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    settings = Settings.read(os.environ, "127.0.0.1", port)
    set_up(settings)
    crew = load_crew(folder)
    listener = listen(settings)
    app = build_app(crew, CrashingStore(folder / ".crew" / "crew.db"), settings)

    async def crashing(scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            event = message["type"] == "http.response.body" and b"data: " in message.get("body", b"")
            if event:
                reach("before_send")
            await send(message)
            if event:
                reach("after_send")

        await app(scope, receive, sending)

    server = Server(app, settings)
    server.config.app = crashing
    server.run(sockets=[listener])


if __name__ == "__main__":
    main()
