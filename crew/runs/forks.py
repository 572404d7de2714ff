"""A run that begins as another one did, and goes on by itself from one of its events."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_core import from_json

from agents.costs.usage import NO_USAGE
from agents.events import AgentResponded
from crew.engine.endings import ended_row
from crew.engine.spending.next_calls import NextCall
from crew.journal.events import (
    InConversation,
    RunDone,
    RunFailed,
    RunResumed,
    RunRetried,
    RunStarted,
    StoredEvent,
    encode_event,
    status_after,
)
from crew.journal.records.conversations import Conversation, owner_of
from crew.journal.records.rows import PAGE, IdempotencyRecord, KeyTaken, Record, RunRow, Write
from crew.journal.replay import apply_records, read_event
from crew.journal.state import RunState
from crew.journal.wire import record_of_run, to_run_event
from crew.runs.costs.pots import admit_run
from crew.runs.errors import Draining, NotForkable, UnknownRun, key_taken
from crew.runs.factory import RunFactory
from crew.runs.request import RunRequest
from crew.runs.run import Run, new_run_id
from crew.runs.starter import RunStarter
from tools.clock import rfc3339

# of the events that are copied, as they are stored
MAX_COPIED_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where a copy leaves its run, and with what."""

    # the number of the last event that is copied
    after: int
    # what the agent says instead, of whose answer that event is
    says: str | None = None
    # it goes on with the crew of new runs, not with that of the run
    is_on_current: bool = False


class RunForker:
    """Copies the beginnings of runs."""

    def __init__(self, factory: RunFactory, starter: RunStarter) -> None:
        self.factory, self.store, self.starter = factory, factory.store, starter

    async def fork(
        self,
        run_id: str,
        point: ForkPoint,
        asked: RunRequest,
        max_priority: int,
    ) -> Run:
        """Begin a run with a copy of another one's events. See `Runs.fork`."""
        if self.factory.live.draining:
            raise Draining
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(run_id)
        await self.starter.room.check(asked.owner, asked.key)
        records = await self._records(run_id, point.after)
        if point.says is None:
            records = _open_end(records, run_id)
        else:
            records = [*records[:-1], _with_other_answer(records[-1], run_id, point.says)]
        now = self.store.now()
        begun = replace(
            row,
            run_id=new_run_id(now),
            started_at=rfc3339(now),
            owner=asked.owner,
            priority=min(row.priority, max_priority),
            source="fork",
            source_name=run_id,
        )
        if point.is_on_current:
            await self.factory.revisions.keep_current()
            crew = self.factory.revisions.current
            begun = replace(begun, revision=crew.revision, provider=crew.provider)
        copied = await self._copied_row(begun.resumed(asked.request_id), records, run_id, asked)
        copies = [record_of_run(record, begun.run_id) for record in records]
        beginning = self._begin(Write(begun.run_id, copies, copied), run_id, asked)
        # what is copied goes on, even if the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(beginning))

    async def _begin(self, copy: Write, run_id: str, asked: RunRequest) -> Run:
        count, key, row = len(copy.records), asked.key, copy.row
        assert row is not None, "a copy begins with its row"
        if row.conversation_id:
            row, records = await self._in_conversation_of_its_own(row, copy.records)
            copy = replace(copy, row=row, records=records)
        if asked.entry is not None:
            copy = replace(copy, entry=replace(asked.entry, run_id=copy.run_id))
        if key is not None:
            record = IdempotencyRecord(key.key, key.fingerprint, copy.run_id, count)
            copy = replace(copy, idempotency=record)
        result = await self.store.append(copy)
        if isinstance(result, KeyTaken):
            assert key is not None, "only a write with a key is refused for it"
            if row.conversation_id:
                await self.store.conversations.delete(owner_of(row.user_id), row.conversation_id)
            raise key_taken(key, result.record)
        forked = RunRequest(asked.request_id)
        return await self.starter.go_on(copy.run_id, forked, f"{run_id}:{count}")

    async def _in_conversation_of_its_own(
        self, row: RunRow, records: Sequence[Record]
    ) -> tuple[RunRow, list[Record]]:
        """Copy the conversation of a run up to the exchange before it; the run is the next there.

        Raises:
            NotForkable: the conversation is gone.
        """
        log, owner, now = self.store.conversations, owner_of(row.user_id), self.store.now()
        made = Conversation(owner, new_run_id(now), row.started_at, row.started_at)
        if not await log.fork(owner, row.conversation_id, row.exchange - 1, made):
            raise NotForkable(f"the conversation {row.conversation_id} is no longer kept")
        # an exchange that has not ended is not copied
        known = await log.get(owner, made.conversation_id)
        of = InConversation(made.conversation_id, known.started + 1 if known is not None else 1)
        moved = [_in_conversation(record, row.run_id, of) for record in records]
        return replace(row, conversation_id=of.conversation_id, exchange=of.exchange), moved

    async def _records(self, run_id: str, after: int) -> list[Record]:
        """Return the events up to and with number `after`; all of them must be kept."""
        newest = (await self.store.newest([run_id]))[run_id].seq
        if after > newest:
            text = f"run {run_id} has {newest} events; there is no event {after}"
            raise NotForkable(text)
        found: list[Record] = []
        size = 0
        while len(found) < after:
            page = await self.store.records(run_id, len(found), min(PAGE, after - len(found)))
            if not page or page[0].seq != len(found) + 1:
                raise NotForkable(f"the events of run {run_id} are no longer kept")
            found += page
            size += sum(one.size for one in page)
            if size > MAX_COPIED_BYTES:
                text = f"the first {after} events of run {run_id} are too many to copy"
                raise NotForkable(f"{text}: more than {MAX_COPIED_BYTES >> 20} MiB")
        return found

    async def _copied_row(
        self, begun: RunRow, records: list[Record], run_id: str, asked: RunRequest
    ) -> RunRow:
        """Return the row of the copy until it goes on.

        If this process ends before, it can be retried.
        """
        crew = await self.factory.revisions.acquire_for(begun, or_current=False)
        try:
            state = RunState(begun.run_id, crew.tool_limits)
            for first in range(0, len(records), PAGE):
                apply_records(state, records[first : first + PAGE])
                # others have their turn
                await asyncio.sleep(0)
            if state.main.agent_id not in (*crew.agents, *crew.routing.groups):
                text = f"these files have no {state.main.agent_id}, which is at work"
                raise NotForkable(f"{text} at event {len(records)} of run {run_id}")
            # it pays from the pot of a conversation of its own, which is empty
            payer = replace(begun, conversation_id="")
            await admit_run(self.store, crew, payer, NextCall.of(state, crew), asked.key)
        finally:
            self.factory.revisions.release(crew)
        text = f"it was copied from event {len(records)} of run {run_id}, and has not gone on"
        size = sum(one.size for one in records)
        row = ended_row(begun, state, "internal", None, text, None, begun.started_at, size)
        # what is copied was paid for by the other run
        return replace(row, status="failed", usage=NO_USAGE)


