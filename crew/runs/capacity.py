"""How many runs are at work at the same time, and in which order the others follow: fairly.

Runs of a higher priority go first. Within a priority the owners take turns: each waiting run has a
turn, the number after that of its owner's last waiting run, or the lowest that waits at all
(start-time fair queueing, Goyal, Vin and Cheng 1996). So a single run of one owner does not wait
behind thousands of another's. In a shared database the queue does the same in SQL.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from crew.config.keys.crew_file import CrewSettings
from crew.journal.records.rows import Capacity, RunRow


def capacity_of(settings: CrewSettings) -> Capacity:
    """Return as a crew's settings say."""
    return Capacity(settings.max_concurrent_runs, settings.max_concurrent_runs_per_owner)


@dataclass(slots=True, eq=False)
class _Place:
    """A run that waits for its turn."""

    turn: int
    # of equal turns, the first that came goes first
    number: int
    granted: "asyncio.Future[None]"


class Slots:
    """The runs that are at work in one process, and those that wait there."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._working: Counter[str] = Counter()
        self._came = 0
        # by priority, then by owner
        self._lines: dict[int, dict[str, deque[_Place]]] = {}

    def limit(self, capacity: Capacity) -> None:
        """Set another capacity."""
        self._capacity = capacity
        self._grant()

    def waiting(self, owner: str | None = None) -> int:
        """Return how many runs wait, of one owner or of all."""
        lines = ((o, line) for owners in self._lines.values() for o, line in owners.items())
        return sum(len(line) for of, line in lines if owner in (None, of))

    @asynccontextmanager
    async def slot(self, row: RunRow) -> AsyncIterator[None]:
        """Wait until a run may be at work; it is, for as long as the block lasts."""
        owner = row.owner
        if self.has_room(owner):
            self._working[owner] += 1
        else:
            await self._wait(owner, row.priority)
        try:
            yield
        finally:
            self._leave(owner)

    def has_room(self, owner: str) -> bool:
        """Return whether a run of an owner would be at work at once."""
        return not self._lines and self._has_room(owner)

    def _has_room(self, owner: str) -> bool:
        most, each = self._capacity.runs, self._capacity.runs_per_owner
        is_free = most is None or self._working.total() < most
        return is_free and (each is None or self._working[owner] < each)

    async def _wait(self, owner: str, priority: int) -> None:
        owners = self._lines.setdefault(priority, {})
        lowest = min((line[0].turn for line in owners.values()), default=0)
        line = owners.setdefault(owner, deque())
        turn = max(lowest, line[-1].turn + 1) if line else lowest
        self._came += 1
        place = _Place(turn, self._came, asyncio.get_running_loop().create_future())
        line.append(place)
        self._grant()
        try:
            await place.granted
        except asyncio.CancelledError:
            if not place.granted.cancelled():
                # it was granted at the same moment
                self._leave(owner)
            self._forget_cancelled()
            raise

    def _leave(self, owner: str) -> None:
        self._working[owner] -= 1
        if self._working[owner] == 0:
            del self._working[owner]
        self._grant()

    def _grant(self) -> None:
        """Let those go who may, in order."""
        # one whose wait was cancelled may not have noticed it yet
        self._forget_cancelled()
        while (found := next(self._next(), None)) is not None:
            owner, line = found
            self._working[owner] += 1
            line.popleft().granted.set_result(None)
            self._forget_cancelled()

    def _next(self) -> Iterator[tuple[str, deque[_Place]]]:
        """Yield the lines with a first run that may go, in order."""
        for priority in sorted(self._lines, reverse=True):
            owners = self._lines[priority]
            in_order = sorted(owners.items(), key=lambda one: (one[1][0].turn, one[1][0].number))
            yield from ((owner, line) for owner, line in in_order if self._has_room(owner))

    def _forget_cancelled(self) -> None:
        for priority, owners in list(self._lines.items()):
            for owner, line in list(owners.items()):
                if any(place.granted.done() for place in line):
                    owners[owner] = line = deque(one for one in line if not one.granted.done())
                if not line:
                    del owners[owner]
            if not owners:
                del self._lines[priority]
