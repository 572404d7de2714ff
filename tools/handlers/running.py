"""The calls with handlers that run now, or have just ended: what may block a process."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field

# ended calls that are remembered
MAX_ENDED = 100


@dataclass(slots=True, eq=False)
class RunningCall:
    """A handler call; times in seconds on the process's monotonic clock."""

    tool: str
    # of the one who made the call
    context: Context = field(repr=False)
    started: float
    ended: float | None = None

    def seconds_in(self, start: float, end: float) -> float:
        """Return how long the handler ran between two times."""
        last = end if self.ended is None else min(self.ended, end)
        return last - max(self.started, start)


_running: set[RunningCall] = set()
_listeners: set[Callable[[], None]] = set()
_ended: deque[RunningCall] = deque(maxlen=MAX_ENDED)


def begin_call(tool: str) -> RunningCall:
    """Note that a handler is about to be called; in the event loop, before it can block that."""
    call = RunningCall(tool, copy_context(), time.monotonic())
    _running.add(call)
    for listener in _listeners:
        listener()
    return call


def end_call(call: RunningCall) -> None:
    """Note that the handler has ended, maybe long after its deadline; nothing if that is known."""
    if call.ended is None:
        call.ended = time.monotonic()
        _running.discard(call)
        _ended.append(call)


@contextmanager
def notified(listener: Callable[[], None]) -> Iterator[None]:
    """Have a function called whenever a handler is about to be called."""
    _listeners.add(listener)
    try:
        yield
    finally:
        _listeners.discard(listener)


def running_calls() -> list[RunningCall]:
    """Return the calls with handlers that run now."""
    return list(_running)


def calls_during(start: float, end: float) -> list[RunningCall]:
    """Return the calls with handlers that ran for most of the time between two times."""
    most = (end - start) / 2
    return [call for call in (*_running, *_ended) if call.seconds_in(start, end) > most]
