"""What a served crew says of the agents that an editor shows."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from server.client.client import CrewClient
from server.client.errors import ClientError
from server.client.targets import Target

log = logging.getLogger(__name__)

# how old what was read may be, in seconds
MAX_AGE = 30.0
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class RunsToday:
    """What was read of a crew, and when; without runs where the server did not say."""

    read_at: float
    agents: frozenset[str]
    runs: Mapping[str, int]

    def holds(self, agents: Sequence[str]) -> bool:
        """Return whether it is still to be shown of these agents."""
        return time.monotonic() - self.read_at <= MAX_AGE and self.agents >= set(agents)


class ServedRuns:
    """Counts the runs of today by agent, at one server."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lock = asyncio.Lock()
        self._known: dict[str, RunsToday] = {}

    async def counts(self, crew: str, agents: Sequence[str]) -> Mapping[str, int]:
        """Return how many runs of today have ended with each agent, or wait at it.

        Nothing where the server is away, or serves another crew.
        """
        async with self._lock:
            if (known := self._known.get(crew)) is None or not known.holds(agents):
                runs: Mapping[str, int] = {}
                try:
                    runs = await self._read(crew, agents)
                except (ClientError, LookupError, TypeError) as error:
                    # it is away, or no crew's
                    log.warning("%s: %s", self._target.url, error)
                known = RunsToday(time.monotonic(), frozenset(agents), runs)
                self._known[crew] = known
            return known.runs

    async def _read(self, crew: str, agents: Sequence[str]) -> Mapping[str, int]:
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

            if (await client.send("GET", "/api/crew"))["name"] != crew:
                return {}
            return dict(zip(agents, await asyncio.gather(*map(count, agents)), strict=True))
