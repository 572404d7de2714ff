"""What a served crew says of the agents that an editor shows."""

import asyncio
import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from server.client.client import CrewClient
from server.client.errors import ClientError
from server.client.targets import Target

log = logging.getLogger(__name__)

# how old what was read may be, in seconds
MAX_AGE = 30.0
AT_ONCE = 4


class ServedRuns:
    """Counts the runs of today by agent, at one server."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lock = asyncio.Lock()
        self._read_at = 0.0
        self._name = ""
        self._counts: dict[str, int] = {}

    async def counts(self, crew: str, agents: Sequence[str]) -> dict[str, int]:
        """Return how many runs of today have ended with each agent, or wait at it.

        Nothing where the server is away, or serves another crew.
        """
        async with self._lock:
            if time.monotonic() - self._read_at > MAX_AGE or not self._counts.keys() >= set(agents):
                try:
                    await self._read(crew, agents)
                except ClientError as error:
                    log.warning("%s", error)
                    self._counts = {}
                self._read_at = time.monotonic()
            return self._counts

    async def _read(self, crew: str, agents: Sequence[str]) -> None:
        target, places = self._target, asyncio.Semaphore(AT_ONCE)
        midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        since = midnight.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        async with CrewClient(
            target.url,
            token=target.token,
            ca=target.ca,
            timeout_seconds=target.timeout_seconds,
            patience_seconds=0,
        ) as client:

            async def count(agent: str) -> int:
                wanted = {"agent_id": agent, "since": since, "totals": 1, "limit": 1}
                async with places:
                    found = await client.send("GET", "/api/crew/runs", parameters=wanted)
                return int(found["totals"]["count"])

            served = await client.send("GET", "/api/crew")
            if served["name"] != crew:
                self._counts = {}
                return
            found = await asyncio.gather(*map(count, agents))
            self._counts = dict(zip(agents, found, strict=True))
