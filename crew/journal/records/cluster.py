"""What processes that share a store know of each other, and how they are notified."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

MAX_NOTICES = 10_000
# characters of events that wait together
MAX_TOGETHER = 65_536


@dataclass(frozen=True, slots=True)
class Written:
    """Events of a run have been stored."""

    # the number of the newest
    seq: int
    # the newest ones up to it, each as clients get it; none: they are to be read
    events: tuple[str, ...] = ()

    def then(self, later: "Written") -> "Written":
        """Return both as one notice."""
        events = (*self.events, *later.events)
        joins = self.events and self.seq == later.seq - len(later.events)
        fits = sum(map(len, events)) <= MAX_TOGETHER
        return Written(later.seq, events if joins and fits else ())


class Watch:
    """Notices about a run that another process writes."""

    def __init__(self) -> None:
        # in the order they came: what was stored; an ephemeral event, encoded; or None: look for
        # whatever there is. Beyond MAX_NOTICES the oldest are lost.
        self.notices: deque[Written | str | None] = deque(maxlen=MAX_NOTICES)
        # how often notices stopped coming for a while. What was stored before such a break may have
        # been lost, and what comes behind it may not follow on what is known.
        self.breaks = 0
        self._more = asyncio.Event()

    def notify(self, notice: Written | str | None) -> None:
        """Add a notice; successive ones of what was stored become one."""
        last = self.notices[-1] if self.notices else None
        if isinstance(notice, Written) and isinstance(last, Written):
            self.notices[-1] = last.then(notice)
        else:
            self.notices.append(notice)
        self._more.set()

    async def wait(self) -> None:
        """Wait for a notice."""
        await self._more.wait()
        self._more.clear()


class Cluster(Protocol):
    """What processes that share a store know of each other."""

    def now(self) -> datetime:
        """Return the time that all of them agree on, whatever the clocks of their machines say."""
        ...

    # several processes play its runs, and a queue decides which process plays which
    shared: bool

    def claim_process(self, *, serves: bool) -> bool:
        """Announce that this process has runs, until it ends, however it ends.

        Args:
            serves: this process wants to resume what is `running` in the store.

        Returns:
            For one that serves: whether it may, since no other process has runs.

        Raises:
            StoreError: another process serves, and the store is for one.
        """
        ...

    def alone(self) -> bool:
        """Return whether no other process has runs, so that only those alive here are played."""
        ...

    async def listen(self) -> None:
        """Be ready to be notified, so that the first run that is watched lacks nothing."""
        ...

    def watch(self, run_id: str) -> AbstractContextManager[Watch]:
        """Be notified about what others write.

        Notices may be late or lost: look from time to time.
        """
        ...

    def publish_ephemeral(self, run_id: str, encoded: str) -> None:
        """Send an event that is not stored to the watchers of a run in other processes."""
        ...

    async def announce_listeners(
        self, process: str, run_ids: Sequence[str], seconds: float
    ) -> None:
        """Announce that a process has listeners of some runs, for so long."""
        ...

    async def has_listeners(self, run_id: str, process: str) -> bool:
        """Return whether any other process than this one has listeners of a run."""
        ...
