"""What a worker does with a run from the queue: plays it until it ends, pauses or must be left."""

import logging

from crew.config.errors import LostConfiguration
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.records.rows import Opened
from crew.runs.queue import Queue
from crew.runs.run import Run
from crew.runs.runs import Runs

log = logging.getLogger(__name__)

# a run that this worker could not play so often, within a few seconds, is told so: by then another
# one would have it
TELL_AFTER = 3


class Advance:
    """A job: claims the run from the epoch that the job was made for, and plays it."""

    def __init__(self, runs: Runs, queue: Queue) -> None:
        self.runs, self.queue = runs, queue

    async def __call__(self, run_id: str, epoch: int, opened: Opened | None = None) -> None:
        """Return when this process has no more to do with the run; a pause holds nothing.

        `opened`: see `RunClaimer.claim`.
        """
        run = await self._claim(run_id, epoch, opened)
        # not needed any more, for as long as the run takes
        del opened
        while run is not None:
            await run.stopped()
            if not run.journal.has_lost_events or self.runs.draining:
                await self._leave(run, epoch)
                return
            # from what is there, in whichever epoch that is
            run = await self._claim(run_id, None)

    async def _claim(
        self, run_id: str, epoch: int | None, opened: Opened | None = None
    ) -> Run | None:
        try:
            return await self.runs.claim(run_id, epoch, opened)
        except StoreUnavailable as error:
            text = "run %s waits for the store: %s"
            log.warning(text, run_id, error, extra={"run_id": run_id})
        except (StoreError, LostConfiguration) as error:
            if epoch is not None:
                await self._decline(run_id, epoch, error)
        return None

    async def _leave(self, run: Run, epoch: int) -> None:
        is_left = run.executor.state.status == "running" and run.journal.epoch is not None
        if self.runs.draining and is_left:
            # at once, so that no other worker has to find it
            log.info("run %s is left to other workers", run.id, extra={"run_id": run.id})
            await self.queue.put(run.id, run.journal.epoch or epoch, again=True)

    async def _decline(self, run_id: str, epoch: int, error: Exception) -> None:
        decline = self.runs.live.declined.add(run_id)
        if decline.times == 1:
            text = "run %s cannot be resumed here, and is left to other workers: %s"
            log.error(text, run_id, error, extra={"run_id": run_id})
        goes_on: int | None = epoch
        if decline.times >= TELL_AFTER and isinstance(error, LostConfiguration):
            try:
                goes_on = await self.runs.decline(run_id, error, epoch)
            except StoreError as failure:
                text = "run %s cannot be told that nobody can play it: %s"
                log.warning(text, run_id, failure, extra={"run_id": run_id})
        if goes_on is not None:
            await self.queue.put(run_id, goes_on, decline.wait_seconds, again=True)
