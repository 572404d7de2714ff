"""A clock on which days pass in milliseconds, and the event loop that moves it."""

import asyncio
import heapq
import itertools
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from contextvars import Context
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TypeVar, TypeVarTuple, Unpack

from tools.clock import Timeout, Timer

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# epoll takes 24 days at most
LONGEST_WAIT_SECONDS = 86_400.0
VIRTUAL_START = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """A clock that moves only by `advance`, or while `run` moves it: at once to what is due next.

    While something outside of the event loop is waited for (`hold`), it runs as the machine's does.
    """

    def __init__(self, start: datetime = VIRTUAL_START) -> None:
        """`start`: what the wall clock says first."""
        self.start = start
        self._elapsed_seconds = 0.0
        self._timers: list[tuple[float, int, VirtualTimer]] = []
        self._numbers = itertools.count()
        self._holds = 0
        # of the machine's clock, when it was looked at last while this one is held
        self._held_at = 0.0

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
        return timer

    @contextmanager
    def hold(self) -> Iterator[None]:
        """See Clock."""
        if not self._holds:
            self._held_at = time.monotonic()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    async def run(self) -> None:
        """Move on to what is due next whenever the event loop would block, until it is cancelled.

        Raises:
            RuntimeError: the event loop is no VirtualLoop.
        """
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise RuntimeError(  # noqa: TRY004 # of what runs this, not of an argument
                "a VirtualClock is moved by its own event loop: "
                "asyncio.Runner(loop_factory=VirtualLoop)"
            )
        with loop.moving(self):
            await loop.create_future()

    @property
    def is_held(self) -> bool:
        """Whether something outside is waited for."""
        return self._holds > 0

    def seconds_to_next(self) -> float | None:
        """Return how long the next timer is away; None if there is none."""
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - self._elapsed_seconds) if self._timers else None

    def follow(self) -> None:
        """Go on by as much as the machine's clock has, while this one is held."""
        now = time.monotonic()
        passed, self._held_at = now - self._held_at, now
        until = self._elapsed_seconds + passed
        while (seconds := self.seconds_to_next()) is not None:
            if self._elapsed_seconds + seconds > until:
                break
            self.advance()
        self._elapsed_seconds = max(self._elapsed_seconds, until)

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


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which virtual clocks move: exactly when it would block.

    For `asyncio.Runner(loop_factory=VirtualLoop)`.
    """

    def __init__(self) -> None:
        self._clocks: list[VirtualClock] = []
        super().__init__(_ClockSelector(self._clocks))

    @contextmanager
    def moving(self, clock: VirtualClock) -> Iterator[None]:
        """Move a clock meanwhile."""
        self._clocks.append(clock)
        try:
            yield
        finally:
            self._clocks.remove(clock)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Call a function in a thread; the clocks are held until it returns, or is given up."""
        future = super().run_in_executor(executor, func, *args)
        holds = ExitStack()
        for clock in self._clocks:
            holds.enter_context(clock.hold())
        future.add_done_callback(lambda _: holds.close())
        return future


class _ClockSelector(selectors.DefaultSelector):
    """Waits for the machine only where no clock has something due."""

    def __init__(self, clocks: Sequence[VirtualClock]) -> None:
        super().__init__()
        self._clocks = clocks

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, as any selector; an empty list where a clock has moved instead."""
        if not self._clocks or timeout == 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            # each of them: none may wait for another one
            moved = [clock.advance() for clock in self._clocks if not clock.is_held]
            if any(moved):
                return []
        held = [clock for clock in self._clocks if clock.is_held]
        if not ready:
            waits = [timeout, *(clock.seconds_to_next() for clock in held)]
            known = [min(one, LONGEST_WAIT_SECONDS) for one in waits if one is not None]
            ready = super().select(min(known, default=None))
        for clock in held:
            clock.follow()
        return ready
