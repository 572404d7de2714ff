"""Segments of runs start: with a query or an answer, once for each idempotency key."""

import asyncio
import contextlib
from typing import assert_never

from crew.engine.masking import masked_answer, masked_query
from crew.engine.spending.next_calls import NextCall
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.events import (
    NO_CONVERSATION,
    CancelReason,
    InConversation,
    RunResumed,
    RunRetried,
    RunStarted,
    RunStatus,
)
from crew.journal.query import Answer, IdempotencyKey, Query
from crew.journal.records.conversations import owner_of
from crew.journal.records.exchanges import ExchangeStart, Refused
from crew.journal.records.rows import (
    Appended,
    AppendResult,
    IdempotencyRecord,
    KeyTaken,
    Opened,
    RunRow,
    StatusDiffers,
)
from crew.journal.state import RunState
from crew.runs.costs.pots import admit_run, show_pots
from crew.runs.errors import (
    AlreadyStarted,
    AnsweredTooLate,
    Draining,
    KeyReused,
    MayHaveBegun,
    NotPaused,
    NotRetryable,
    UnknownRun,
    conversation_refusal,
    key_taken,
)
from crew.runs.factory import RunFactory
from crew.runs.request import RunRequest, require_known
from crew.runs.resuming import (
    ended_since,
    is_over,
    no_answer,
    refused_answer,
    remedy_of,
    resumed_event,
)
from crew.runs.run import Run, new_run_id
from crew.runs.upkeep.room import Room
from tools.clock import rfc3339


