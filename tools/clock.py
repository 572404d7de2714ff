"""Time, handed in: the machine's clock, and a virtual one on which days pass in milliseconds."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import TracebackType
from typing import Protocol

# passes of the event loop in which nothing may happen before virtual time goes on
IDLE_PASSES = 50
EPOCH = datetime.fromtimestamp(0, UTC)
VIRTUAL_START = datetime(2026, 1, 1, tzinfo=UTC)


class Timer(Protocol):
    """A callback that is due."""

    def cancel(self) -> None:
        """Do not call it."""
        ...


class Timeout(Protocol):
    """The async context manager of `Clock.timeout`."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...

    def expired(self) -> bool:
        """Return whether this timeout, and not one inside it, ended its block."""
        ...


class Clock(Protocol):
    """Every reading of time and every wait of a run goes through one of these."""

    def now(self) -> datetime:
        """Return the wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back; only differences have a meaning."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def timeout(self, seconds: float | None) -> Timeout:
        """Cancel the block after so many seconds and raise TimeoutError; None: never."""
        ...

    def call_later(
        self, seconds: float, callback: Callable[[], object], *, context: Context | None = None
    ) -> Timer:
        """Call something in so many seconds, from the event loop."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """See Clock."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """See Clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See Clock."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> Timeout:
        """See Clock."""
        return asyncio.timeout(seconds)

    def call_later(
        self, seconds: float, callback: Callable[[], object], *, context: Context | None = None
    ) -> Timer:
        """See Clock."""
        return asyncio.get_running_loop().call_later(seconds, callback, context=context)


SYSTEM_CLOCK = SystemClock()


class VirtualClock:
    """A clock that moves only by `advance`, or while `run` moves it: at once to what is due next.

    For waits inside one process: it does not know of handlers in threads, nor of the network.
    """

    def __init__(self, start: datetime = VIRTUAL_START) -> None:
        """`start`: what the wall clock says first."""
        self.start = start
        self._elapsed_seconds = 0.0
        self._timers: list[tuple[float, int, VirtualTimer]] = []
        self._numbers = itertools.count()
        self._new_timer = asyncio.Event()

    def now(self) -> datetime:
        """See Clock."""
        return self.start + timedelta(seconds=self._elapsed_seconds)

    def monotonic(self) -> float:
        """See Clock."""
        return self._elapsed_seconds

    async def sleep(self, seconds: float) -> None:
        """See Clock."""
        due = asyncio.Event()
        timer = self.call_later(seconds, due.set)
        try:
            await due.wait()
        finally:
            timer.cancel()

    def timeout(self, seconds: float | None) -> Timeout:
        """See Clock."""
        return VirtualTimeout(self, seconds)

    def call_later(
        self, seconds: float, callback: Callable[[], object], *, context: Context | None = None
    ) -> Timer:
        """See Clock."""
        timer = VirtualTimer(callback, context)
        due = self._elapsed_seconds + max(0.0, seconds)
        heapq.heappush(self._timers, (due, next(self._numbers), timer))
        self._new_timer.set()
        return timer

    async def run(self) -> None:
        """Move on to the next timer whenever nothing else happens, until this is cancelled."""
        while True:
            for _ in range(IDLE_PASSES):
                await asyncio.sleep(0)
            if not self.advance():
                self._new_timer.clear()
                await self._new_timer.wait()

    def advance(self) -> bool:
        """Move to the next timer and let it fire; False if there is none."""
        while self._timers:
            due, _, timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._elapsed_seconds = max(self._elapsed_seconds, due)
            timer.fire()
            return True
        return False


class VirtualTimer:
    """A callback of a virtual clock."""

    def __init__(self, callback: Callable[[], object], context: Context | None) -> None:
        self.callback, self.context = callback, context
        self.cancelled = False

    def cancel(self) -> None:
        """See Timer."""
        self.cancelled = True

    def fire(self) -> None:
        """Call it from the event loop, as a real timer would."""
        asyncio.get_running_loop().call_soon(self._call, context=self.context)

    def _call(self) -> None:
        if not self.cancelled:
            self.callback()


class VirtualTimeout(AbstractAsyncContextManager[object]):
    """asyncio's own timeout, set off by a virtual clock."""

    def __init__(self, clock: VirtualClock, seconds: float | None) -> None:
        self.clock, self.seconds = clock, seconds
        self._timeout = asyncio.timeout(None)
        self._timer: Timer | None = None

    async def __aenter__(self) -> object:
        await self._timeout.__aenter__()
        if self.seconds is not None:
            self._timer = self.clock.call_later(self.seconds, self._expire)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)
        return None

    def _expire(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())

    def expired(self) -> bool:
        """See Timeout."""
        return self._timeout.expired()


def rfc3339(moment: datetime) -> str:
    """Return a moment as text: UTC, milliseconds; such texts sort by time."""
    since = moment - EPOCH
    return f"{_to_the_second(since.days, since.seconds)}.{since.microseconds // 1000:03d}Z"


# a few are enough: most moments that are written are of the second that is passing
@lru_cache(maxsize=100)
def _to_the_second(days: int, seconds: int) -> str:
    return (EPOCH + timedelta(days, seconds)).replace(tzinfo=None).isoformat()
