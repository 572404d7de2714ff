"""Stretches of runs begin: with a query, with an answer, once for each key.

Played here, or handed to a queue of workers.
"""

import asyncio
import contextlib
from typing import Protocol
from weakref import WeakValueDictionary

from crew.crew import Crew
from crew.engine.executor import CrewExecutor
from crew.errors import (
    AlreadyBegun,
    Draining,
    KeyReused,
    NotPaused,
    StoreError,
    UnknownAgent,
    UnknownRun,
)
from crew.journal.events import RunStarted
from crew.journal.query import Once, Query
from crew.journal.replay import recall
from crew.journal.state import RunState, Status
from crew.journal.store import Receipt, RunRow, RunStore
from crew.journal.wire import now
from crew.journal.writer import Journal, Listener
from crew.runs.reader import RunReader
from crew.runs.revisions import Revisions
from crew.runs.run import Run, Tail, new_run_id


class Queue(Protocol):
    """Where runs wait for a process that plays them."""

    async def __aenter__(self) -> "Queue":
        """Open it; raises StoreError."""
        ...

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        ...

    async def put(self, run_id: str, epoch: int, in_seconds: float = 0.0) -> None:
        """Have a run played by whichever process comes first.

        What cannot be put now is found later by itself.

        Args:
            run_id: the run.
            epoch: that it is in; who takes it must find it there.
            in_seconds: not before.
        """
        ...

    async def has(self, run_id: str) -> bool:
        """Whether a process plays the run, as far as is known; raises StoreError."""
        ...

    async def counts(self) -> tuple[int, int]:
        """How many workers are alive, and how many runs wait for one; raises StoreError."""
        ...


