"""Stored runs that nobody plays are claimed: after a crash, by a worker, or only to be ended."""

import logging

from crew.config.errors import LostConfiguration
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.replay import PAGE, replay
from crew.runs.factory import RunFactory
from crew.runs.run import Run

log = logging.getLogger(__name__)


class RunClaimer:
    """Claims `running` runs of the store for this process."""

    def __init__(self, factory: RunFactory) -> None:
        self.factory, self.live, self.store = factory, factory.live, factory.store

    async def claim(self, run_id: str, epoch: int | None = None) -> Run | None:
        """Claim a run and play it. See `Runs.claim`."""
        async with self.factory.lock(run_id):
            run = await self._claim(run_id, epoch, or_current=False)
            if run is not None:
                text = "run %s is resumed here after event %d"
                log.info(text, run_id, run.before, extra={"run_id": run_id})
                run.play()
            return run

    async def end(self, run_id: str) -> Run | None:
        """Claim a run only to cancel it; it needs no crew of its own."""
        async with self.factory.lock(run_id):
            run = await self._claim(run_id, None, or_current=True)
            if run is not None:
                run.cancel()
                run.play()
            return run

    async def recover(self) -> list[Run]:
        """Claim every run that is `running` in the store and not alive here."""
        claimed: list[Run] = []
        after: str | None = None
        while rows := await self.store.rows("running", PAGE, after):
            after = rows[-1].run_id
            # one whose files were not kept is resumed only by a crew of its name
            crew = self.factory.revisions.current
            ours = [row for row in rows if row.revision or row.crew == crew.name]
            recovered = [await self._recover(row.run_id) for row in ours]
            claimed += [run for run in recovered if run is not None]
        return claimed

    async def recover_left(self) -> None:
        """Claim the runs that were left because the store failed."""
        for run_id in list(self.factory.left):
            self.factory.left.discard(run_id)
            await self._recover(run_id)

    async def _recover(self, run_id: str) -> Run | None:
        try:
            return await self.claim(run_id)
        except StoreUnavailable:
            # maintenance tries again
            self.factory.left.add(run_id)
        except (StoreError, LostConfiguration) as error:
            # a run that cannot be read must not keep the others from being resumed
            text = "run %s cannot be resumed: %s"
            log.error(text, run_id, error, extra={"run_id": run_id})
        return None

    async def _claim(self, run_id: str, epoch: int | None, *, or_current: bool) -> Run | None:
        row = await self.store.row(run_id)
        if row is None or row.status != "running":
            return None
        if run_id in self.live or self.live.draining:
            return None
        # a run that cannot be read is not claimed
        crew, state = await self.factory.load(row, or_current=or_current)
        claim = None
        try:
            claim = await self.store.claim(run_id, epoch)
            if claim is not None:
                # what the former writer wrote meanwhile
                await replay(self.store, state)
        except BaseException:
            self.factory.revisions.release(crew)
            raise
        if claim is None:
            self.factory.revisions.release(crew)
            return None
        run = self.factory.make(crew, claim.row, state, claim.epoch, stream=state.deltas)
        self.live.add(run)
        return run
