"""Who listens to which run, and the grace for those who left.

A run that nobody listens to any more is cancelled after it.
"""

import asyncio
import contextlib
import contextvars
import logging
import secrets
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from crew.errors import CrewError
from crew.runs.run import Run
from crew.runs.runs import Runs

log = logging.getLogger(__name__)

# how often processes that share a store tell it who listens, and how long that holds
TELL_SECONDS = 5.0
HOLDS_SECONDS = 15.0


@dataclass(slots=True)
class Listening:
    """Someone listens to a run."""

    # what there was to hear has been heard, so nobody misses it
    over: bool = False


class Attendance:
    """Counts the listeners of each run in this process.

    Where others may have some, it asks the store.
    """

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.listeners: Counter[str] = Counter()
        # this process, among those that share the store
        self.place = secrets.token_hex(8)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def total(self) -> int:
        """Listeners of all runs."""
        return self.listeners.total()

    @contextmanager
    def listening(self, run_id: str) -> Iterator[Listening]:
        """Someone listens to a run; the grace begins when the last one leaves."""
        self.listeners[run_id] += 1
        if (timer := self._timers.pop(run_id, None)) is not None:
            timer.cancel()
        if self.runs.store.shared and self.listeners[run_id] == 1:
            self._do(self._tell([run_id]))
        listening = Listening()
        try:
            yield listening
        finally:
            self.listeners[run_id] -= 1
            if self.listeners[run_id] == 0:
                del self.listeners[run_id]
                if not listening.over:
                    self._left(run_id)

    async def tell(self) -> None:
        """Keep telling the other processes who listens here, until this is cancelled."""
        while True:
            await asyncio.sleep(TELL_SECONDS)
            if self.listeners:
                await self._tell(list(self.listeners))

    def _left(self, run_id: str) -> None:
        run = self.runs.live.get(run_id)
        # -1 lets every run go on to its end
        if run is not None and (grace := run.crew.config.settings.disconnect_grace_seconds) >= 0:
            loop = asyncio.get_running_loop()
            self._timers[run_id] = loop.call_later(grace, self._too_long, run, grace)
        elif run is None and self.runs.store.shared:
            self._do(self._grace_elsewhere(run_id))

    def _too_long(self, run: Run, grace: float) -> None:
        del self._timers[run.id]
        # the next stretch of the run, begun by another one's answer, is none of theirs who left
        if self.runs.live.get(run.id) is run and not self.runs.draining:
            log.info(
                "run is cancelled: nobody has listened for %g s", grace, extra={"run_id": run.id}
            )
            run.cancel()

    async def _grace_elsewhere(self, run_id: str) -> None:
        """The same for a run that another process plays; a third one may have listeners of it."""
        await self.runs.store.attend(self.place, [run_id], 0.0)
        row = await self.runs.row(run_id)
        if row.status != "running":
            return
        crew = await self.runs.revisions.take(row.revision, or_current=True)
        grace = crew.config.settings.disconnect_grace_seconds
        self.runs.revisions.release(crew)
        if grace < 0:
            return
        await asyncio.sleep(grace)
        while await self.runs.store.attended(run_id, self.place):  # noqa: ASYNC110 # another process decides it
            # by a process that sees to it itself, unless it dies
            await asyncio.sleep(HOLDS_SECONDS)
        now = await self.runs.row(run_id)
        same = (now.status, now.request_id) == ("running", row.request_id)
        if same and run_id not in self.listeners and not self.runs.draining:
            log.info(
                "run is cancelled: nobody has listened for %g s", grace, extra={"run_id": run_id}
            )
            await self.runs.cancel(run_id)

    async def _tell(self, run_ids: list[str]) -> None:
        # what is not told now is told a moment later
        with contextlib.suppress(CrewError):
            await self.runs.store.attend(self.place, run_ids, HOLDS_SECONDS)

    def _do(self, doing: Coroutine[Any, Any, None]) -> None:
        async def done() -> None:
            # a run that has gone, or a store that fails: then it goes on to its end
            with contextlib.suppress(CrewError):
                await doing

        # of no one request
        task = asyncio.create_task(done(), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
