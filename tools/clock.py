"""Time, handed in: what a clock is, and the machine's."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import TracebackType
from typing import Protocol

EPOCH = datetime.fromtimestamp(0, UTC)


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

    def hold(self) -> AbstractContextManager[object]:
        """Let time pass as it does outside, while a run waits for something outside of its loop.

        A thread, a process, a server: no clock knows how long they take.
        """
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

    def hold(self) -> AbstractContextManager[object]:
        """See Clock."""
        return NOT_HELD


# it has no state: one serves all
NOT_HELD = nullcontext()
SYSTEM_CLOCK = SystemClock()


def rfc3339(moment: datetime) -> str:
    """Return a moment as text: UTC, milliseconds; such texts sort by time."""
    since = moment - EPOCH
    return f"{_to_the_second(since.days, since.seconds)}.{since.microseconds // 1000:03d}Z"


# a few are enough: most moments that are written are of the second that is passing
@lru_cache(maxsize=100)
def _to_the_second(days: int, seconds: int) -> str:
    return (EPOCH + timedelta(days, seconds)).replace(tzinfo=None).isoformat()