def _open_end(records: list[Record], run_id: str) -> list[Record]:
    """Return events after which a run goes on: without the end of the segment that a pause is.

    The question there comes again, in a pause of the copy's own.
    """
    event, _ = read_event(records[-1], run_id)
    if not isinstance(event, RunDone | RunFailed):
        return records
    match status_after(event):
        case "paused":
            return records[:-1]
        case "failed":
            return records
        case _:
            text = f"run {run_id} had ended at event {len(records)}; fork it from an earlier one"
            raise NotForkable(text)


def _with_other_answer(record: Record, run_id: str, text: str) -> Record:
    """Return the answer of an agent with other words, and without calls.

    Raises:
        NotForkable: the event is none, or its words follow from a schema.
    """
    event, active_seconds = read_event(record, run_id)
    if not isinstance(event, AgentResponded):
        kind = from_json(record.public)["type"]
        text = f"event {record.seq} of run {run_id} is no answer of an agent, but {kind}"
        raise NotForkable(text)
    if event.output is not None or event.invalid:
        text = f"event {record.seq} of run {run_id} is an answer in a shape of its own"
        raise NotForkable(f"{text}; no other words can stand in its place")
    said = replace(
        event, content=text, calls=(), native=True, extra={}, is_direct=False, is_refused=False
    )
    return _rewritten(record, said, run_id, active_seconds)


def _in_conversation(record: Record, run_id: str, of: InConversation) -> Record:
    """Return an event of a run as that of an exchange of another conversation."""
    event, active_seconds = read_event(record, run_id)
    if not isinstance(event, RunStarted | RunResumed | RunRetried):
        return record
    return _rewritten(record, replace(event, conversation=of), run_id, active_seconds)


def _rewritten(record: Record, event: StoredEvent, run_id: str, active_seconds: float) -> Record:
    timestamp = from_json(record.public)["timestamp"]
    published = to_run_event(event, run_id, record.seq, timestamp)
    assert published is not None, "every stored event has a public form"
    return Record(record.seq, published.encoded, encode_event(event, active_seconds))
