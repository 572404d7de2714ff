"""A limit of this machine's time, also for code that never waits."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class WallTimeOver(BaseException):
    """It took too long; not an Exception, so that nothing on the way handles it."""


@contextmanager
def wall_limit(seconds: float) -> Iterator[None]:
    """Raise WallTimeOver in the block when it takes longer; only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    is_over = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal is_over
        is_over = True
        raise WallTimeOver

    before = signal.signal(signal.SIGALRM, end)
    # once more, should the first one be caught on the way
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except Exception as error:
        if is_over:
            # what a task has ended by is another error for those that wait for it
            raise WallTimeOver from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
