"""Calls of a process that wait for room in a pot."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from crew.journal.records.spent.budgets import PotKey
from tools.loops import PerLoop


class PotLines:
    """Who waits for room in which pot, first come first served."""

    def __init__(self) -> None:
        self._locks: PerLoop[dict[PotKey, asyncio.Lock]] = PerLoop(dict)

    @contextlib.asynccontextmanager
    async def turn(self, keys: Sequence[PotKey]) -> AsyncIterator[None]:
        """Wait while others wait for one of these pots; `keys`: in the order that all have."""
        locks = self._locks.get()
        async with contextlib.AsyncExitStack() as stack:
            for key in keys:
                lock = locks.setdefault(key, asyncio.Lock())
                await stack.enter_async_context(lock)
            yield
