"""What a worker does with a run from the queue: plays it until it ends, pauses or must be left."""

import logging
from collections import Counter

from crew.config.errors import LostConfiguration
from crew.journal.errors import StoreError, StoreUnavailable
from crew.runs.queue import Queue
from crew.runs.runs import Runs

log = logging.getLogger(__name__)

# until a run that cannot be resumed here is tried again: soon, for another worker may have what it
# needs, then doubled each time up to the longest
RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 8.0
MAX_REMEMBERED = 10_000


class Advance:
    """A job: claims the run from the epoch that the job was made for, and plays it."""

    def __init__(self, runs: Runs, queue: Queue) -> None:
        self.runs, self.queue = runs, queue
        # how often each run could not be resumed here
        self._declined: Counter[str] = Counter()

    async def __call__(self, run_id: str, epoch: int) -> None:
        """Return when this process has no more to do with the run; a pause holds nothing."""
        about_run = {"run_id": run_id}
        try:
            run = await self.runs.claim(run_id, epoch)
        except StoreUnavailable as error:
            log.warning("run %s waits for the store: %s", run_id, error, extra=about_run)
            return
        except (StoreError, LostConfiguration) as error:
            await self._decline(run_id, epoch, error)
            return
        if run is None:
            return
        await run.stopped()
        is_left = run.executor.state.status == "running" and run.journal.epoch is not None
        if self.runs.draining and is_left:
            # at once, so that no other worker has to find it
            log.info("run %s is left to other workers", run_id, extra=about_run)
            await self.queue.put(run_id, run.journal.epoch or epoch)

    async def _decline(self, run_id: str, epoch: int, error: Exception) -> None:
        times = self._declined[run_id]
        if times == 0:
            text = "run %s cannot be resumed here, and is left to other workers: %s"
            log.error(text, run_id, error, extra={"run_id": run_id})
        if len(self._declined) > MAX_REMEMBERED:
            self._declined.clear()
        self._declined[run_id] = times + 1
        wait = min(RETRY_SECONDS * 2 ** min(times, 10), LONGEST_RETRY_SECONDS)
        await self.queue.put(run_id, epoch, wait)
