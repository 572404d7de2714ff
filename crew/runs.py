"""The runs alive in this process: start, resume, cancel, take up what a dead process left."""

import asyncio
import contextlib
import logging
from types import TracebackType
from weakref import WeakValueDictionary

import anyio

from crew.crew import Crew
from crew.errors import (
    AlreadyBegun,
    Draining,
    KeyReused,
    LostConfiguration,
    NotPaused,
    RunEnded,
    StoreError,
    StoreUnavailable,
    UnknownAgent,
    UnknownRun,
)
from crew.events import RunStarted, unpack
from crew.executor import CrewExecutor
from crew.following import PAGE, RunReader
from crew.journal import Journal, Listener
from crew.query import Once, Query
from crew.revisions import Revisions
from crew.run import Run, Tail, new_run_id
from crew.state import RunState, Status
from crew.stores.contract import Receipt, RunRow, RunStore
from crew.wire import now

log = logging.getLogger(__name__)


class Runs(RunReader):
    """Plays a crew's runs and keeps them in a store; use it as an async context manager.

    The runs belong to this object, not to whoever started or follows them. Leaving it stops those that still go on and
    leaves them `running` in the store.
    """

    def __init__(self, crew: Crew, store: RunStore, listeners: tuple[Listener, ...] = ()) -> None:
        super().__init__(store)
        self.listeners = listeners
        # runs that were left because the store failed, to be taken up again
        self.left: set[str] = set()
        # one who takes a stored run up at a time
        self._taking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.revisions = Revisions(crew, store)

    @property
    def crew(self) -> Crew:
        """The crew of new runs."""
        return self.revisions.current

    async def __aenter__(self) -> "Runs":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with anyio.CancelScope(shield=True):
            await self.drain(0)
            await self.revisions.aclose()
            await self.store.aclose()

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
        run = self._live(crew, row, state, 0, stream=query.deltas)
        if once is not None:
            await self._begin(run, event, row, None, once)
            state.apply(event)
            run.start()
            return run
        state.apply(event)
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

    async def resume(self, run_id: str, answer: Query, request_id: str = "", once: Once | None = None) -> Run:
        """Go on with a paused run; the first answer wins. `once`: see `start`.

        Raises:
            UnknownRun, NotPaused, Draining, StoreError, AlreadyBegun, KeyReused
            LostConfiguration: what it was started with makes no crew here any more.
        """
        # what is begun is done, also when the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self._resume(run_id, answer, request_id, once)))

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
            return await self._resumed(run_id, answer, request_id, once, ending=ending, expired=expired)

    async def _resumed(
        self, run_id: str, answer: Query, request_id: str, once: Once | None, *, ending: bool, expired: bool
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
        # only now: it may have gone on, and be paused again, while its events were read; `done` comes behind the pause
        if answer.pause is not None and answer.pause != seq - 1:
            self.revisions.release(crew)
            raise NotPaused(f"run {run_id} is not in the pause of event {answer.pause}")
        event = RunStarted(row.crew, state.asked, crew.name_of(state.asked), request_id, True, answer, expired)
        running = row.going_on(request_id)
        run = self._live(crew, running, state, seq, stream=answer.deltas)
        await self._begin(run, event, running, "paused", once)
        state.apply(event)
        if ending:
            run.cancel()
        run.start()
        return run

    async def _begin(self, run: Run, event: RunStarted, row: RunRow, expected: Status | None, once: Once | None) -> None:
        """Store the first event of a stretch before anything of it happens, or raise why it does not begin."""
        began = False
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
        """Go on with a paused run that nobody has answered in time; nothing if somebody has meanwhile."""
        with contextlib.suppress(NotPaused, UnknownRun):
            text = f"nobody answered until {row.paused_until}"
            answer = Query(text, decision="deny", pause=row.events - 1)
            await asyncio.shield(asyncio.ensure_future(self._resume(row.run_id, answer, row.request_id, expired=True)))

    async def recover(self) -> list[Run]:
        """Take up every run that is `running` in the store and not alive here; for a process that has the store alone."""
        taken: list[Run] = []
        after: str | None = None
        while rows := await self.store.rows("running", PAGE, after):
            after = rows[-1].run_id
            # one whose files were not kept goes on only with a crew of its name
            ours = [row for row in rows if row.revision or row.crew == self.crew.name]
            taken += [run for row in ours if (run := await self._taken_up(row.run_id)) is not None]
        return taken

    async def recover_left(self) -> None:
        """Take up the runs that were left because the store failed."""
        for run_id in list(self.left):
            self.left.discard(run_id)
            await self._taken_up(run_id)

    async def _taken_up(self, run_id: str) -> Run | None:
        """Go on with a run that nobody has; None if it cannot go on, or somebody has it."""
        async with self._one_at_a_time(run_id):
            row = await self.store.row(run_id)
            if run_id in self.live or row is None or row.status != "running" or self.draining:
                return None
            try:
                crew, state, seq = await self._stored(row)
            except StoreUnavailable:
                # tried again by and by
                self.left.add(run_id)
                return None
            except (StoreError, LostConfiguration) as error:
                # one that cannot be read must not keep the others from going on
                log.error("run %s cannot be taken up again: %s", run_id, error, extra={"run_id": run_id})
                return None
            run = self._live(crew, row, state, seq)
            log.info("run %s is taken up again", run_id, extra={"run_id": run_id})
            run.start()
            return run

    async def cancel(self, run_id: str, request_id: str = "") -> None:
        """End a run that is running here, paused, or left by a process that has died.

        Raises:
            UnknownRun, RunEnded, StoreError
        """
        while True:
            run = self.live.get(run_id)
            if run is not None and run.executor.state.status == "running":
                run.cancel()
                return
            if run is not None:
                # its end or pause is being stored
                await run.stopped()
            row = await self.row(run_id)
            if row.status not in ("running", "paused"):
                raise RunEnded(f"run {run_id} is {row.status}")
            if row.status == "running" and not self.store.alone():
                raise RunEnded(f"run {run_id} is running in another process; it cannot be ended from here")
            # what happened meanwhile is looked at again
            with contextlib.suppress(NotPaused):
                run = await asyncio.shield(asyncio.ensure_future(self._ended(row, request_id)))
                await run.stopped()
                return

    async def _ended(self, row: RunRow, request_id: str) -> Run:
        """A run that is not alive, taken up only to be ended; it needs no crew of its own."""
        if row.status == "paused":
            return await self._resume(row.run_id, Query(""), request_id, ending=True)
        async with self._one_at_a_time(row.run_id):
            if row.run_id in self.live:
                raise NotPaused
            crew, state, seq = await self._stored(row, or_current=True)
            run = self._live(crew, row, state, seq)
            run.cancel()
            run.start()
            return run

    async def drain(self, seconds: float) -> None:
        """Take no new runs, give those alive some time, then leave the rest as the store has them."""
        self.draining = True
        with anyio.move_on_after(seconds):
            for run in list(self.live.values()):
                await run.stopped()
        for run in list(self.live.values()):
            run.leave()
            run.journal.hurry()
        for run in list(self.live.values()):
            await run.stopped()

    async def _stored(self, row: RunRow, *, or_current: bool = False) -> tuple[Crew, RunState, int]:
        """A stored run's crew, which is held; its state, made of its events; and the number of the last one."""
        crew = await self.revisions.take(row.revision, or_current=or_current)
        state, seq = RunState(row.run_id, crew.tool_limits), 0
        try:
            while records := await self.store.records(row.run_id, seq, PAGE):
                for record in records:
                    state.apply(unpack(record.event))
                    seq = record.seq
        except ValueError as error:
            self.revisions.release(crew)
            log.debug("event %d of run %s: %s", seq + 1, row.run_id, error)
            raise StoreError(f"event {seq + 1} of run {row.run_id} was written by another version, and cannot be read") from error
        except BaseException:
            self.revisions.release(crew)
            raise
        return crew, state, seq

    def _live(self, crew: Crew, row: RunRow, state: RunState, seq: int, *, stream: bool = False) -> Run:
        tail = Tail(seq)
        journal = Journal(row.run_id, row.request_id, self.store, tail.add, self.listeners, seq)
        executor = CrewExecutor(crew.agents, crew.routing, crew.limits, state, journal, row, stream=stream)
        run = Run(row.run_id, crew, executor, journal, tail, self._gone)
        self.live[row.run_id] = run
        return run

    def _gone(self, run: Run) -> None:
        if run.journal.gave_up and not self.draining:
            self.left.add(run.id)
        if self.live.get(run.id) is run:
            del self.live[run.id]
            self.revisions.release(run.crew)
