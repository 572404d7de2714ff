"""Makes the Run objects of a process, from new or stored runs; one at a time for each run."""

import asyncio
from contextlib import nullcontext
from weakref import WeakValueDictionary

from crew.crew import Crew
from crew.engine.executor import CrewExecutor
from crew.journal.errors import Unreadable
from crew.journal.outlets import Outlets
from crew.journal.records.rows import FIRST_EPOCH, Opened, RunRow
from crew.journal.replay import replay, unread_state
from crew.journal.state import RunState
from crew.journal.writer import Journal
from crew.runs.capacity import Slots
from crew.runs.queue import Queue
from crew.runs.revisions import Revisions
from crew.runs.run import Run
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.tail import Tail


class RunFactory:
    """What starting, resuming and claiming a run have in common."""

    def __init__(
        self,
        outlets: Outlets,
        live: LiveRuns,
        revisions: Revisions,
        slots: Slots,
        queue: Queue | None,
    ) -> None:
        """`queue`: gets what is started here; without one, this process plays it in its `slots`."""
        self.outlets, self.store, self.clock = outlets, outlets.store, outlets.clock
        self.live, self.revisions, self.slots, self.queue = live, revisions, slots, queue
        # of runs whose last events the database has lost: the newest that was published
        self.lost: dict[str, int] = {}
        self._putting: set[asyncio.Future[None]] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, run_id: str) -> asyncio.Lock:
        """Return the lock that is held while a stored run is resumed or claimed."""
        return self._locks.setdefault(run_id, asyncio.Lock())

    async def load(
        self, opened: Opened, *, or_current: bool = False, ends: bool = False
    ) -> tuple[Crew, RunState]:
        """Load a stored run's crew, to be released, and its state.

        Args:
            opened: the run.
            or_current: use the current crew if its own cannot be made.
            ends: it is loaded only to be ended, which needs no crew of its own, and works too
                where another version has written its events.

        Raises:
            LostConfiguration, StoreError
        """
        row = opened.row
        crew = await self.revisions.acquire_for(row, or_current=or_current or ends)
        try:
            state = RunState(row.run_id, crew.tool_limits)
            try:
                await replay(self.store, state, opened.page)
            except Unreadable:
                if not ends:
                    raise
                newest = (await self.store.newest([row.run_id]))[row.run_id]
                state = unread_state(row, newest.seq, crew.tool_limits)
        except BaseException:
            self.revisions.release(crew)
            raise
        return crew, state

    def make(
        self,
        crew: Crew,
        row: RunRow,
        state: RunState,
        epoch: int | None = None,
        *,
        stream: bool = False,
        claims: int = 0,
        has_slot: bool = False,
    ) -> Run:
        """Make a Run of an acquired crew; not alive yet. See CrewExecutor.

        `has_slot`: it need not wait until it may be at work.
        """
        tail = Tail(self.clock, state.seq)
        run_id, request_id = row.run_id, row.request_id
        journal = Journal(
            self.outlets, run_id, request_id, tail.add, state.seq, epoch, state.active_seconds
        )
        executor = CrewExecutor(crew, state, journal, row, stream=stream, claims=claims)
        slot = nullcontext() if has_slot else self.slots.slot(row)
        return Run(run_id, crew, executor, journal, tail, slot, self.discard)

    def discard(self, run: Run) -> None:
        """Remove a run that is alive no more here."""
        if run.journal.has_lost_events:
            self.lost[run.id] = run.tail.seq
        # where there is a queue, its workers find the run again
        if run.journal.gave_up and not self.live.draining and self.queue is None:
            self.live.left.add(run.id)
        self.live.remove(run)
        self.revisions.release(run.crew)
        if run.journal.next_run is not None and self.queue is not None:
            self._let_go_on(run.journal.next_run, self.queue)

    async def settled(self) -> None:
        """Wait until the runs that others have waited for are in the queue."""
        await asyncio.gather(*self._putting, return_exceptions=True)

    def _let_go_on(self, run_id: str, queue: Queue) -> None:
        """Let a run that waited for another one of its conversation go on.

        If this process ends before, a worker finds it. Without a queue the one that started the run
        looks for its turn.
        """
        putting = asyncio.ensure_future(queue.put(run_id, FIRST_EPOCH))
        self._putting.add(putting)
        putting.add_done_callback(self._putting.discard)
