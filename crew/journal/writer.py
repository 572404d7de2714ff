"""Numbers an event, stores it, then tells it.

Nothing is told that is not stored, and nothing leaves the process before.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from crew.errors import LostRun, StoreError, StoreUnavailable
from crew.journal.events import Event, Passing, Stored, pack
from crew.journal.state import Status
from crew.journal.store import Receipt, Record, RunRow, RunStore, Write
from crew.journal.wire import now, public


class Listener(Protocol):
    """Someone who is told every event of every run, such as the metrics.

    Must not raise nor wait.
    """

    def __call__(self, run_id: str, event: Event) -> None:
        """Take notice of an event."""
        ...


# how long a run waits for a store that cannot be written, and how often it tries
PATIENCE_SECONDS = 60.0
AGAIN_SECONDS = 0.5
log = logging.getLogger(__name__)

# (seq, or None for what is not stored; the event as clients are told it)
Tell = Callable[[int | None, str], None]


# run_id and request_id of the run that something is done for; log lines tell them
current_run: ContextVar[tuple[str, str] | None] = ContextVar("current_run", default=None)


class Journal:
    """The book of one run. Events that are recorded without a wait between them are stored
    together.

    Driven by callbacks, without a task of its own: writing goes on whatever happens to the run's
    task.
    """

    def __init__(
        self,
        run_id: str,
        request_id: str,
        store: RunStore,
        tell: Tell,
        listeners: tuple[Listener, ...],
        seq: int = 0,
        epoch: int | None = None,
    ) -> None:
        """`seq`: the number of the last event that the store has.

        `epoch`: since when this process writes the run.
        """
        # what is done for the run is done in it, whoever asked for it
        self.context = contextvars.copy_context()
        self.context.run(current_run.set, (run_id, request_id))
        self.run_id, self.store, self.tell, self.listeners, self.seq = (
            run_id,
            store,
            tell,
            listeners,
            seq,
        )
        self.epoch = epoch
        self._waiting: list[tuple[Record, Stored]] = []
        self._row: RunRow | None = None
        # a write is under way or about to be
        self._busy = False
        self._writing: asyncio.Future[int] | None = None
        self._failed: BaseException | None = None
        # something of this run is in the store, so the rest may wait for it
        self._begun = seq > 0
        # since when the store cannot be written, and what will try again
        self._since: float | None = None
        self._again: asyncio.TimerHandle | None = None
        self.patience_seconds = PATIENCE_SECONDS
        self._settled: list[asyncio.Future[None]] = []

    def record(self, event: Stored, row: RunRow | None = None) -> None:
        """Take an event down, and the run's row with it if it changes.

        It is stored and then told soon.
        """
        self._waiting.append((self._numbered(event), event))
        self._row = row or self._row
        if not self._busy:
            self._busy = True
            # not at once, so that what is recorded next goes into the same transaction
            asyncio.get_running_loop().call_soon(self._write, context=self.context)

    async def begin(
        self, event: Stored, row: RunRow, expected: Status | None, receipt: Receipt | None = None
    ) -> bool:
        """Store the first event of a stretch.

        False, and nothing stored, where the store says so (see RunStore.append).
        """
        record = self._numbered(event)
        self.epoch = (
            await self.store.append(Write(self.run_id, [record], row, expected, receipt)) or None
        )
        if self.epoch is None:
            return False
        self._begun = True
        self.context.run(self._told, record, event)
        return True

    def pass_on(self, event: Passing) -> None:
        """Tell what is not stored."""
        told = public(event, self.run_id, None, now())
        if told is not None:
            self.tell(None, told)
            self.store.pass_on(self.run_id, told)
        for listener in self.listeners:
            listener(self.run_id, event)

    async def settled(self) -> None:
        """Wait until all that was recorded is stored and told.

        Raises StoreError if it could not be.
        """
        while self._busy:
            future = asyncio.get_running_loop().create_future()
            self._settled.append(future)
            await future
        if isinstance(self._failed, LostRun):
            raise LostRun
        if self._failed is not None:
            raise StoreError(str(self._failed)) from self._failed

    def hurry(self) -> None:
        """Wait for the store no longer.

        What it cannot take now is left to the next process, which makes those steps again.
        """
        self.patience_seconds = 0.0
        if self._again is not None:
            self._again.cancel()
            self._again = None
            self._failed = StoreError("the store could not be written")
            self._end()

    @property
    def gave_up(self) -> bool:
        """The store failed a run that it had accepted, and that is still this process's."""
        return self._begun and self._failed is not None and not isinstance(self._failed, LostRun)

    @property
    def backlog(self) -> int:
        """Events that wait to be written."""
        return len(self._waiting)

    def _numbered(self, event: Stored) -> Record:
        told = public(event, self.run_id, self.seq + 1, now())
        assert told is not None, "every stored event has a public form"
        record = Record(self.seq + 1, told, pack(event))
        # only now: an event that has no form must not leave a hole
        self.seq += 1
        return record

    def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        row, self._row = self._row, None
        if self._failed is not None or not batch:
            self._end()
            return
        self._store(batch, row)

    def _store(self, batch: list[tuple[Record, Stored]], row: RunRow | None) -> None:
        self._again = None
        records = [record for record, _ in batch]
        write = Write(self.run_id, records, row, epoch=self.epoch)
        self._writing = asyncio.ensure_future(self.store.append(write))  # held as an attribute
        self._writing.add_done_callback(
            lambda done: self._written(done, batch, row), context=self.context
        )

    def _written(
        self, done: "asyncio.Future[int]", batch: list[tuple[Record, Stored]], row: RunRow | None
    ) -> None:
        # a cancelled write (the loop ends) is one that failed
        self._failed = StoreError("the write was cut off") if done.cancelled() else done.exception()
        if isinstance(self._failed, StoreUnavailable) and self._waits():
            self._failed = None
            again = asyncio.get_running_loop().call_later(
                AGAIN_SECONDS, self._store, batch, row, context=self.context
            )
            self._again = again
            return
        if self._failed is None:
            self._begun, self._since, self.epoch = True, None, done.result()
            for record, event in batch:
                self._told(record, event)
        self._write()

    def _waits(self) -> bool:
        """Whether a store that cannot be written is worth waiting for.

        By a run that was accepted, for a while.
        """
        now = asyncio.get_running_loop().time()
        if self._since is None:
            self._since = now
            log.warning("run %s waits for the store", self.run_id)
        return self._begun and now - self._since < self.patience_seconds

    def _end(self) -> None:
        self._busy = False
        waiting, self._settled = self._settled, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _told(self, record: Record, event: Stored) -> None:
        self.tell(record.seq, record.public)
        for listener in self.listeners:
            listener(self.run_id, event)
