"""What a process does beside its requests, from its start to its end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tools.clock import Clock

log = logging.getLogger(__name__)

# what has failed unexpectedly begins again so much later
AGAIN_SECONDS = 10.0

# does its part until it is cancelled, or the process drains
Work = Callable[[], Coroutine[Any, Any, None]]


@asynccontextmanager
async def background_work(works: Mapping[str, Work], clock: Clock) -> AsyncIterator[None]:
    """Do work until the block is left.

    Work that fails is logged, and begins again: a process that goes on without it would neither
    recover runs nor keep schedules, and nothing would show that.

    Args:
        works: by the name that the log gives each.
        clock: waits before one begins again.
    """
    begun = {name: _keep(name, work, clock) for name, work in works.items()}
    tasks = [asyncio.create_task(one, name=name) for name, one in begun.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _keep(name: str, work: Work, clock: Clock) -> None:
    while True:
        try:
            await work()
        except Exception:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # what it meets while it ends
                raise
            log.exception("%s has failed; it begins again in %g s", name, AGAIN_SECONDS)
            await clock.sleep(AGAIN_SECONDS)
        else:
            return
