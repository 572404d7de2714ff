"""Numbers an event, stores it, then publishes it: nothing is published that is not stored."""

import asyncio
import contextvars
import logging
from dataclasses import replace
from datetime import datetime

from agents.events import AgentDelta
from crew.journal.errors import LostEvents, LostRun, StoreError, StoreUnavailable
from crew.journal.events import EphemeralEvent, RunStatus, StoredEvent, encode_event
from crew.journal.outlets import (
    Batch,
    Failed,
    Idle,
    Lingering,
    Outlets,
    Publish,
    Waiting,
    WriterState,
    Writing,
    current_run,
)
from crew.journal.records.audit import AuditEntry
from crew.journal.records.exchanges import ExchangeEnd, ExchangeStart
from crew.journal.records.rows import (
    Appended,
    AppendResult,
    IdempotencyRecord,
    Record,
    RunRow,
)
from crew.journal.records.spent.costs import CallRow
from crew.journal.wire import to_run_event
from tools.clock import rfc3339

log = logging.getLogger(__name__)

# how long a run waits for a store that cannot be written, and the time between tries
PATIENCE_SECONDS = 60.0
RETRY_SECONDS = 0.5
# how long events that are not awaited may wait for others
LINGER_SECONDS = 0.002


class Journal:
    """The events of one run. Those recorded without a wait between them are stored together.

    Driven by callbacks, without a task of its own: writing goes on whatever happens to the run's
    task.
    """

    def __init__(
        self,
        outlets: Outlets,
        run_id: str,
        request_id: str,
        publish: Publish,
        seq: int = 0,
        epoch: int | None = None,
        active_seconds: float = 0.0,
    ) -> None:
        """Continue a run.

        Args:
            outlets: where events go.
            run_id: the run.
            request_id: of the request that started this segment.
            publish: gives an event to those who follow the run.
            seq: the number of the last event that the store has.
            epoch: of the claim by which this process writes the run; None: not yet known.
            active_seconds: of the run so far.
        """
        # work for the run is done in the run's context, not in that of its cause
        self.context = contextvars.copy_context()
        self.context.run(current_run.set, (run_id, request_id))
        self.outlets, self.run_id, self.publish = outlets, run_id, publish
        self.seq, self.epoch = seq, epoch
        self._active_before = active_seconds
        # on the clock, since when the run is at work; None: it waits for that
        self._started: float | None = None
        # of the events that were recorded here
        self.recorded_bytes = 0
        # the run of the same conversation that goes on when this one has ended
        self.next_run: str | None = None
        self.patience_seconds = PATIENCE_SECONDS
        self._state: WriterState = Idle()
        self._pending = Batch()
        # on the clock, since when the store cannot be written
        self._failing_since: float | None = None
        # the number of the last event that is stored; those who wait for a later one
        self._stored = seq
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    def keep(self, entry: AuditEntry | None) -> None:
        """Keep who began the segment, with its first event."""
        if entry is not None:
            self._pending.entry = replace(entry, run_id=self.run_id)

    def keep_call(self, call: CallRow) -> None:
        """Keep a request to a model, with the next event: whatever follows from it has one."""
        self._pending.calls.append(call)

    def record(
        self,
        event: StoredEvent,
        row: RunRow | None = None,
        exchange: ExchangeEnd | None = None,
    ) -> None:
        """Record an event, and what changes with it; stored and published soon.

        Args:
            event: of the run.
            row: the run's.
            exchange: of its conversation, with the run's end.
        """
        self._add(event, row)
        if exchange is not None:
            self._pending.exchange = exchange
        if isinstance(self._state, Idle):
            self._linger()

    async def begin(
        self,
        event: StoredEvent,
        row: RunRow,
        expected: RunStatus | None,
        idempotency: IdempotencyRecord | None = None,
        exchange: ExchangeStart | None = None,
    ) -> AppendResult:
        """Store the first event of a segment; published only if it is `Appended`."""
        self._add(event, row)
        batch, self._pending = self._pending, Batch()
        write = replace(
            batch.write(self.run_id, None),
            expected=expected,
            idempotency=idempotency,
            exchange=exchange,
        )
        result = await self.outlets.store.append(write)
        if isinstance(result, Appended):
            self.epoch, self._stored = result.epoch, batch.records[-1].seq
            self.context.run(self._publish_all, batch)
        return result

    def publish_ephemeral(self, event: EphemeralEvent) -> None:
        """Publish what is not stored."""
        outlets = self.outlets
        published = to_run_event(event, self.run_id, None, rfc3339(outlets.store.now()))
        if published is not None:
            self.publish(published)
            outlets.store.publish_ephemeral(self.run_id, published.encoded)
        if not isinstance(event, AgentDelta):
            for listener in outlets.listeners:
                listener(self.run_id, event)

    async def settled(self) -> None:
        """Wait until all that was recorded is stored and published; raises StoreError if not."""
        wanted = self.seq
        if isinstance(self._state, Lingering):
            # at the next turn: what others record in this one goes into the same transaction
            self._state.timer.cancel()
            self._state = Writing()
            loop = asyncio.get_running_loop()
            loop.call_soon(self._write_pending, context=self.context)
        while self._stored < wanted and not isinstance(self._state, Failed):
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((wanted, waiter))
            await waiter
        if not isinstance(self._state, Failed):
            return
        error = self._state.error
        if isinstance(error, LostRun):
            raise LostRun
        raise StoreError(str(error)) from error

    def stop_waiting(self) -> None:
        """Wait for the store no longer: the next process makes the steps that are not stored."""
        self.patience_seconds = 0.0
        if isinstance(self._state, Waiting):
            self._state.timer.cancel()
            self._fail(StoreError("the store could not be written"))

    def begin_active_time(self) -> None:
        """Begin to count active time."""
        self._started = self.outlets.clock.monotonic()

    @property
    def has_lost_events(self) -> bool:
        """Whether the database has lost events that were published."""
        return isinstance(self._state, Failed) and isinstance(self._state.error, LostEvents)

    @property
    def gave_up(self) -> bool:
        """Whether the store failed a run that was accepted, and that no other process has."""
        if not isinstance(self._state, Failed):
            return False
        return self.epoch is not None and not isinstance(self._state.error, LostRun)

    def now(self) -> datetime:
        """Return the time that all processes agree on."""
        return self.outlets.store.now()

    @property
    def active_seconds(self) -> float:
        """How long the run has been active by now, in all its segments."""
        if self._started is None:
            return self._active_before
        return self._active_before + self.outlets.clock.monotonic() - self._started

    @property
    def backlog(self) -> int:
        """Events that wait to be written."""
        return len(self._pending.records)

    def _add(self, event: StoredEvent, row: RunRow | None) -> None:
        timestamp = rfc3339(self.now())
        published = to_run_event(event, self.run_id, self.seq + 1, timestamp)
        assert published is not None, "every stored event has a public form"
        record = Record(self.seq + 1, published.encoded, encode_event(event, self.active_seconds))
        self._pending.records.append(record)
        self.recorded_bytes += record.size
        self._pending.events.append((published, event))
        # only now: an event that cannot be encoded must not leave a hole
        self.seq += 1
        if row is not None:
            self._pending.row = row
            made = self.outlets.notices(event, row, self.seq, timestamp)
            self._pending.notices = [*self._pending.notices, *made]

    def _linger(self) -> None:
        """Write soon: what is recorded next goes into the same transaction."""
        later = self.outlets.clock.call_later
        timer = later(LINGER_SECONDS, self._write_pending, context=self.context)
        self._state = Lingering(timer)

    def _write_pending(self) -> None:
        batch, self._pending = self._pending, Batch()
        self._write(batch)

    def _write(self, batch: Batch) -> None:
        self._state = Writing()
        write = batch.write(self.run_id, self.epoch)
        writing = asyncio.ensure_future(self.outlets.store.append(write))
        writing.add_done_callback(lambda done: self._written(done, batch), context=self.context)

    def _written(self, done: "asyncio.Future[AppendResult]", batch: Batch) -> None:
        # a write that is cancelled (the event loop ends) has failed
        error = StoreError("the write was cut off") if done.cancelled() else done.exception()
        if isinstance(error, StoreUnavailable) and self._is_patient():
            clock = self.outlets.clock
            retry = clock.call_later(
                RETRY_SECONDS, lambda: self._write(batch), context=self.context
            )
            self._state = Waiting(retry)
        elif error is not None:
            self._fail(error)
        else:
            result = done.result()
            assert isinstance(result, Appended), "only the first write of a segment is refused"
            self.epoch, self._failing_since = result.epoch, None
            self.next_run = result.next_run
            self._stored = batch.records[-1].seq
            self._publish_all(batch)
            self._go_on()

    def _go_on(self) -> None:
        """Go on after a write, with what was recorded meanwhile."""
        self._wake()
        if not self._pending.records:
            self._state = Idle()
        elif self._waiters:
            self._write_pending()
        else:
            self._linger()

    def _is_patient(self) -> bool:
        """Return whether to wait for the store: for a while, with an accepted run."""
        now = self.outlets.clock.monotonic()
        if self._failing_since is None:
            self._failing_since = now
            log.warning("run %s waits for the store", self.run_id)
        return self.epoch is not None and now - self._failing_since < self.patience_seconds

    def _fail(self, error: BaseException) -> None:
        self._state = Failed(error)
        self._wake()

    def _wake(self) -> None:
        """Wake who waits for what is stored by now, or never will be."""
        failed, waiters = isinstance(self._state, Failed), self._waiters
        self._waiters = []
        for wanted, waiter in waiters:
            if wanted > self._stored and not failed:
                self._waiters.append((wanted, waiter))
            elif not waiter.done():
                # one whose task was cancelled is
                waiter.set_result(None)

    def _publish_all(self, batch: Batch) -> None:
        for published, event in batch.events:
            self.publish(published)
            for listener in self.outlets.listeners:
                listener(self.run_id, event)
