"""A run that another process plays: its events, read from the store once for all followers."""

import asyncio
import contextvars
import logging
from collections.abc import Callable
from contextlib import ExitStack

from crew.journal.errors import LostEvents, StoreError
from crew.journal.records.cluster import Written
from crew.journal.records.rows import PAGE, Newest, Page
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.streams.tail import Tail

log = logging.getLogger(__name__)


class RemoteTail:
    """Fills a tail with what the store gets, until the segment ends or the run is not played."""

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        tail: Tail,
        goes_on: Callable[[str], bool],
    ) -> None:
        """Begin to read.

        Args:
            store: has the events.
            run_id: the run.
            tail: to be filled; one that has events already has all that were stored so far.
            goes_on: whether another process plays the run, or will.
        """
        self.store, self.run_id, self.tail, self.goes_on = store, run_id, tail, goes_on
        self.users = 0
        # of the run's crew, where this process has started the segment
        self.grace_seconds: float | None = None
        # the run is no longer played
        self._ends = False
        # the newest event was found in the store after so many breaks of the notices
        self._found_after = 0
        # how many notices had come by now, and by the last look that found it behind
        self._notices = self._seen = 0
        watching = ExitStack()
        self._watch = watching.enter_context(store.watch(run_id))
        if tail.newest is None:
            # what was stored before the watch began
            self._watch.notify(None)
        # in a context of its own: it belongs to no one request
        context = contextvars.Context()
        self._task = asyncio.create_task(self._read(), name=f"tail of {run_id}", context=context)
        self._task.add_done_callback(lambda _: watching.close())

    def close(self) -> None:
        """Read no more."""
        self._task.cancel()

    async def stopped(self) -> None:
        """Wait until no event will follow."""
        await asyncio.wait({self._task})

    def look(self, newest: Newest | None) -> None:
        """Go on by where the run is now: notices may be late or lost.

        Args:
            newest: of the run; None: there is no such run any more.
        """
        is_known = newest is not None and newest.seq == self.tail.seq
        goes_on = newest is not None and newest.status == "running" and self.goes_on(self.run_id)
        if is_known and goes_on:
            return
        # one that moves is notified: to read ahead of its notices would part events from the
        # ephemeral ones before them
        moves, self._seen = self._notices != self._seen, self._notices
        if goes_on and moves:
            return
        self._ends = not goes_on
        self._watch.notify(None)

    async def _read(self) -> None:
        try:
            while True:
                await self._watch.wait()
                while self._watch.notices:
                    notice = self._watch.notices.popleft()
                    self._notices += 1
                    if isinstance(notice, str):
                        self.tail.add(RunEvent.decode(None, notice))
                    elif notice is None:
                        if await self._catch_up(None):
                            return
                    elif await self._add(notice):
                        return
        finally:
            self.tail.close()

    async def _add(self, written: Written) -> bool:
        """Add what was stored; True as `_catch_up`."""
        joins = self.tail.seq == written.seq - len(written.events)
        if not written.events or not joins or self._found_after != self._watch.breaks:
            return await self._catch_up(written.seq)
        for seq, encoded in enumerate(written.events, self.tail.seq + 1):
            event = RunEvent.decode(seq, encoded)
            self.tail.add(event)
            if event.ends_segment:
                return True
        return False

    async def _catch_up(self, last: int | None) -> bool:
        """Read what is new; True when no more is to come, or what was read is gone.

        Args:
            last: read only up to this event, so that an ephemeral one comes in its place.
        """
        ends = self._ends
        try:
            while last is None or last > self.tail.seq:
                records = await self._next_records(last)
                if not records:
                    # the follower looks once more for what was stored since
                    return ends
                for record in records:
                    event = RunEvent.of_record(record)
                    self.tail.add(event)
                    if event.ends_segment:
                        return True
                if last is None and records.is_last:
                    # what was stored since has its own notice, behind the ephemeral events that
                    # come before it
                    return ends
        except LostEvents as error:
            log.warning("%s", error)
            self.tail.lost = True
            return True
        except StoreError as error:
            # maintenance warns once; followers wait
            log.debug("the events of run %s cannot be read for now: %s", self.run_id, error)
        return False

    async def _next_records(self, last: int | None) -> Page:
        """Return some records after the tail; the tail's newest must be there still, as it was."""
        tail, breaks = self.tail, self._watch.breaks
        limit = PAGE if last is None else min(PAGE, last - tail.seq)
        if tail.newest is None:
            records = await self.store.records(self.run_id, tail.seq, limit)
        else:
            records = await records_behind(self.store, self.run_id, tail.newest, limit)
        self._found_after = breaks
        return records


async def records_behind(store: RunStore, run_id: str, known: RunEvent, limit: int = PAGE) -> Page:
    """Return some records after an event that was read, if it is still there, unchanged.

    Raises:
        LostEvents: the database has lost it.
        StoreError
    """
    assert known.seq is not None, "it is stored"
    records = await store.records(run_id, known.seq - 1, limit + 1)
    if records and records[0].public == known.encoded:
        if len(records) > 1 or records.is_last:
            return Page(records[1:], is_last=records.is_last)
        # the next one does not fit into a page with it
        return await store.records(run_id, known.seq, limit)
    if not records or records[0].seq > known.seq:
        newest = (await store.newest([run_id])).get(run_id)
        if newest is not None and newest.status != "running" and newest.seq >= known.seq:
            # purged meanwhile
            return await store.records(run_id, known.seq, limit)
    raise LostEvents(run_id, known.seq)
