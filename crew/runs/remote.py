"""A run that another process plays.

Its lines, read from the store once for all who follow it here.
"""

import asyncio
import contextvars
import logging

from crew.errors import StoreError
from crew.journal.store import RunStore
from crew.journal.wire import ends
from crew.runs.run import Tail

log = logging.getLogger(__name__)

PAGE = 500
# how often the store is looked into even if it does not ring
POLL_SECONDS = 1.0


class Mirror:
    """Fills a tail with what the store gets.

    Until the stretch ends or nobody has the run any more.
    """

    def __init__(self, store: RunStore, run_id: str, after: int) -> None:
        """`after`: the number of the event before the first line."""
        self.store, self.run_id = store, run_id
        self.tail = Tail(after)
        self.followers = 0
        # of no one request
        self._task = asyncio.create_task(
            self._read(), name=f"mirror of {run_id}", context=contextvars.Context()
        )

    def close(self) -> None:
        """Read no more."""
        self._task.cancel()

    async def stopped(self) -> None:
        """Wait until no line will follow."""
        await asyncio.wait({self._task})

    async def _read(self) -> None:
        try:
            with self.store.watching(self.run_id) as watch:
                # what came before it was watched
                watch.ring(None)
                while True:
                    await watch.wait(POLL_SECONDS)
                    while watch.heard:
                        heard = watch.heard.popleft()
                        if isinstance(heard, str):
                            self.tail.add(None, heard)
                        elif await self._caught_up(heard):
                            return
        finally:
            self.tail.close()

    async def _caught_up(self, last: int | None) -> bool:
        """Read what is new, up to event `last` so that what is not kept comes in its place.

        True when no more is to come.
        """
        try:
            ended, fresh = await self._read_on(last)
            if ended or fresh or last is not None:
                return ended
            row = await self.store.row(self.run_id)
        except StoreError as error:
            # upkeep warns once; who follows waits with us
            log.debug("the events of run %s cannot be read for now: %s", self.run_id, error)
            return False
        # who follows looks once more for what was stored since
        return row is None or row.status != "running" or self.store.alone()

    async def _read_on(self, last: int | None) -> tuple[bool, bool]:
        """Whether the stretch has ended, and whether there was anything new."""
        fresh = False
        while last is None or last > self.tail.seq:
            limit = PAGE if last is None else min(PAGE, last - self.tail.seq)
            records = await self.store.records(self.run_id, self.tail.seq, limit)
            for record in records:
                fresh = True
                self.tail.add(record.seq, record.public)
                if ends(record.public):
                    return True, True
            if len(records) < limit:
                break
        return False, fresh
