"""How many model calls of an agent are made at the same time (`max_concurrent`)."""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from agents.model import Around, EmitModelEvent, Model, ModelReply, ModelRequest
from tools.clock import Clock
from tools.loops import PerLoop

# a lease is kept for so long after its process was heard last, and kept so often
LEASE_SECONDS = 10.0
KEEP_SECONDS = 2.0
# until a process that got none asks again
RETRY_SECONDS = 0.25


class Leases(Protocol):
    """Places that processes share. A place that cannot be requested now is not given."""

    async def take_place(self, name: str, limit: int, holder: str, seconds: float) -> bool:
        """Take one of `limit` places of a name for so long; whether there was one.

        Who got none is in line from then on, for so long after each time it asks.
        """
        ...

    async def keep_place(self, name: str, holder: str, seconds: float) -> None:
        """Keep a place for so long from now; take it again if it was lost meanwhile."""
        ...

    async def leave_place(self, holder: str) -> None:
        """Give a place back, or leave the line."""
        ...


class Places:
    """Of all agents, in this process; with `leases`, in all processes that share those."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.leases: Leases | None = None
        self._here: PerLoop[dict[tuple[str, int], asyncio.Semaphore]] = PerLoop(dict)
        # one call of an agent asks for a lease at a time: the others are behind it anyway
        self._asking: PerLoop[defaultdict[str, asyncio.Lock]] = PerLoop(_locks)

    @asynccontextmanager
    async def place(self, agent_id: str, limit: int) -> AsyncIterator[None]:
        """Wait for one of an agent's places; it is taken for as long as the block lasts."""
        key = (agent_id, limit)
        known = self._here.get()
        here = known.get(key)
        if here is None:
            here = known[key] = asyncio.Semaphore(limit)
        async with here:
            if self.leases is None:
                yield
                return
            async with self._lease(self.leases, agent_id, limit):
                yield

    @asynccontextmanager
    async def _lease(self, leases: Leases, agent_id: str, limit: int) -> AsyncIterator[None]:
        holder = secrets.token_hex(8)
        try:
            async with self._asking.get()[agent_id]:
                while not await leases.take_place(agent_id, limit, holder, LEASE_SECONDS):
                    await self.clock.sleep(RETRY_SECONDS)
            keeping = asyncio.create_task(self._keep(leases, agent_id, holder))
            try:
                yield
            finally:
                keeping.cancel()
                # what it still writes must not come behind the end
                await asyncio.wait({keeping})
        finally:
            # also if this was cancelled while the place was taken
            await asyncio.shield(leases.leave_place(holder))

    async def _keep(self, leases: Leases, agent_id: str, holder: str) -> None:
        while True:
            await self.clock.sleep(KEEP_SECONDS)
            await leases.keep_place(agent_id, holder, LEASE_SECONDS)


def _locks() -> defaultdict[str, asyncio.Lock]:
    return defaultdict(asyncio.Lock)


class Limited(Around):
    """A Model that waits for a place before it asks."""

    def __init__(self, model: Model, limit: int, places: Places) -> None:
        """`limit`: model calls of the agent at the same time."""
        self.model, self.limit, self.places = model, limit, places

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer when there is a place; raises ModelError."""
        async with self.places.place(request.agent_id, self.limit):
            return await self.model.reply(request, emit)
