"""Handlers that still run after their deadline, since they ignore their cancellation."""

import asyncio
from typing import Any

# the event loop keeps only weak references to them
_abandoned: set["asyncio.Task[Any]"] = set()
# how long they are waited for where a process ends
END_SECONDS = 2.0


def abandon(task: "asyncio.Task[Any]") -> None:
    """Cancel a handler, and wait for it no more."""
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_forget)


def _forget(task: "asyncio.Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        # marks a late error as retrieved; its call has its result already
        task.exception()


async def leave_abandoned() -> None:
    """Let no handler hold up the end of its event loop, though it ignores its cancellation.

    `asyncio.run` waits for all tasks; these are waited for only shortly.
    """
    loop = asyncio.get_running_loop()
    if mine := [one for one in _abandoned if one.get_loop() is loop]:
        await asyncio.wait(mine, timeout=END_SECONDS)
    for task in mine:
        if not task.done():
            # https://docs.python.org/3/library/asyncio-extending.html
            asyncio.tasks._unregister_task(task)  # noqa: SLF001
            # as `asyncio.gather` does: that it is not done is known
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
