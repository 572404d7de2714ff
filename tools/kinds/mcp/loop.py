"""The event loop of all MCP servers of a process, in a thread of its own.

Files are read outside of any event loop, and calls come from the event loops of runs. A server
belongs to one: so the process that has listed its tools also serves their calls.
"""

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

T = TypeVar("T")
# how long the end of a process waits for its servers
END_SECONDS = 5.0


class User(Protocol):
    """Has servers in the event loop."""

    async def end_all(self) -> None:
        """End them, in the event loop."""
        ...


class ServerLoop:
    """An event loop that runs from its first use to the end of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        # those who have servers in it
        self.users: WeakSet[User] = WeakSet()

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work in this loop for another one; a cancellation reaches it."""
        return await asyncio.wrap_future(self.submit(work))

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin work in this loop."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "crew-mcp"
                threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()
                atexit.register(self._end)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _end(self) -> None:
        async def end() -> None:
            await asyncio.gather(*(one.end_all() for one in self.users))

        with suppress(TimeoutError):
            self.submit(end()).result(END_SECONDS)


SERVER_LOOP = ServerLoop()