class RunStarter(RunReader):
    """Begins runs, and goes on with those that are paused."""

    def __init__(
        self,
        crew: Crew,
        store: RunStore,
        listeners: tuple[Listener, ...] = (),
        queue: Queue | None = None,
    ) -> None:
        """`queue`: gets what is begun here; without one, this process plays it."""
        super().__init__(store)
        self.listeners, self.queue = listeners, queue
        self.revisions = Revisions(crew, store)
        # runs that were left because the store failed, to be taken up again
        self.left: set[str] = set()
        # one who takes a stored run up at a time
        self._taking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def crew(self) -> Crew:
        """The crew of new runs."""
        return self.revisions.current

    async def start(self, query: Query, request_id: str = "", once: Once | None = None) -> Run:
        """Start a run; it is in the store when this returns.

        Args:
            query: what the crew is asked.
            request_id: told with the run.
            once: begin nothing if a request of this key has begun something.

        Raises:
            Draining, StoreError, UnknownAgent, AlreadyBegun, KeyReused
        """
        if once is None:
            return await self._start(query, request_id, None)
        # what is begun under a key is played, also when the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self._start(query, request_id, once)))

    async def _start(self, query: Query, request_id: str, once: Once | None) -> Run:
        if self.draining:
            raise Draining
        await self.revisions.keep()
        if query.agent_id is not None and query.agent_id not in self.crew.agents:
            raise UnknownAgent(f"there is no agent {query.agent_id}")
        run_id, crew = new_run_id(), self.revisions.hold(self.crew)
        first = query.agent_id or crew.entry_point
        event = RunStarted(crew.name, first, crew.name_of(first), request_id, False, query)
        row = RunRow(run_id, crew.name, "running", query.text, now(), request_id, crew.revision)
        state = RunState(run_id, crew.tool_limits)
        run = self._made(crew, row, state, 0, stream=query.deltas)
        if once is not None or self.queue is not None:
            await self._begin(run, event, row, None, once)
            state.apply(event)
            await self._play(run)
            return run
        state.apply(event)
        self.live[run_id] = run
        # the loop takes its first step before what it records is written: both are one transaction
        run.start()
        run.journal.record(event, row)
        try:
            await run.journal.settled()
        except StoreError:
            # not accepted, so it must not go on
            run.leave()
            await run.stopped()
            raise
        return run

    async def resume(
        self, run_id: str, answer: Query, request_id: str = "", once: Once | None = None
    ) -> Run:
        """Go on with a paused run; the first answer wins. `once`: see `start`.

        Raises:
            UnknownRun, NotPaused, Draining, StoreError, AlreadyBegun, KeyReused
            LostConfiguration: what it was started with makes no crew here any more.
        """
        # what is begun is done, also when the caller goes away meanwhile
        return await asyncio.shield(
            asyncio.ensure_future(self._resume(run_id, answer, request_id, once))
        )

    def _one_at_a_time(self, run_id: str) -> asyncio.Lock:
        return self._taking.setdefault(run_id, asyncio.Lock())

    async def _resume(
        self,
        run_id: str,
        answer: Query,
        request_id: str,
        once: Once | None = None,
        *,
        ending: bool = False,
        expired: bool = False,
    ) -> Run:
        async with self._one_at_a_time(run_id):
            return await self._resumed(
                run_id, answer, request_id, once, ending=ending, expired=expired
            )

    async def _resumed(
        self,
        run_id: str,
        answer: Query,
        request_id: str,
        once: Once | None,
        *,
        ending: bool,
        expired: bool,
    ) -> Run:
        if self.draining:
            raise Draining
        row = await self.row(run_id)
        if once is not None:
            await self._unless_begun(once)
        if row.status != "paused":
            raise NotPaused(f"run {run_id} is {row.status}, not paused")
        if run_id in self.live:
            # its pause is stored, and its loop about to stop
            await self.live[run_id].stopped()
        # one that is only to be ended needs no crew of its own
        crew, state, seq = await self._stored(row, or_current=ending)
        if run_id in self.live or state.status != "paused":
            self.revisions.release(crew)
            raise NotPaused(f"run {run_id} has been answered already")
        # only now: it may have gone on, and be paused again, while its events were read; `done`
        # comes behind the pause
        if answer.pause is not None and answer.pause != seq - 1:
            self.revisions.release(crew)
            raise NotPaused(f"run {run_id} is not in the pause of event {answer.pause}")
        event = RunStarted(
            row.crew, state.asked, crew.name_of(state.asked), request_id, True, answer, expired
        )
        running = row.going_on(request_id)
        run = self._made(crew, running, state, seq, stream=answer.deltas)
        await self._begin(run, event, running, "paused", once, here=ending)
        state.apply(event)
        if ending:
            run.cancel()
            run.start()
        else:
            await self._play(run)
        return run

    async def _play(self, run: Run) -> None:
        """Go on with what has begun, here or wherever the queue leads."""
        if self.queue is None:
            run.start()
            return
        assert run.journal.epoch is not None, "it has begun"
        self._gone(run)
        # who follows it from the start must hear its first words
        self.expect(run.id, run.before)
        await self.queue.put(run.id, run.journal.epoch)

    async def _begin(
        self,
        run: Run,
        event: RunStarted,
        row: RunRow,
        expected: Status | None,
        once: Once | None,
        *,
        here: bool = False,
    ) -> None:
        """Store the first event of a stretch before anything of it happens.

        Or raise why it does not begin.

        Without a queue, or with `here`, the run is alive from now on.
        """
        began = False
        if here or self.queue is None:
            self.live[run.id] = run
        receipt = None if once is None else Receipt(once.key, once.fingerprint, run.id, run.before)
        try:
            began = await run.journal.begin(event, row, expected, receipt)
        finally:
            if not began:
                run.tail.close()
                self._gone(run)
        if not began:
            if once is not None:
                await self._unless_begun(once)
            raise NotPaused(f"run {run.id} has been answered already")

    async def _unless_begun(self, once: Once) -> None:
        receipt = await self.store.receipt(once.key)
        if receipt is not None and receipt.fingerprint != once.fingerprint:
            raise KeyReused(f"the key {once.key!r} was given to another request; give each its own")
        if receipt is not None:
            raise AlreadyBegun(receipt)

    async def expire(self, row: RunRow) -> None:
        """Go on with a paused run that nobody has answered in time.

        Nothing if somebody has meanwhile.
        """
        with contextlib.suppress(NotPaused, UnknownRun):
            text = f"nobody answered until {row.paused_until}"
            answer = Query(text, decision="deny", pause=row.events - 1)
            await asyncio.shield(
                asyncio.ensure_future(
                    self._resume(row.run_id, answer, row.request_id, expired=True)
                )
            )

    async def _stored(self, row: RunRow, *, or_current: bool) -> tuple[Crew, RunState, int]:
        """A stored run's crew, which is held; its state; and the number of its last event."""
        crew = await self.revisions.take(row.revision, or_current=or_current)
        try:
            state = RunState(row.run_id, crew.tool_limits)
            return crew, state, await recall(self.store, state)
        except BaseException:
            self.revisions.release(crew)
            raise

    def _made(
        self,
        crew: Crew,
        row: RunRow,
        state: RunState,
        seq: int,
        epoch: int | None = None,
        *,
        stream: bool = False,
    ) -> Run:
        tail = Tail(seq)
        journal = Journal(
            row.run_id, row.request_id, self.store, tail.add, self.listeners, seq, epoch
        )
        executor = CrewExecutor(
            crew.agents, crew.routing, crew.limits, state, journal, row, stream=stream
        )
        return Run(row.run_id, crew, executor, journal, tail, self._gone)

    def _gone(self, run: Run) -> None:
        # what has a queue is found by it
        if run.journal.gave_up and not self.draining and self.queue is None:
            self.left.add(run.id)
        if self.live.get(run.id) is run:
            del self.live[run.id]
        self.revisions.release(run.crew)
