"""Runs are ended: here at once, elsewhere by a request that the other process applies."""

import asyncio
import contextlib
import logging

from crew.errors import CrewError
from crew.journal.errors import StoreUnavailable
from crew.journal.events import CancelReason
from crew.journal.records.rows import RunRow
from crew.runs.claims import RunClaimer
from crew.runs.errors import Draining, NotPaused, RunEnded, UnknownRun
from crew.runs.factory import RunFactory
from crew.runs.starter import RunStarter

log = logging.getLogger(__name__)


class RunCanceller:
    """Cancels runs, wherever they are played."""

    def __init__(self, factory: RunFactory, starter: RunStarter, claimer: RunClaimer) -> None:
        self.live, self.store, self.queue = factory.live, factory.store, factory.queue
        self.starter, self.claimer = starter, claimer

    async def cancel(
        self, run_id: str, request_id: str = "", reason: CancelReason = "cancelled"
    ) -> None:
        """End a run. See `Runs.cancel`."""
        requested = False
        while not self._cancel_here(run_id, reason):
            if (run := self.live.get(run_id)) is not None:
                # its end or pause is being stored
                await run.stopped()
            row = await self._open_row(run_id, requested=requested)
            if row is None:
                return
            if not self.store.alone():
                # for a paused run too: another process may resume it before it has ended here
                await self.store.request_cancellation(run_id, reason)
                requested = True
            if row.status == "running" and await self._is_played_elsewhere(run_id):
                return
            # whatever happens meanwhile is looked at again
            with contextlib.suppress(NotPaused):
                # what has been claimed is ended, even if the caller goes away meanwhile
                await asyncio.shield(asyncio.ensure_future(self._end(row, request_id, reason)))
                return

    async def apply_cancellations(self) -> None:
        """End the runs that other processes have requested to end."""
        for cancellation in await self.store.cancellations():
            row, reason = cancellation.row, cancellation.reason
            run_id = row.run_id
            ours = run_id in self.live or row.status == "paused"
            if not ours and await self._is_played_elsewhere(run_id):
                continue
            try:
                await self.cancel(run_id, reason=reason)
            except StoreUnavailable:
                raise
            except (RunEnded, UnknownRun, Draining):
                continue
            except CrewError as error:
                # a run that cannot be read must not keep the others waiting
                log.debug("run %s cannot be ended: %s", run_id, error, extra={"run_id": run_id})

    def _cancel_here(self, run_id: str, reason: CancelReason) -> bool:
        run = self.live.get(run_id)
        if run is None or run.executor.state.status != "running":
            return False
        run.cancel(reason)
        return True

    async def _open_row(self, run_id: str, *, requested: bool) -> RunRow | None:
        """Return the row of a run that has not ended.

        None if another process has ended it on request.
        """
        if self.live.draining:
            raise Draining
        row = await self.store.row(run_id)
        if row is None:
            raise UnknownRun(run_id)
        if requested and row.status == "cancelled":
            return None
        if row.status not in ("running", "paused"):
            raise RunEnded(f"run {run_id} is {row.status}")
        return row

    async def _is_played_elsewhere(self, run_id: str) -> bool:
        """Return whether another process plays a run that is not alive here."""
        if self.queue is None:
            return not self.store.alone()
        return await self.queue.is_played(run_id)

    async def _end(self, row: RunRow, request_id: str, reason: CancelReason) -> None:
        """Resume or claim a run that is not alive, only to end it; raises NotPaused."""
        if row.status == "paused":
            run = await self.starter.end_paused(row.run_id, request_id, reason)
        else:
            claimed = await self.claimer.end(row.run_id, reason)
            if claimed is None:
                raise NotPaused
            run = claimed
        await run.stopped()
