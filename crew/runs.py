"""The runs alive in this process: start, resume, follow, cancel, take up what a dead process left."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable
from types import TracebackType

import anyio

from crew.crew import Crew
from crew.errors import Draining, NotPaused, RunEnded, StoreError, UnknownRun
from crew.events import RunStarted, unpack
from crew.executor import CrewExecutor
from crew.journal import Journal, Listener
from crew.query import Query
from crew.run import Line, Run, Tail
from crew.state import RunState
from crew.stores.contract import RunRow, RunStore
from crew.wire import now

log = logging.getLogger(__name__)

PAGE = 500
# how often the events of a run in another process are looked for
POLL_SECONDS = 1.0


class Runs:
    """Plays a crew's runs and keeps them in a store; use it as an async context manager.

    The runs belong to this object, not to whoever started or follows them. Leaving it stops those that still go on and
    leaves them `running` in the store.
    """

    def __init__(self, crew: Crew, store: RunStore, listeners: tuple[Listener, ...] = ()) -> None:
        self.crew, self.store, self.listeners = crew, store, listeners
        self.live: dict[str, Run] = {}
        self.draining = False

    async def __aenter__(self) -> "Runs":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with anyio.CancelScope(shield=True):
            await self.drain(0)
            await self.crew.aclose()
            await self.store.aclose()

    async def start(self, query: Query, request_id: str = "") -> Run:
        """Start a run; it is in the store when this returns.

        Raises:
            Draining, StoreError
        """
        if self.draining:
            raise Draining
        run_id, crew = new_run_id(), self.crew
        first = query.agent_id or crew.entry_point
        event = RunStarted(crew.name, first, self._name(first), request_id, False, query)
        row = RunRow(run_id, crew.name, "running", query.text, now(), request_id)
        state = RunState(run_id, crew.tool_limits)
        run = self._live(row, state, 0, stream=query.deltas)
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

    async def resume(self, run_id: str, answer: Query, request_id: str = "") -> Run:
        """Go on with a paused run; the first answer wins.

        Raises:
            UnknownRun, NotPaused, Draining, StoreError
        """
        # what is begun is done, also when the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self._resume(run_id, answer, request_id)))

    async def _resume(self, run_id: str, answer: Query, request_id: str, *, ending: bool = False) -> Run:
        if self.draining:
            raise Draining
        row = await self.row(run_id)
        if row.status != "paused":
            raise NotPaused(f"run {run_id} is {row.status}, not paused")
        if run_id in self.live:
            # its pause is stored, and its loop about to stop
            await self.live[run_id].stopped()
        state, seq = await self._stored(run_id)
        if run_id in self.live:
            raise NotPaused(f"run {run_id} has been answered already")
        event = RunStarted(row.crew, state.asked, self._name(state.asked), request_id, True, answer)
        running = _running(row, request_id)
        run = self._live(running, state, seq, stream=answer.deltas)
        began = False
        try:
            began = await run.journal.begin(event, running, "paused")
        finally:
            if not began:
                self._gone(run)
        if not began:
            raise NotPaused(f"run {run_id} has been answered already")
        state.apply(event)
        if ending:
            run.cancel()
        run.start()
        return run

    async def recover(self) -> list[Run]:
        """Take up every run that is `running` in the store and not alive here; for a process that has the store alone."""
        taken: list[Run] = []
        after: str | None = None
        while rows := await self.store.rows("running", PAGE, after):
            after = rows[-1].run_id
            for row in rows:
                if row.run_id not in self.live and row.crew == self.crew.name:
                    try:
                        state, seq = await self._stored(row.run_id)
                    except StoreError as error:
                        # one that cannot be read must not keep the others from going on
                        log.error("run %s cannot be taken up again: %s", row.run_id, error, extra={"run_id": row.run_id})
                        continue
                    taken.append(self._live(row, state, seq))
        for run in taken:
            log.info("run %s is taken up again", run.id, extra={"run_id": run.id})
            run.start()
        return taken

    async def row(self, run_id: str) -> RunRow:
        """A run as the store has it; raises UnknownRun."""
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(f"there is no run {run_id}")
        return row

    async def cancel(self, run_id: str, request_id: str = "") -> None:
        """End a run that is running here, or paused.

        Raises:
            UnknownRun, RunEnded, StoreError
        """
        run = self.live.get(run_id)
        if run is not None and run.executor.state.status == "running":
            run.cancel()
            return
        if run is not None:
            # its end or pause is being stored
            await run.stopped()
        row = await self.row(run_id)
        if row.status == "running":
            raise RunEnded(f"run {run_id} is running in another process, or was left by one; it cannot be ended from here")
        if row.status != "paused":
            raise RunEnded(f"run {run_id} is {row.status}")
        # a paused run is taken up only to be ended
        run = await asyncio.shield(asyncio.ensure_future(self._resume(run_id, Query(""), request_id, ending=True)))
        await run.stopped()

    async def last_seq(self, run_id: str) -> int:
        """The number of a run's newest event."""
        run = self.live.get(run_id)
        if run is not None:
            return run.journal.seq
        seq = 0
        while records := await self.store.records(run_id, seq, PAGE):
            seq = records[-1].seq
        return seq

    async def follow(
        self, run_id: str, after: int = 0, *, idle_seconds: float | None = None, cut: Callable[[], None] | None = None
    ) -> AsyncIterator[Line | None]:
        """A run's lines behind event `after`: first what is stored, then what comes, until it ends or pauses.

        Args:
            run_id: the run.
            after: the number of the last event that is known; 0 for none.
            idle_seconds: None is given after each so long without a line.
            cut: called when the follower falls more than MAX_WAITING lines behind, also while it is busy with one.

        Raises:
            UnknownRun, TooSlow, StoreError
        """
        if run_id not in self.live:
            await self.row(run_id)
        while True:
            run = self.live.get(run_id)
            place = run.tail.place_after(after) if run is not None else None
            if run is not None and place is not None:
                async for line in run.tail.follow(place, idle_seconds, cut):
                    yield line
                return
            records = await self.store.records(run_id, after, PAGE)
            for record in records:
                after = record.seq
                yield Line(record.seq, record.public)
            if records or self.live.get(run_id) is not run:
                continue
            if run is not None or self.draining or (await self.row(run_id)).status != "running":
                return
            # another process has it: what it writes is found by looking
            await anyio.sleep(POLL_SECONDS)
            yield None

    async def drain(self, seconds: float) -> None:
        """Take no new runs, give those alive some time, then leave the rest as the store has them."""
        self.draining = True
        with anyio.move_on_after(seconds):
            for run in list(self.live.values()):
                await run.stopped()
        for run in list(self.live.values()):
            run.leave()
        for run in list(self.live.values()):
            await run.stopped()

    async def _stored(self, run_id: str) -> tuple[RunState, int]:
        """A run's state, made of its stored events, and the number of the last one."""
        state, seq = RunState(run_id, self.crew.tool_limits), 0
        while records := await self.store.records(run_id, seq, PAGE):
            for record in records:
                try:
                    state.apply(unpack(record.event))
                except ValueError as error:
                    raise StoreError(f"event {record.seq} of run {run_id} cannot be read: {error}") from error
            seq = records[-1].seq
        return state, seq

    def _name(self, agent_id: str) -> str:
        agent = self.crew.agents.get(agent_id)
        return agent.name if agent is not None else agent_id

    def _live(self, row: RunRow, state: RunState, seq: int, *, stream: bool = False) -> Run:
        tail = Tail(seq)
        journal = Journal(row.run_id, row.request_id, self.store, tail.add, self.listeners, seq)
        crew = self.crew
        executor = CrewExecutor(crew.agents, crew.routing, crew.limits, state, journal, row, stream=stream)
        run = Run(row.run_id, executor, journal, tail, self._gone)
        self.live[row.run_id] = run
        return run

    def _gone(self, run: Run) -> None:
        if self.live.get(run.id) is run:
            del self.live[run.id]


def new_run_id() -> str:
    """32 hex digits: the time in milliseconds, so that ids sort by it and stores append at their end, then chance."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def _running(row: RunRow, request_id: str) -> RunRow:
    return RunRow(
        row.run_id,
        row.crew,
        "running",
        row.query,
        row.started_at,
        request_id,
        usage=row.usage,
        duration_seconds=row.duration_seconds,
    )
