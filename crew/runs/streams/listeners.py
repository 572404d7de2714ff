"""Who listens to which run; one that was left is cancelled after `disconnect_grace_seconds`."""

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
from tools.clock import Timer

log = logging.getLogger(__name__)

# how often processes that share a store announce their listeners, and how long that holds
ANNOUNCE_SECONDS = 5.0
ANNOUNCED_SECONDS = 15.0
# after so long those of all processes are announced
SURELY_ANNOUNCED_SECONDS = 2 * ANNOUNCE_SECONDS


@dataclass(slots=True)
class Listening:
    """A client that listens to a run."""

    # the segment's end was sent, so no client misses it
    over: bool = False


class Listeners:
    """Counts the listeners of each run in this process; asks the store about other processes."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.store = runs, runs.store
        self.clock = runs.crew.clock
        self.counts: Counter[str] = Counter()
        # this process, among those that share the store
        self.process = secrets.token_hex(8)
        # runs whose starter listened: what was started without a listener needs none
        self._needed: set[str] = set()
        # the graces that run: of runs of this process, and of others
        self._timers: dict[str, Timer] = {}
        self._waits: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def total(self) -> int:
        """Listeners of all runs."""
        return self.counts.total()

    @contextmanager
    def listen(self, run_id: str, *, needed: bool) -> Iterator[Listening]:
        """Listen to a run; where it needs listeners, the grace begins when the last one leaves.

        Args:
            run_id: the run.
            needed: who listens has started it; False for who only looks at it.
        """
        self.counts[run_id] += 1
        grace = self._timers.pop(run_id, None) or self._waits.pop(run_id, None)
        if grace is not None:
            grace.cancel()
        if needed or grace is not None:
            self._needed.add(run_id)
        if self.store.shared and self.counts[run_id] == 1 and self._is_asked_soon(run_id):
            self._start_task(self._announce([run_id]))
        listening = Listening()
        try:
            yield listening
        finally:
            self.counts[run_id] -= 1
            if listening.over:
                # who looks on is not needed by the next segment
                self._needed.discard(run_id)
            if self.counts[run_id] == 0:
                del self.counts[run_id]
                if run_id in self._needed:
                    self._needed.remove(run_id)
                    self._begin_grace(run_id)

    def _is_asked_soon(self, run_id: str) -> bool:
        """Return whether a run's listeners may be looked for before all are announced by time."""
        grace = self.runs.live.grace_of(run_id)
        return grace is None or 0 <= grace < SURELY_ANNOUNCED_SECONDS

    async def announce(self) -> None:
        """Announce the listeners of this process to others, until this is cancelled."""
        while True:
            await self.clock.sleep(ANNOUNCE_SECONDS)
            if self.counts:
                await self._announce(list(self.counts))

    def _begin_grace(self, run_id: str) -> None:
        run = self.runs.live.get(run_id)
        if run is None:
            if self.store.shared:
                task = self._waits[run_id] = self._start_task(self._wait_out_grace(run_id))
                task.add_done_callback(lambda done: self._forget_wait(run_id, done))
            return
        grace = run.crew.config.settings.disconnect_grace_seconds
        if grace >= 0:
            end = self.clock.call_later(grace, lambda: self._end_grace(run, grace))
            self._timers[run_id] = end

    def _forget_wait(self, run_id: str, done: asyncio.Task[None]) -> None:
        if self._waits.get(run_id) is done:
            del self._waits[run_id]

    def _end_grace(self, run: Run, grace: float) -> None:
        del self._timers[run.id]
        # the run's next segment, started by another answer, has its own listeners
        if self.runs.live.get(run.id) is run and not self.runs.draining:
            _log_abandoned(run.id, grace)
            run.cancel("abandoned")

    async def _wait_out_grace(self, run_id: str) -> None:
        """Wait for a run that another process plays; a third one may have listeners of it."""
        await self.store.announce_listeners(self.process, [run_id], 0.0)
        row = await self.runs.row(run_id)
        if row.status != "running":
            return
        crew = await self.runs.revisions.acquire_for(row, or_current=True)
        grace = crew.config.settings.disconnect_grace_seconds
        self.runs.revisions.release(crew)
        if grace < 0:
            return
        await self.clock.sleep(grace)
        while await self.store.has_listeners(run_id, self.process):
            # that process ends the run by itself, unless it dies
            await self.clock.sleep(ANNOUNCED_SECONDS)
        now = await self.runs.row(run_id)
        same = (now.status, now.request_id) == ("running", row.request_id)
        if same and run_id not in self.counts and not self.runs.draining:
            _log_abandoned(run_id, grace)
            await self.runs.cancel(run_id, reason="abandoned")

    async def _announce(self, run_ids: list[str]) -> None:
        # what fails now is announced again soon
        with contextlib.suppress(CrewError):
            await self.store.announce_listeners(self.process, run_ids, ANNOUNCED_SECONDS)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def guarded() -> None:
            # a run that is gone, or a store that fails: then the run goes on to its end
            with contextlib.suppress(CrewError):
                await work

        # in a context of its own: it belongs to no one request
        task = asyncio.create_task(guarded(), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _log_abandoned(run_id: str, grace: float) -> None:
    text = "run is cancelled: nobody has listened for %g s"
    log.info(text, grace, extra={"run_id": run_id})
