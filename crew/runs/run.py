"""A run that is alive in this process: its task, its outcome, and how to end it."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from crew.crew import Crew
from crew.engine.executor import CrewExecutor
from crew.journal.errors import LostRun, StoreError
from crew.journal.events import CancelReason
from crew.journal.records.rows import RunRow
from crew.journal.writer import Journal
from crew.runs.streams.tail import Tail

log = logging.getLogger(__name__)

MISTAKE = "the runtime made a mistake; the server's log has it under this run's id"


class Run:
    """One segment of a run, from its start or its resumption to its end or its next pause."""

    def __init__(
        self,
        run_id: str,
        crew: Crew,
        executor: CrewExecutor,
        journal: Journal,
        tail: Tail,
        slot: AbstractAsyncContextManager[None],
        on_stop: "Callable[[Run], None]",
    ) -> None:
        """A segment that does not go on yet.

        Args:
            run_id: the run.
            crew: the one it was started with.
            executor: its loop.
            journal: its events.
            tail: the newest of them.
            slot: is there while it is at work.
            on_stop: called when the segment has ended.
        """
        self.id, self.crew, self.executor, self.journal = run_id, crew, executor, journal
        self.tail, self._slot, self._on_stop = tail, slot, on_stop
        # the number of the last event before this segment
        self.before = journal.seq
        self._cancelled: CancelReason | None = None
        self._leaving = False
        self._playing = False
        self._task: asyncio.Task[RunRow] | None = None

    def play(self) -> None:
        """Run the loop, in a task of its own."""
        context = self.journal.context
        if (tracing := self.journal.outlets.tracing) is not None:
            tracing.follow(self.id, self.before, self.executor.row.revision)
        self._task = asyncio.create_task(self._play(), name=f"run {self.id}", context=context)
        # its error is logged where it happens, and raised to who waits for the outcome
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    @property
    def is_played_here(self) -> bool:
        """Whether this process plays it."""
        return self._task is not None

    async def outcome(self) -> RunRow:
        """Wait for the end or the next pause; raises StoreError if the store failed.

        Only of a run that is played here; `Runs.outcome` is for any, also one that waits.
        """
        assert self._task is not None, "only of runs that are played here"
        return await asyncio.shield(self._task)

    def cancel(self, reason: CancelReason = "cancelled") -> None:
        """End the run, with its model call and tools; does nothing if it has ended."""
        if self._task is not None and self._task.done():
            return
        self._cancelled = reason
        self.leave()

    def leave(self) -> None:
        """Stop the loop and leave the run `running` in the store, for the next process."""
        if self._task is not None and self._playing and not self._leaving:
            self._task.cancel()
        # a task that is cancelled before its first step would never run; so it checks this then
        self._leaving = True

    async def stopped(self) -> None:
        """Wait until the loop has stopped, however it does."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _play(self) -> RunRow:
        self._playing = True
        try:
            if self._leaving:
                raise asyncio.CancelledError
            if self.executor.state.status != "running":
                # it failed before it could be at work
                return await self.executor.run()
            async with self._slot:
                self.journal.begin_active_time()
                return await self.executor.run()
        except asyncio.CancelledError:
            if self._cancelled is None:
                await self._release()
                raise
            self.executor.cancel(self._cancelled)
        except Exception as error:
            cause = _first_cause(error)
            if isinstance(cause, StoreError):
                self._log_store_error(cause)
                raise cause from error
            log.exception("run %s failed by a mistake of the runtime", self.id)
            self.executor.fail("internal", MISTAKE)
        finally:
            try:
                await self._settled()
            finally:
                self.tail.lost = self.journal.has_lost_events
                self.tail.close()
                self._on_stop(self)
        return self.executor.row

    async def _release(self) -> None:
        """Release the run: the next process may claim it as often as this one could."""
        if self.journal.epoch is None:
            return
        with contextlib.suppress(StoreError):
            await self.journal.outlets.store.release(self.id, self.journal.epoch)

    def _log_store_error(self, error: StoreError) -> None:
        if isinstance(error, LostRun):
            log.warning("run %s stops here: %s", self.id, error)
        else:
            log.error("run %s cannot be stored and stops here: %s", self.id, error)

    async def _settled(self) -> None:
        """Wait until what was recorded is stored."""
        with contextlib.suppress(StoreError):
            await self.journal.settled()


def _first_cause(error: Exception) -> Exception:
    """Return the first error in a task group's bundle of them."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def new_run_id(now: datetime) -> str:
    """Return 32 hex digits: the time in milliseconds, so that ids sort by it, then random ones."""
    return f"{int(now.timestamp() * 1000):012x}{secrets.token_hex(10)}"
