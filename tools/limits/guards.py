"""Before a tool is called: how many calls of it may run, how many may begin, and whether it works.

All of one process: each tool has one guard, which outlives changes of the crew's files.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from tools.clock import Clock
from tools.errors import ToolError
from tools.limits.retry import RETRIED, ErrorClass
from tools.loops import PerLoop

Outcome = Literal["success", "failure", "neutral"]


class RefusedError(ToolError):
    """A call is not made now; the message says when to try again."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """How many calls of one tool may run at the same time, and begin in a second."""

    max_concurrent: int | None = None
    rate_per_second: float | None = None
    # calls that may begin at once after a pause
    burst: int = 1


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """After so many failures in a row calls are refused for so long; then one is tried."""

    failures: int = 5
    open_seconds: float = 30.0


def outcome_of(error: Exception | None, kind: ErrorClass | None, http_status: int) -> Outcome:
    """Return what a call's end says of the tool's health.

    A status below 500 is an answer, whatever it says.
    """
    if error is None:
        return "success"
    if http_status >= 500 or kind in RETRIED:
        return "failure"
    return "success" if http_status else "neutral"


class Breaker:
    """Refuses calls of what does not work, so that no run waits for it in vain."""

    def __init__(self, limits: BreakerLimits, clock: Clock) -> None:
        self.limits, self._clock = limits, clock
        self._failures = 0
        # of the newest failure, in words; "" where it is not known
        self.reason = ""
        self._open_until: float | None = None
        # one call is made to see whether it works again
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, but for the one that tries again."""
        return self._open_until is not None

    def require_closed(self) -> None:
        """Raise RefusedError where no call is made now."""
        if self._open_until is None:
            return
        left = self._open_until - self._clock.monotonic()
        if left > 0 or self._is_probing:
            after = f"in {left:.0f} s" if left >= 1 else "in a second"
            raise RefusedError(
                f"not called: it failed {self._failures} times in a row; try again {after}"
            )

    def admit(self) -> bool:
        """Admit a call that is about to be made.

        Return whether it is the probe. Raises RefusedError.

        `tell` must follow.
        """
        self.require_closed()
        self._is_probing = self.is_open
        return self._is_probing

    def tell(self, outcome: Outcome, *, is_probe: bool) -> bool:
        """Record how an admitted call has ended; return whether that opens the breaker."""
        if is_probe:
            self._is_probing = False
        if outcome == "neutral":
            return False
        if outcome == "success":
            self._failures, self._open_until = 0, None
            return False
        self._failures += 1
        if not is_probe and self._failures < self.limits.failures:
            return False
        was_open = self.is_open
        self._open_until = self._clock.monotonic() + self.limits.open_seconds
        return not was_open


@dataclass(slots=True, eq=False)
class AdmittedCall:
    """Of one call, while it is made."""

    breaker: Breaker | None
    is_probe: bool
    outcome: Outcome = "neutral"

    def end(self) -> Breaker | None:
        """End the call; return the breaker, if its outcome has opened it."""
        if self.breaker is not None and self.breaker.tell(self.outcome, is_probe=self.is_probe):
            return self.breaker
        return None


@dataclass(slots=True, eq=False)
class ToolGuard:
    """Of one tool."""

    clock: Clock
    limits: CallLimits = field(default_factory=CallLimits)
    breaker: Breaker | None = None
    _places: PerLoop[asyncio.Semaphore] | None = field(init=False, default=None)
    # when the next call may begin, on the clock's monotonic time, had there been no pause
    _next: float = float("-inf")

    def __post_init__(self) -> None:
        limit = self.limits.max_concurrent
        if limit is not None:
            self._places = PerLoop(partial(asyncio.Semaphore, limit))

    @asynccontextmanager
    async def turn(self, seconds: float) -> AsyncIterator[AdmittedCall]:
        """Wait for a place and a turn, at most so long; the place is kept as long as the block.

        `AdmittedCall.end` must be called in it.

        Raises:
            RefusedError: there is none in time, or the breaker is open.
        """
        ends_at = self.clock.monotonic() + seconds
        if self.breaker is not None:
            # before anything is waited for
            self.breaker.require_closed()
        places = self._places.get() if self._places is not None else None
        if places is not None:
            await self._take_place(places, seconds)
        try:
            await self._await_turn(ends_at)
            yield AdmittedCall(self.breaker, self.breaker is not None and self.breaker.admit())
        finally:
            if places is not None:
                places.release()

    async def _take_place(self, places: asyncio.Semaphore, seconds: float) -> None:
        try:
            async with self.clock.timeout(seconds):
                await places.acquire()
        except TimeoutError:
            text = f"not called: {self.limits.max_concurrent} calls of it are still running"
            raise RefusedError(f"{text}; try again in a few seconds") from None

    async def _await_turn(self, ends_at: float) -> None:
        rate = self.limits.rate_per_second
        if rate is None:
            return
        now = self.clock.monotonic()
        # a bucket, by the time at which it would be empty
        earliest = max(self._next, now - (self.limits.burst - 1) / rate)
        wait = earliest - now
        if now + wait > ends_at:
            text = f"not called: {rate:g} calls a second are allowed"
            raise RefusedError(f"{text}; try again in {wait:.0f} s")
        self._next = earliest + 1 / rate
        if wait > 0:
            await self.clock.sleep(wait)


class Guards:
    """The guards of a process's tools, by name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._by_name: dict[str, ToolGuard] = {}
        # by others that they are like
        self._alike: dict[ToolGuard, ToolGuard] = {}

    def of(self, name: str, limits: CallLimits | None, breaker: BreakerLimits | None) -> ToolGuard:
        """Return a tool's guard: the one that it had, unless its limits have changed."""
        limits = limits or CallLimits()
        known = self._by_name.get(name)
        known_breaker = known.breaker.limits if known is not None and known.breaker else None
        if known is not None and known.limits == limits and known_breaker == breaker:
            return known
        made = Breaker(breaker, self._clock) if breaker is not None else None
        guard = self._by_name[name] = ToolGuard(self._clock, limits, made)
        return guard

    def like(self, other: ToolGuard) -> ToolGuard:
        """Return a guard with the limits of another one, the same for the same one."""
        if other not in self._alike:
            limits = other.breaker.limits if other.breaker is not None else None
            made = Breaker(limits, self._clock) if limits is not None else None
            self._alike[other] = ToolGuard(self._clock, other.limits, made)
        return self._alike[other]

    @property
    def reasons(self) -> dict[str, str]:
        """Why each breaker that is open is so."""
        items = [(name, guard.breaker) for name, guard in self._by_name.items()]
        return {name: one.reason for name, one in items if one is not None and one.is_open}

    @property
    def open(self) -> dict[str, bool]:
        """Of each tool with a breaker, whether it is open."""
        items = self._by_name.items()
        return {name: guard.breaker.is_open for name, guard in items if guard.breaker is not None}
