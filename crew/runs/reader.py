"""What runs have told and go on telling.

From the latest lines here, from the store, or as another process writes it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager

from crew.errors import UnknownRun
from crew.journal.store import RunRow, RunStore
from crew.journal.wire import gap
from crew.runs.remote import PAGE, Mirror
from crew.runs.run import Line, Run, Tail

# how long a run that was handed to others is listened to though nobody follows it
EXPECT_SECONDS = 5.0


class RunReader:
    """Reads the runs of a store; those that are alive in this process are in `live`."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.live: dict[str, Run] = {}
        # of runs that other processes play, for those who follow them here
        self.mirrors: dict[str, Mirror] = {}
        self.draining = False

    async def row(self, run_id: str) -> RunRow:
        """A run as the store has it; raises UnknownRun."""
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(f"there is no run {run_id}")
        return row

    async def outcome(self, run_id: str) -> RunRow:
        """Wait until a run has ended or is paused, wherever it goes on.

        Raises UnknownRun, StoreError.
        """
        if (run := self.live.get(run_id)) is not None:
            return await run.outcome()
        async for _ in self.follow(run_id, await self.last_seq(run_id)):
            pass
        return await self.row(run_id)

    async def last_seq(self, run_id: str) -> int:
        """The number of a run's newest event."""
        run = self.live.get(run_id)
        if run is not None:
            return run.journal.seq
        row = await self.row(run_id)
        seq = row.events
        if row.status != "running" and seq:
            # some of them may be swept
            return seq
        while records := await self.store.records(run_id, seq, PAGE):
            seq = records[-1].seq
        return seq

    async def follow(
        self,
        run_id: str,
        after: int = 0,
        *,
        idle_seconds: float | None = None,
        cut: Callable[[], None] | None = None,
        stored: bool = False,
    ) -> AsyncIterator[Line | None]:
        """A run's lines behind event `after`.

        First what is stored, then what comes, until it ends or pauses.

        Args:
            run_id: the run.
            after: the number of the last event that is known; 0 for none.
            idle_seconds: None is given after each so long without a line.
            stored: only what is stored now; nothing that is to come.
            cut: called when the follower falls more than MAX_WAITING lines behind, also while
                it is busy with one.

        Raises:
            UnknownRun, TooSlow, StoreError
        """
        if run_id not in self.live:
            await self.row(run_id)
        while True:
            run = self.live.get(run_id)
            if run is None and self._mirror_behind(run_id, after) is not None:
                known = after
                async for line in self._told_elsewhere(run_id, after, idle_seconds, cut):
                    after = line.seq if line is not None and line.seq is not None else after
                    yield line
                if after > known:
                    # its stretch is over; there may be a next one
                    continue
            place = run.tail.place_after(after) if run is not None else None
            if run is not None and place is not None:
                async for line in run.tail.follow(place, idle_seconds, cut):
                    yield line
                return
            records = await self.store.records(run_id, after, PAGE)
            if records and records[0].seq > after + 1:
                yield Line(
                    records[0].seq - 1, gap(await self.row(run_id), after + 1, records[0].seq - 1)
                )
            for record in records:
                after = record.seq
                yield Line(record.seq, record.public)
            if records or self.live.get(run_id) is not run:
                continue
            if run is not None or self.draining:
                return
            row = await self.row(run_id)
            if row.status != "running" or stored:
                if row.events > after:
                    if await self.store.records(run_id, after, 1):
                        # they came since it was looked for them
                        continue
                    yield Line(row.events, gap(row, after + 1, row.events))
                return
            if self.store.alone():
                # nobody has it: what would be told is told when it is taken up again
                return
            async for line in self._told_elsewhere(run_id, after, idle_seconds, cut):
                after = line.seq if line is not None and line.seq is not None else after
                yield line

    async def _told_elsewhere(
        self, run_id: str, after: int, idle_seconds: float | None, cut: Callable[[], None] | None
    ) -> AsyncIterator[Line | None]:
        """What another process tells from now on, until its stretch is over.

        Nothing where that is further on already.
        """
        with self._mirrored(run_id, after) as tail:
            place = tail.place_after(after)
            if place is None:
                return
            async for line in tail.follow(place, idle_seconds, cut):
                # this follower may have read further than the mirror had
                if line is None or line.seq is None or line.seq > after:
                    yield line

    def expect(self, run_id: str, after: int) -> None:
        """Hear of a run that another process is about to play, before anybody follows it here."""
        waiting = ExitStack()
        waiting.enter_context(self._mirrored(run_id, after))
        asyncio.get_running_loop().call_later(EXPECT_SECONDS, waiting.close)

    @contextmanager
    def _mirrored(self, run_id: str, after: int) -> Iterator[Tail]:
        """What another process plays, as long as somebody here follows it."""
        mirror = self._mirror_behind(run_id, after)
        if mirror is None:
            mirror = self.mirrors[run_id] = Mirror(self.store, run_id, after)
        mirror.followers += 1
        try:
            yield mirror.tail
        finally:
            mirror.followers -= 1
            if mirror.followers == 0:
                mirror.close()
                if self.mirrors.get(run_id) is mirror:
                    # at once, so that who comes next gets one of his own
                    del self.mirrors[run_id]

    def _mirror_behind(self, run_id: str, after: int) -> Mirror | None:
        """The mirror that has, or will have, what comes behind an event.

        One of an earlier stretch has not.
        """
        mirror = self.mirrors.get(run_id)
        return (
            None
            if mirror is not None and mirror.tail.closed and after >= mirror.tail.seq
            else mirror
        )
