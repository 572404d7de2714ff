"""How a process hears of a run that another one plays."""

import asyncio
from collections import deque

MOST_HEARD = 10_000


class Watch:
    """What is heard of a run that another process writes.

    Up to which event there is more, and what is not kept.
    """

    def __init__(self) -> None:
        # in the order it came: the number of the newest event, a text that is not kept, or None for
        # whatever there is;
        # what is too much is lost
        self.heard: deque[int | str | None] = deque(maxlen=MOST_HEARD)
        self._more = asyncio.Event()

    def ring(self, what: int | str | None) -> None:
        """Something has come."""
        if isinstance(what, int) and self.heard and isinstance(self.heard[-1], int):
            self.heard[-1] = what
        else:
            self.heard.append(what)
        self._more.set()

    async def wait(self, seconds: float) -> None:
        """Until something comes, or so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._more.wait()
        except TimeoutError:
            self.heard.append(None)
        self._more.clear()
