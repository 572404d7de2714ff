"""What a worker does with a run that waits.

Goes on with it until it has ended or is paused, or must be left.
"""

import logging
from collections import Counter

from crew.errors import LostConfiguration, StoreError, StoreUnavailable
from crew.runs.runs import Runs
from crew.runs.starter import Queue

log = logging.getLogger(__name__)

# until a run is tried again that cannot go on here: soon, for another worker may have what it
# needs, then ever later
LATER_SECONDS = 1.0
LATEST_SECONDS = 8.0
MOST_DECLINED = 10_000


class Advance:
    """A job: takes the run from the epoch that the job was made for, and plays it."""

    def __init__(self, runs: Runs, queue: Queue) -> None:
        self.runs, self.queue = runs, queue
        # how often each run could not go on here
        self._declined: Counter[str] = Counter()

    async def __call__(self, run_id: str, epoch: int) -> None:
        """Returns when this process has no more to do with the run.

        Nothing is held while it is paused.
        """
        try:
            run = await self.runs.take_up(run_id, epoch)
        except StoreUnavailable as error:
            log.warning("run %s waits for the store: %s", run_id, error, extra={"run_id": run_id})
            return
        except (StoreError, LostConfiguration) as error:
            await self._decline(run_id, epoch, error)
            return
        if run is None:
            return
        await run.stopped()
        if (
            self.runs.draining
            and run.executor.state.status == "running"
            and run.journal.epoch is not None
        ):
            # at once, so that no other worker has to find it
            log.info("run %s is handed over", run_id, extra={"run_id": run_id})
            await self.queue.put(run_id, run.journal.epoch)

    async def _decline(self, run_id: str, epoch: int, error: Exception) -> None:
        times = self._declined[run_id]
        if times == 0:
            log.error(
                "run %s cannot go on here, and is left to other workers: %s",
                run_id,
                error,
                extra={"run_id": run_id},
            )
        if len(self._declined) > MOST_DECLINED:
            self._declined.clear()
        self._declined[run_id] = times + 1
        await self.queue.put(
            run_id, epoch, min(LATER_SECONDS * 2 ** min(times, 10), LATEST_SECONDS)
        )