class RunStarter:
    """Starts runs, and resumes those that are paused."""

    def __init__(self, factory: RunFactory) -> None:
        self.factory, self.live, self.store = factory, factory.live, factory.store
        self.revisions, self.queue = factory.revisions, factory.queue
        self.room = Room(factory)

    async def start(self, query: Query, asked: RunRequest) -> Run:
        """Start a run; it is stored when this returns. See `Runs.start`."""
        if asked.key is None:
            return await self._start(query, asked)
        # what is started under a key is played, even if the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self._start(query, asked)))

    async def _start(self, query: Query, asked: RunRequest) -> Run:
        run, event, row = await self.prepare(query, asked)
        if asked.key is not None or self.queue is not None:
            await self.begin(run, event, row, None, asked.key)
            run.executor.state.apply(event)
            await self.play(run)
            return run
        run.executor.state.apply(event)
        await self._play_at_once(run, event, row)
        return run

    async def prepare(
        self, query: Query, asked: RunRequest, conversation: InConversation = NO_CONVERSATION
    ) -> tuple[Run, RunStarted, RunRow]:
        """Prepare a run that is not stored yet, its first event and its row.

        Raises what `start` does.
        """
        if self.live.draining:
            raise Draining
        await self.room.check(asked.owner, asked.key)
        await self.revisions.keep_current()
        crew = self.revisions.current
        require_known(query, crew)
        query = masked_query(query, crew.secrets)
        self.revisions.acquire(crew)
        now = self.store.now()
        row = RunRow(
            new_run_id(now),
            crew.name,
            "running",
            query.text,
            rfc3339(now),
            asked.request_id,
            crew.revision,
            crew.provider,
            owner=asked.owner,
            priority=query.priority,
            user_id=query.user_id,
            conversation_id=conversation.conversation_id,
            exchange=conversation.exchange,
            source=asked.source.kind,
            source_name=asked.source.name,
        )
        first = query.agent_id or crew.entry_point
        with self.revisions.released_on_error(crew):
            call = NextCall(first, query.text, query.model)
            await admit_run(self.store, crew, row, call, asked.key)
        begun = crew.name, first, crew.name_of(first), asked.request_id, query, conversation
        event = RunStarted(*begun, asked.traceparent)
        state = RunState(row.run_id, crew.tool_limits)
        run = self.factory.make(crew, row, state, stream=query.deltas)
        run.journal.keep(asked.entry)
        return run, event, row

    async def _play_at_once(self, run: Run, event: RunStarted, row: RunRow) -> None:
        """Let the loop take its first step before the start is written: both in one transaction."""
        self.live.add(run)
        run.play()
        run.journal.record(event, row)
        try:
            await run.journal.settled()
        except StoreError:
            # not accepted, so it must not go on
            run.leave()
            await run.stopped()
            raise

    async def resume(
        self, run_id: str, answer: Answer, asked: RunRequest, *, may_decide: bool = True
    ) -> Run:
        """Resume a paused run; the first answer wins. See `Runs.resume`."""
        resuming = self._resume_locked(run_id, answer, asked, may_decide=may_decide)
        # what is started is done, even if the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(resuming))

    async def expire(self, row: RunRow) -> None:
        """Resume a paused run that has no answer in time; do nothing if it has one."""
        asked = RunRequest(row.request_id)
        resuming = self._resume_locked(row.run_id, no_answer(row), asked, expired=True)
        with contextlib.suppress(NotPaused, UnknownRun):
            await asyncio.shield(asyncio.ensure_future(resuming))

    async def end_paused(self, run_id: str, request_id: str, reason: CancelReason) -> Run:
        """Resume a paused run only to end it; it needs no crew of its own."""
        return await self._resume_locked(run_id, Answer(), RunRequest(request_id), ends=reason)

    async def retry(self, run_id: str, asked: RunRequest) -> Run:
        """Go on with a failed run at the step that failed. See `Runs.retry`."""
        # what is started is done, even if the caller goes away meanwhile
        return await asyncio.shield(asyncio.ensure_future(self.go_on(run_id, asked)))

    async def go_on(self, run_id: str, asked: RunRequest, forked_from: str = "") -> Run:
        """Go on with a failed run, or with a copy of "RUN:N"; raises what `Runs.retry` does."""
        async with self.factory.lock(run_id):
            opened = await self._opened(run_id)
            row, page = opened.row, opened.page
            if row.status != "failed":
                reason = f" ({row.reason})" if row.reason else ""
                rest = f"only a failed run can be retried{remedy_of(row, self.live)}"
                raise NotRetryable(f"run {run_id} is {row.status}{reason}; {rest}")
            if not page or page[0].seq != 1:
                raise NotRetryable(f"the events of run {run_id} are no longer kept")
            # for a copy there was room before it was made
            if not forked_from:
                await self.room.check(row.owner, None)
            crew, state = await self.factory.load(opened)
            if not forked_from:
                with self.revisions.released_on_error(crew):
                    await admit_run(self.store, crew, row, NextCall.of(state, crew), None)
            agent_id, of = state.main.agent_id, state.conversation
            name = crew.name_of(agent_id)
            begun = row.crew, agent_id, name, asked.request_id, forked_from, of
            event = RunRetried(*begun, asked.traceparent)
            running = row.resumed(asked.request_id)
            run = self.factory.make(crew, running, state, stream=state.deltas)
            run.journal.keep(asked.entry)
            again = self._again(row)
            await self.begin(run, event, running, "failed", None, exchange=again)
            state.apply(event)
            await self.play(run)
            return run

    def _again(self, row: RunRow) -> ExchangeStart | None:
        """Return a failed run goes on as the exchange that it was, if no other one came since."""
        if not row.conversation_id:
            return None
        owner, now = owner_of(row.user_id), rfc3339(self.store.now())
        place = (owner, row.conversation_id, row.run_id, row.exchange)
        return ExchangeStart(*place, now, "", row.exchange, again=True)

    async def _resume_locked(
        self,
        run_id: str,
        answer: Answer,
        asked: RunRequest,
        *,
        expired: bool = False,
        ends: CancelReason | None = None,
        may_decide: bool = True,
    ) -> Run:
        async with self.factory.lock(run_id):
            opened = await self._paused(run_id, asked.key)
            row = opened.row
            await show_pots(self.store, self.revisions.current, row)
            crew, state = await self.factory.load(opened, ends=ends is not None)
            if reason := self._not_paused(run_id, answer, state):
                self.revisions.release(crew)
                raise await self._refusal(reason, asked.key)
            late = not expired and ends is None and is_over(row, self.store.now())
            if late:
                # the deadline holds, wherever it is seen first
                answer, asked, expired = no_answer(row), RunRequest(row.request_id), True
            is_answer = not expired and ends is None
            refused = refused_answer(answer, state, crew, may_decide=may_decide)
            if is_answer and refused is not None:
                self.revisions.release(crew)
                raise refused
            if held_at := ended_since(state.question, answer) if is_answer else "":
                # it is asked about again until its end is stored
                ends = "cancelled"
            answer = masked_answer(answer, crew.secrets)
            event = resumed_event(row, crew, state, answer, asked, expired=expired)
            running = row.resumed(asked.request_id, held_at)
            run = self.factory.make(crew, running, state, stream=answer.deltas)
            run.journal.keep(asked.entry)
            await self.begin(run, event, running, "paused", asked.key, here=ends is not None)
            state.apply(event)
            if ends is not None:
                run.cancel(ends)
                run.play()
            else:
                await self.play(run)
            if late:
                raise AnsweredTooLate(run, row.paused_until or "")
            return run

    async def _paused(self, run_id: str, key: IdempotencyKey | None) -> Opened:
        """Return a paused run with a last segment that has stopped here."""
        opened = await self._opened(run_id)
        if (status := opened.row.status) != "paused":
            text = f"run {run_id} is {status}, not paused{remedy_of(opened.row, self.live)}"
            raise await self._refusal(text, key)
        # its pause is stored, and its loop about to stop
        if (run := self.live.get(run_id)) is not None:
            await run.stopped()
        return opened

    async def _opened(self, run_id: str) -> Opened:
        """Return a run of which a segment may begin here."""
        if self.live.draining:
            raise Draining
        if (opened := await self.store.opened(run_id)) is None:
            raise UnknownRun(run_id)
        return opened

    def _not_paused(self, run_id: str, answer: Answer, state: RunState) -> str | None:
        """Return why an answer comes too late.

        The run may have gone on while its events were read.
        """
        if run_id in self.live or state.status != "paused":
            return f"run {run_id} has been answered already"
        if answer.pause_seq is not None and answer.pause_seq != state.pause_seq:
            return f"run {run_id} is not in the pause of event {answer.pause_seq}"
        return None

    async def _refusal(
        self, reason: str, key: IdempotencyKey | None
    ) -> NotPaused | AlreadyStarted | KeyReused:
        """Return why an answer is refused.

        The same request may have been accepted, here or elsewhere.
        """
        if key is not None and (record := await self.store.idempotency_record(key.key)):
            return key_taken(key, record)
        return NotPaused(reason)

    async def play(self, run: Run) -> None:
        """Go on with what has started: here, or wherever the queue gives it to."""
        if self.queue is None:
            run.play()
            return
        assert run.journal.epoch is not None, "its first event is stored"
        self.factory.discard(run)
        # who follows it from the start must get its first deltas
        self.live.expect(run)
        await self.queue.put(run.id, run.journal.epoch)

    async def begin(
        self,
        run: Run,
        event: RunStarted | RunResumed | RunRetried,
        row: RunRow,
        expected: RunStatus | None,
        key: IdempotencyKey | None,
        *,
        here: bool = False,
        exchange: ExchangeStart | None = None,
    ) -> Appended:
        """Store the first event of a segment before anything of it happens, or raise why not.

        Without a queue, or with `here`, the run is alive from now on.
        """
        if here or self.queue is None:
            self.live.add(run)
        record = None
        if key is not None:
            record = IdempotencyRecord(key.key, key.fingerprint, run.id, run.before)
        result: AppendResult | None = None
        try:
            result = await run.journal.begin(event, row, expected, record, exchange)
        except StoreUnavailable as error:
            if key is None and self.store.shared:
                # over a network the answer may be lost, but not the write
                raise MayHaveBegun from error
            raise
        finally:
            if not isinstance(result, Appended):
                run.tail.close()
                self.factory.discard(run)
        match result:
            case Appended():
                return result
            case KeyTaken(found):
                assert key is not None, "only a write with a key is refused for it"
                raise key_taken(key, found)
            case Refused():
                assert exchange is not None, "only a write of a conversation is refused for it"
                raise conversation_refusal(result, exchange)
            case StatusDiffers() if isinstance(event, RunRetried):
                raise NotRetryable(f"run {run.id} has been retried already")
            case StatusDiffers():
                raise await self._refusal(f"run {run.id} has been answered already", key)
            case _:
                assert_never(result)
