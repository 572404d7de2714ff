"""A run alive in this process.

Its latest lines for those who follow it, its outcome, and how to end it.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio

from crew.crew import Crew
from crew.engine.executor import CrewExecutor
from crew.errors import LostRun, StoreError
from crew.journal.store import RunRow
from crew.journal.writer import Journal

log = logging.getLogger(__name__)

# A follower this many events behind is cut off; it may come back by id.
MAX_WAITING = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """An event as clients are told it: JSON on one line; `seq` is None for what is not stored."""

    seq: int | None
    public: str


class TooSlow(Exception):
    """The follower fell more than MAX_WAITING events behind."""


@dataclass(slots=True, eq=False)
class Follower:
    """One who follows a run, and how far it has come."""

    # place of the next line
    place: int
    # called when it falls too far behind, also while it is busy with a line
    cut: Callable[[], None] | None
    # what it waits on for more
    more: "asyncio.Future[None] | None" = None

    def wake(self) -> None:
        """There is more, or there will be no more."""
        if self.more is not None and not self.more.done():
            self.more.set_result(None)


class Tail:
    """The latest lines of a run; every follower has a place of its own in it."""

    def __init__(self, seq: int) -> None:
        """`seq`: the number of the event before the first one to come."""
        self.lines: deque[Line] = deque(maxlen=MAX_WAITING)
        # place of the first line that is still there, counted from the start of this process's part
        self.first = 0
        self.seq = seq
        self.closed = False
        self.followers: set[Follower] = set()

    def add(self, seq: int | None, public: str) -> None:
        """Add a line and wake the followers; cut off those that it pushes too far behind."""
        if len(self.lines) == MAX_WAITING:
            self.first += 1
            for slow in [f for f in self.followers if f.place < self.first and f.cut is not None]:
                assert slow.cut is not None, "selected for it"
                slow.cut()
        self.lines.append(Line(seq, public))
        self.seq = seq if seq is not None else self.seq
        self._wake()

    def close(self) -> None:
        """No line will follow."""
        self.closed = True
        self._wake()

    def place_after(self, seq: int) -> int | None:
        """The place behind event `seq`; None when the lines do not reach back to it."""
        if seq >= self.seq:
            return self.first + len(self.lines)
        for place, line in enumerate(self.lines, self.first):
            if line.seq is not None and line.seq > seq:
                return place if line.seq == seq + 1 else None
        return None

    async def follow(
        self, place: int, idle_seconds: float | None, cut: Callable[[], None] | None
    ) -> AsyncIterator[Line | None]:
        """The lines from a place on, as they come, until the tail is closed.

        None after each `idle_seconds` without one.

        Raises:
            TooSlow: the place is no longer there.
        """
        follower = Follower(place, cut)
        self.followers.add(follower)
        try:
            while True:
                if follower.place < self.first:
                    raise TooSlow
                if follower.place < self.first + len(self.lines):
                    line = self.lines[follower.place - self.first]
                    follower.place += 1
                    yield line
                elif self.closed:
                    return
                elif not await _woken(follower, idle_seconds):
                    yield None
        finally:
            self.followers.discard(follower)

    def _wake(self) -> None:
        for follower in self.followers:
            follower.wake()


async def _woken(follower: Follower, idle_seconds: float | None) -> bool:
    """Wait for more; False if nothing came in time.

    A timer and a future: a silent stream must cost next to nothing.
    """
    loop = asyncio.get_running_loop()
    follower.more = loop.create_future()
    idle = []

    def silent() -> None:
        idle.append(True)
        follower.wake()

    timer = loop.call_later(idle_seconds, silent) if idle_seconds is not None else None
    try:
        await follower.more
    finally:
        follower.more = None
        if timer is not None:
            timer.cancel()
    return not idle


class Run:
    """One stretch of a run, from its start or its resumption to its end or its next pause."""

    def __init__(
        self,
        run_id: str,
        crew: Crew,
        executor: CrewExecutor,
        journal: Journal,
        tail: Tail,
        gone: "Callable[[Run], None]",
    ) -> None:
        """`crew`: the one it was started with; `gone` is called when the stretch has ended."""
        self.id, self.crew, self.executor, self.journal, self.tail, self._gone = (
            run_id,
            crew,
            executor,
            journal,
            tail,
            gone,
        )
        # the number of the last event before this stretch
        self.before = journal.seq
        self._cancelled = False
        self._leaving = False
        self._begun = False
        self._task: asyncio.Task[RunRow] | None = None

    def start(self) -> None:
        """Let the loop run, in a task of its own."""
        self._task = asyncio.create_task(
            self._play(), name=f"run {self.id}", context=self.journal.context
        )
        # its error is logged where it happens, and told to whoever waits for the outcome
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def here(self) -> bool:
        """This process plays it."""
        return self._task is not None

    async def outcome(self) -> RunRow:
        """Wait for the end or the next pause; raises StoreError if the store failed."""
        assert self._task is not None, "started when it was made"
        return await asyncio.shield(self._task)

    def cancel(self) -> None:
        """End the run as cancelled, its model call and tools with it.

        Nothing to one that has ended.
        """
        if self._task is not None and self._task.done():
            return
        self._cancelled = True
        self.leave()

    def leave(self) -> None:
        """Stop the loop and leave the run `running` in the store.

        For the next process to take up.
        """
        if self._task is not None and self._begun and not self._leaving:
            self._task.cancel()
        # a task that is cancelled before its first step would end without a word; this one looks
        # when it begins
        self._leaving = True

    async def stopped(self) -> None:
        """Wait until the loop has stopped, however it does."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _play(self) -> RunRow:
        self._begun = True
        try:
            if self._leaving:
                raise asyncio.CancelledError
            return await self.executor.run()
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            self.executor.cancel()
        except Exception as error:
            cause = _cause(error)
            if isinstance(cause, LostRun):
                log.warning("run %s stops here: %s", self.id, cause)
                raise cause from error
            if isinstance(cause, StoreError):
                log.error("run %s cannot be stored and stops here: %s", self.id, cause)
                raise cause from error
            log.exception("run %s broke", self.id)
            self.executor.crash()
        finally:
            try:
                await self._settled()
            finally:
                self.tail.close()
                self._gone(self)
        return self.executor.row

    async def _settled(self) -> None:
        """Wait until what was recorded is stored, also while the task is being cancelled."""
        with anyio.CancelScope(shield=True), contextlib.suppress(StoreError):
            await self.journal.settled()


def _cause(error: Exception) -> Exception:
    """The first error in a task group's bundle of them."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def new_run_id() -> str:
    """32 hex digits: the time in milliseconds.

    So that ids sort by it and stores append at their end, then chance.
    """
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
