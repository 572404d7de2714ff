"""Who listens to which run, and the grace for those who left: a run that nobody listens to any more is cancelled after it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from crew.run import Run
from crew.runs import Runs

log = logging.getLogger(__name__)


class Attendance:
    """Counts the listeners of each run in this process."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.listeners: Counter[str] = Counter()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def total(self) -> int:
        """Listeners of all runs."""
        return self.listeners.total()

    @contextmanager
    def listening(self, run_id: str) -> Iterator[None]:
        """Someone listens to a run; the grace begins when the last one leaves."""
        self.listeners[run_id] += 1
        if (timer := self._timers.pop(run_id, None)) is not None:
            timer.cancel()
        try:
            yield
        finally:
            self.listeners[run_id] -= 1
            if self.listeners[run_id] == 0:
                del self.listeners[run_id]
                run = self.runs.live.get(run_id)
                # -1 lets every run go on to its end
                if run is not None and (grace := run.crew.config.settings.disconnect_grace_seconds) >= 0:
                    loop = asyncio.get_running_loop()
                    self._timers[run_id] = loop.call_later(grace, self._too_long, run, grace)

    def _too_long(self, run: Run, grace: float) -> None:
        del self._timers[run.id]
        # the next stretch of the run, begun by another one's answer, is none of theirs who left
        if self.runs.live.get(run.id) is run and not self.runs.draining:
            log.info("run is cancelled: nobody has listened for %g s", grace, extra={"run_id": run.id})
            run.cancel()
