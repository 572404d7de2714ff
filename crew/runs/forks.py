"""A run that begins as another one did, and goes on by itself from one of its events."""

from collections.abc import Sequence
from dataclasses import replace

from crew.engine.endings import ended_row
from crew.journal.events import decode_event
from crew.journal.replay import PAGE
from crew.journal.rows import Record, RunRow, Write
from crew.journal.state import RunState
from crew.journal.wire import record_of_run
from crew.runs.errors import Draining, NotForkable, UnknownRun
from crew.runs.factory import RunFactory
from crew.runs.run import new_run_id
from crew.runs.starter import RunStarter
from tools.clock import rfc3339


class RunForker:
    """Copies the beginnings of runs."""

    def __init__(self, factory: RunFactory, starter: RunStarter) -> None:
        self.factory, self.store, self.starter = factory, factory.store, starter

    async def fork(self, run_id: str, after: int, request_id: str, owner: str) -> str:
        """Begin a run with a copy of another one's events; its id. See `Runs.fork`."""
        if self.factory.live.draining:
            raise Draining
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(run_id)
        records = await self._records(run_id, after)
        now = self.store.now()
        begun = replace(row, run_id=new_run_id(now), started_at=rfc3339(now), owner=owner)
        begun = begun.resumed(request_id)
        state = await self._state(begun, records)
        if state.status in ("completed", "cancelled"):
            text = f"run {run_id} had ended at event {after}; fork it from an earlier one"
            raise NotForkable(text)
        copies = [record_of_run(record, begun.run_id) for record in records]
        if state.status == "paused":
            # its own time to answer may be over long since: it waits without one
            agent_id, answer = state.paused_agent_id, state.last_answer
            paused = ended_row(begun, state, "paused", agent_id, answer, None, rfc3339(now))
            await self.store.append(Write(begun.run_id, copies, paused))
            return begun.run_id
        # if this process ends before it goes on, it is there, and can be retried
        text = f"it was copied from event {after} of run {run_id}, and has not gone on"
        copied = ended_row(begun, state, "internal", None, text, None, rfc3339(now))
        await self.store.append(Write(begun.run_id, copies, replace(copied, status="failed")))
        await self.starter.retry(begun.run_id, request_id, f"{run_id}:{after}")
        return begun.run_id

    async def _records(self, run_id: str, after: int) -> list[Record]:
        """The events up to and with number `after`; all of them must be kept."""
        found: list[Record] = []
        while len(found) < after:
            page = await self.store.records(run_id, len(found), min(PAGE, after - len(found)))
            if not page:
                break
            found += page
            if found[0].seq != 1:
                raise NotForkable(f"the events of run {run_id} are no longer kept")
        if len(found) != after:
            text = f"run {run_id} has {len(found)} events; there is no event {after}"
            raise NotForkable(text)
        return found

    async def _state(self, row: RunRow, records: Sequence[Record]) -> RunState:
        crew = await self.factory.revisions.acquire_for(row, or_current=False)
        try:
            state = RunState(row.run_id, crew.tool_limits)
            for record in records:
                event, active_seconds = decode_event(record.event)
                state.apply(event)
                state.active_seconds = active_seconds
            return state
        finally:
            self.factory.revisions.release(crew)
