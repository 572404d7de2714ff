"""Threads for handlers that block.

Daemons, so that one that never returns keeps no process from ending, and counted.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from tools.errors import TemporaryError

# Threads cannot be stopped: a handler that outlives its deadline keeps its own.
MAX_THREADS = 256

_running = threading.BoundedSemaphore(MAX_THREADS)


async def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own; a cancellation leaves the thread behind.

    Raises:
        TemporaryError: MAX_THREADS handlers are still at work.
    """
    if not _running.acquire(blocking=False):
        raise TemporaryError(f"{MAX_THREADS} blocking handlers are still at work")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        # errors travel as values: a future refuses StopIteration, and SystemExit would end the
        # event loop
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = context.run(function), None
        except BaseException as error:  # noqa: BLE001 # told to the caller, below
            outcome = None, error
        finally:
            _running.release()
        try:
            loop.call_soon_threadsafe(_tell, future, outcome)
        except RuntimeError:
            # the loop has ended meanwhile, with nobody left to tell
            return

    threading.Thread(target=work, name="crew-tool", daemon=True).start()
    value, error = await future
    if error is not None:
        raise error
    return value


def _tell(
    future: "asyncio.Future[tuple[Any, BaseException | None]]",
    outcome: tuple[Any, BaseException | None],
) -> None:
    if not future.done():
        future.set_result(outcome)
