"""Threads for handlers that block: counted, and daemons, so that none keeps a process alive."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from tools.errors import TemporaryError

# A thread cannot be stopped: a handler that runs past its deadline keeps its own.
MAX_THREADS = 256

_running = threading.BoundedSemaphore(MAX_THREADS)


async def call_in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own; a cancellation leaves the thread behind.

    Raises:
        TemporaryError: MAX_THREADS handlers are still running.
    """
    if not _running.acquire(blocking=False):
        raise TemporaryError(f"{MAX_THREADS} blocking handlers are still running")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        # errors travel as values: a future refuses StopIteration, and SystemExit would end the
        # event loop
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = context.run(function), None
        except BaseException as error:  # noqa: BLE001 # raised in the caller, below
            outcome = None, error
        finally:
            _running.release()
        try:
            loop.call_soon_threadsafe(_set_outcome, future, outcome)
        except RuntimeError:
            # the loop has ended meanwhile, without a caller
            return

    threading.Thread(target=work, name="crew-tool", daemon=True).start()
    value, error = await future
    if error is not None:
        raise error
    return value


def _set_outcome(
    future: "asyncio.Future[tuple[Any, BaseException | None]]",
    outcome: tuple[Any, BaseException | None],
) -> None:
    if not future.done():
        future.set_result(outcome)
