"""How a process is notified about a run that another one plays."""

import asyncio
from collections import deque
from dataclasses import dataclass

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
