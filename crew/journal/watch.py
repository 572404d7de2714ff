"""How a process is notified about a run that another one plays."""

import asyncio
from collections import deque

MAX_NOTICES = 10_000


class Watch:
    """Notices about a run that another process writes."""

    def __init__(self) -> None:
        # in the order they came: the number of the newest event; an ephemeral event, encoded; or
        # None: look for whatever there is. Beyond MAX_NOTICES the oldest are lost.
        self.notices: deque[int | str | None] = deque(maxlen=MAX_NOTICES)
        self._more = asyncio.Event()

    def notify(self, notice: int | str | None) -> None:
        """Add a notice; of successive numbers only the newest is kept."""
        if isinstance(notice, int) and self.notices and isinstance(self.notices[-1], int):
            self.notices[-1] = notice
        else:
            self.notices.append(notice)
        self._more.set()

    async def wait(self) -> None:
        """Wait for a notice."""
        await self._more.wait()
        self._more.clear()
