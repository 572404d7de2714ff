"""Waits between tries."""

import asyncio
from collections.abc import Callable

from server.client.errors import ClientError
from tools.limits.retry import backoff_seconds

FIRST_SECONDS, MAX_SECONDS = 0.5, 30.0
# why it waits, and for how many seconds
Waits = Callable[[str, float], None]


class Backoff:
    """Waits twice as long each time, until it was enough."""

    def __init__(self, waits: Waits, limit: float | None) -> None:
        """Wait nothing yet.

        Args:
            waits: is called before each wait.
            limit: of all waits together, in seconds; None: there is none.
        """
        self.waits, self.limit = waits, limit
        self.begin_again()

    def begin_again(self) -> None:
        """Forget what was waited."""
        self.tries, self.waited = 0, 0.0

    async def wait(self, why: str, at_least: float | None) -> None:
        """Wait, or raise ClientError where it was enough."""
        seconds = max(backoff_seconds(self.tries, FIRST_SECONDS, MAX_SECONDS), at_least or 0.0)
        if self.limit is not None and self.waited + seconds > self.limit:
            raise ClientError(why)
        self.tries, self.waited = self.tries + 1, self.waited + seconds
        self.waits(why, seconds)
        await asyncio.sleep(seconds)
