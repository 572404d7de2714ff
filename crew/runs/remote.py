"""A run that another process plays: its events, read from the store once for all followers."""

import asyncio
import contextvars
import logging
from collections.abc import Callable

from crew.journal.errors import StoreError
from crew.journal.replay import PAGE
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.tail import Tail
from tools.clock import Clock

log = logging.getLogger(__name__)

# how often the store is read even without a notice
POLL_SECONDS = 1.0


class RemoteTail:
    """Fills a tail with what the store gets, until the segment ends or nobody plays the run."""

    def __init__(
        self,
        store: RunStore,
        clock: Clock,
        run_id: str,
        after: int,
        goes_on: Callable[[str], bool],
    ) -> None:
        """Begin to read.

        Args:
            store: has the events.
            clock: of waits.
            run_id: the run.
            after: the number of the event before the first one.
            goes_on: whether somebody else plays the run, or will.
        """
        self.store, self.run_id, self.goes_on = store, run_id, goes_on
        self.tail = Tail(clock, after)
        self.users = 0
        # in a context of its own: it belongs to no one request
        context = contextvars.Context()
        self._task = asyncio.create_task(self._read(), name=f"tail of {run_id}", context=context)

    def close(self) -> None:
        """Read no more."""
        self._task.cancel()

    async def stopped(self) -> None:
        """Wait until no event will follow."""
        await asyncio.wait({self._task})

    async def _read(self) -> None:
        try:
            with self.store.watch(self.run_id) as watch:
                # what was stored before the watch began
                watch.notify(None)
                while True:
                    await watch.wait(POLL_SECONDS)
                    while watch.notices:
                        notice = watch.notices.popleft()
                        if isinstance(notice, str):
                            self.tail.add(RunEvent.decode(None, notice))
                        elif await self._catch_up(notice):
                            return
        finally:
            self.tail.close()

    async def _catch_up(self, last: int | None) -> bool:
        """Read what is new; True when no more is to come.

        Args:
            last: read only up to this event, so that an ephemeral one comes in its place.
        """
        try:
            ended, fresh = await self._read_new(last)
            if ended or fresh or last is not None:
                return ended
            row = await self.store.row(self.run_id)
        except StoreError as error:
            # maintenance warns once; followers wait
            log.debug("the events of run %s cannot be read for now: %s", self.run_id, error)
            return False
        # the follower looks once more for what was stored since
        return row is None or row.status != "running" or not self.goes_on(self.run_id)

    async def _read_new(self, last: int | None) -> tuple[bool, bool]:
        """Whether the segment has ended, and whether there was anything new."""
        fresh = False
        while last is None or last > self.tail.seq:
            limit = PAGE if last is None else min(PAGE, last - self.tail.seq)
            records = await self.store.records(self.run_id, self.tail.seq, limit)
            for record in records:
                fresh = True
                event = RunEvent.of_record(record)
                self.tail.add(event)
                if event.ends_segment:
                    return True, True
            if len(records) < limit:
                break
        return False, fresh
