"""A run that another process plays: its lines, read from the store once for all who follow it here."""

import asyncio
import contextvars
import logging
from collections.abc import Callable

from crew.errors import StoreError
from crew.run import Tail
from crew.stores.contract import RunStore
from crew.wire import ends

log = logging.getLogger(__name__)

PAGE = 500
# how often the store is looked into even if it does not ring
POLL_SECONDS = 1.0


class Mirror:
    """Fills a tail with what the store gets, until the stretch ends or nobody has the run any more."""

    def __init__(self, store: RunStore, run_id: str, after: int, gone: "Callable[[Mirror], None]") -> None:
        """`after`: the number of the event before the first line; `gone` is called when no line will follow."""
        self.store, self.run_id, self._gone = store, run_id, gone
        self.tail = Tail(after)
        self.followers = 0
        # of no one request
        self._task = asyncio.create_task(self._read(), name=f"mirror of {run_id}", context=contextvars.Context())

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
                watch.ring()
                while True:
                    await watch.wait(POLL_SECONDS)
                    while watch.heard:
                        passed = watch.heard.popleft()
                        if passed is not None:
                            self.tail.add(None, passed)
                        elif await self._caught_up():
                            return
        finally:
            self.tail.close()
            self._gone(self)

    async def _caught_up(self) -> bool:
        """Read what is new; True when no more is to come."""
        try:
            fresh = False
            while records := await self.store.records(self.run_id, self.tail.seq, PAGE):
                fresh = True
                for record in records:
                    self.tail.add(record.seq, record.public)
                    if ends(record.public):
                        return True
                if len(records) < PAGE:
                    break
            if fresh:
                return False
            row = await self.store.row(self.run_id)
        except StoreError as error:
            # who follows waits with us
            log.warning("the events of run %s cannot be read for now: %s", self.run_id, error)
            return False
        return row is None or row.status != "running" or self.store.alone()
