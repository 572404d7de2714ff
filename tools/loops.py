"""What belongs to one event loop: made anew in the next one."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """A value of the running event loop.

    A program may use a crew in one event loop after another (`asyncio.run` for each question).
    Locks, connections and tasks of one are of no use in the next.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        """`make`: makes the value of an event loop, when it is first used there."""
        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._value: T | None = None

    def get(self) -> T:
        """Return the value of this event loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop or self._value is None:
            self._loop, self._value = loop, self._make()
        return self._value

    def take(self) -> T | None:
        """Remove the value and return it, if there is one of this event loop."""
        value, self._value = self._value, None
        return value if self._loop is asyncio.get_running_loop() else None


def goes_on_here(task: "asyncio.Task[Any] | None") -> bool:
    """Return whether a task of this event loop has not ended."""
    if task is None or task.done():
        return False
    return task.get_loop() is asyncio.get_running_loop()


class LoopOwner:
    """The event loop that uses a crew: one at a time, since limits and locks hold in one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        """Use the crew in this event loop from now on.

        Raises:
            RuntimeError: another event loop uses it, and still runs.
        """
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        with self._lock:
            if self._loop is not None and self._loop.is_running():
                raise RuntimeError(
                    "this crew is used in another event loop, which still runs: call load_crew in "
                    "each event loop, or send all questions to one"
                )
            self._loop = loop
