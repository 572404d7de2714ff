"""How a process hears of a run that another one plays."""

import asyncio
from collections import deque

MOST_HEARD = 10_000


class Watch:
    """What is heard of a run that another process writes: that there is more, and what is not kept."""

    def __init__(self) -> None:
        # in the order it came: None for events that the store has, a text for what it does not keep; what is too much is lost
        self.heard: deque[str | None] = deque(maxlen=MOST_HEARD)
        self._more = asyncio.Event()

    def ring(self, passed: str | None = None) -> None:
        """Something has come."""
        if passed is not None or not self.heard or self.heard[-1] is not None:
            self.heard.append(passed)
        self._more.set()

    async def wait(self, seconds: float) -> None:
        """Until something comes, or so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._more.wait()
        except TimeoutError:
            self.heard.append(None)
        self._more.clear()
