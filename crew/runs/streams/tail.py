"""The newest events of a run, kept for those who follow it; each reads at its own pace."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from crew.journal.wire import RunEvent
from crew.runs.streams.written import TextsUnderWay
from tools.clock import Clock, Timer

# A follower so many events, or bytes, behind is cut off; it may come back by id.
MAX_WAITING = 1000
MAX_WAITING_BYTES = 4 << 20
# timers are as exact as the clock
MIN_SECONDS = 0.001


class TooSlow(Exception):
    """The follower fell too far behind."""


@dataclass(slots=True, eq=False)
class Follower:
    """One who follows a run, and how far it has read."""

    # place of the next event
    place: int
    # called when it falls too far behind, also while it is busy with an event
    cut: Callable[[], None] | None
    # what it waits on for more, and since when on the clock
    more: "asyncio.Future[None] | None" = None
    waits_since: float = 0.0
    # it was woken since nothing has come for so long
    is_idle: bool = False
    timer: Timer | None = None

    def wake(self) -> None:
        """Wake the follower: there is more, or there will be no more."""
        if self.more is not None and not self.more.done():
            self.more.set_result(None)


class Tail:
    """The newest events of a run; every follower has a place of its own in it."""

    def __init__(self, clock: Clock, seq: int) -> None:
        """`seq`: the number of the event before the first one to come."""
        self.clock = clock
        self.events: deque[RunEvent] = deque()
        # the newest that is stored
        self.newest: RunEvent | None = None
        self._bytes = 0
        # place of the first event that is still here, counted from this tail's beginning
        self.first = 0
        self.seq = seq
        self.closed = False
        # the database has lost some of these events
        self.lost = False
        # the run is not played here, it was only told something: more is to come behind this
        self.goes_on = False
        self.followers: set[Follower] = set()
        self._texts = TextsUnderWay()

    def add(self, event: RunEvent) -> None:
        """Add an event and wake the followers; cut off those that it pushes too far behind."""
        self._texts.note(event, self.first + len(self.events))
        self.events.append(event)
        self._bytes += len(event.encoded)
        if len(self.events) > MAX_WAITING or self._bytes > MAX_WAITING_BYTES:
            self._drop_oldest()
        if event.seq is not None:
            self.seq, self.newest = event.seq, event
        self._wake()

    def _drop_oldest(self) -> None:
        while len(self.events) > MAX_WAITING or self._bytes > MAX_WAITING_BYTES:
            if len(self.events) == 1:
                # one alone may be larger
                break
            self._bytes -= len(self.events.popleft().encoded)
            self.first += 1
        self._cut_off()

    def close(self) -> None:
        """Close the tail: no event will follow."""
        self.closed = True
        self._wake()

    def place_after(self, seq: int) -> int | None:
        """Return the place after event `seq`; None when the events do not reach back to it."""
        if seq >= self.seq:
            return self.first + len(self.events)
        for place, event in enumerate(self.events, self.first):
            if event.seq is not None and event.seq > seq:
                return place if event.seq == seq + 1 else None
        return None

    async def follow(
        self,
        place: int,
        after: int,
        idle_seconds: float | None,
        cut: Callable[[], None] | None,
    ) -> AsyncGenerator[RunEvent | None, None]:
        """Yield the events from a place on, as they come, until the tail is closed.

        None after each `idle_seconds` without one. What was written before this place of texts that
        are under way comes first.

        Args:
            place: of `place_after`.
            after: the last event that the follower knows. The store has an event before this
                tail has it, so the follower may know some that are still to come here.
            idle_seconds: how long nothing may come before None does.
            cut: called when the follower falls too far behind.

        Raises:
            TooSlow: the place is no longer here.
        """
        follower = Follower(place, cut)
        self.followers.add(follower)
        reached = self.seq
        try:
            if after <= self.seq:
                for piece in self._texts.before(place):
                    yield piece
            while True:
                if follower.place < self.first:
                    raise TooSlow
                if follower.place < self.first + len(self.events):
                    event = self.events[follower.place - self.first]
                    follower.place += 1
                    if reached < after:
                        # known, or ephemeral before one that is
                        reached = event.seq or reached
                        if reached <= after:
                            continue
                    yield event
                elif self.closed:
                    return
                elif not await self._wait(follower, idle_seconds):
                    yield None
        finally:
            self.followers.discard(follower)
            if follower.timer is not None:
                follower.timer.cancel()

    async def _wait(self, follower: Follower, idle_seconds: float | None) -> bool:
        """Wait for more; False if nothing came in time.

        With a future, not a task, and a timer that stays for the next wait: a silent stream, and
        each event of another one, must cost next to nothing.
        """
        follower.more, follower.is_idle = asyncio.get_running_loop().create_future(), False
        if idle_seconds is not None:
            follower.waits_since = self.clock.monotonic()
            if follower.timer is None:
                self._look_after(follower, idle_seconds, idle_seconds)
        try:
            await follower.more
        finally:
            follower.more = None
        return not follower.is_idle

    def _look_after(self, follower: Follower, seconds: float, idle_seconds: float) -> None:
        """Wake a follower that has then waited for `idle_seconds`, in so many seconds."""

        def look() -> None:
            waited = self.clock.monotonic() - follower.waits_since
            left = idle_seconds - waited if follower.more is not None else idle_seconds
            if left > MIN_SECONDS:
                self._look_after(follower, left, idle_seconds)
                return
            follower.timer, follower.is_idle = None, True
            follower.wake()

        follower.timer = self.clock.call_later(seconds, look)

    async def more(self) -> None:
        """Wait until an event is added, or none will follow."""
        if not self.closed:
            follower = Follower(self.first + len(self.events), None)
            self.followers.add(follower)
            try:
                await self._wait(follower, None)
            finally:
                self.followers.discard(follower)

    def _cut_off(self) -> None:
        for follower in list(self.followers):
            if follower.place < self.first and follower.cut is not None:
                follower.cut()

    def _wake(self) -> None:
        for follower in self.followers:
            follower.wake()
