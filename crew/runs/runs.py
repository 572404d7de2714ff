"""The runs of a crew: taken up where nobody has them, ended.

And left in good order when the process goes.
"""

import asyncio
import contextlib
import logging
from types import TracebackType

import anyio

from crew.errors import (
    CrewError,
    Draining,
    LostConfiguration,
    NotPaused,
    RunEnded,
    StoreError,
    StoreUnavailable,
    UnknownRun,
)
from crew.journal.query import Query
from crew.journal.replay import recall
from crew.journal.store import RunRow
from crew.runs.remote import PAGE
from crew.runs.run import Run
from crew.runs.starter import RunStarter

log = logging.getLogger(__name__)


class Runs(RunStarter):
    """A crew's runs, kept in a store; use it as an async context manager.

    The runs belong to this object, not to whoever started or follows them. Leaving it stops those
    that still go on and
    leaves them `running` in the store.
    """

    async def __aenter__(self) -> "Runs":
        if self.queue is not None:
            await self.queue.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self.drain(0)
            await self.revisions.aclose()
            await self.store.aclose()
            if self.queue is not None:
                await self.queue.__aexit__(kind, error, trace)

    async def recover(self) -> list[Run]:
        """Take up every run that is `running` in the store and not alive here.

        For a process that has the store alone.
        """
        taken: list[Run] = []
        after: str | None = None
        while rows := await self.store.rows("running", PAGE, after):
            after = rows[-1].run_id
            # one whose files were not kept goes on only with a crew of its name
            ours = [row for row in rows if row.revision or row.crew == self.crew.name]
            taken += [run for row in ours if (run := await self._recovered(row.run_id)) is not None]
        return taken

    async def recover_left(self) -> None:
        """Take up the runs that were left because the store failed."""
        for run_id in list(self.left):
            self.left.discard(run_id)
            await self._recovered(run_id)

    async def _recovered(self, run_id: str) -> Run | None:
        try:
            return await self.take_up(run_id)
        except StoreUnavailable:
            # tried again by and by
            self.left.add(run_id)
        except (StoreError, LostConfiguration) as error:
            # one that cannot be read must not keep the others from going on
            log.error(
                "run %s cannot be taken up again: %s", run_id, error, extra={"run_id": run_id}
            )
        return None

    async def take_up(self, run_id: str, epoch: int | None = None) -> Run | None:
        """Go on here with a run that nobody has; None if somebody has it, or it does not go on.

        Args:
            run_id: the run.
            epoch: take it only from that one; see RunStore.take.

        Raises:
            LostConfiguration: what it was started with makes no crew here any more.
            StoreError: the store fails, or has events that cannot be read.
        """
        async with self._one_at_a_time(run_id):
            run = await self._taken(run_id, epoch)
            if run is not None:
                log.info(
                    "run %s goes on here behind event %d",
                    run_id,
                    run.before,
                    extra={"run_id": run_id},
                )
                run.start()
            return run

    async def _taken(
        self, run_id: str, epoch: int | None = None, *, or_current: bool = False
    ) -> Run | None:
        """A running run that this process writes from now on."""
        row = await self.store.row(run_id)
        if run_id in self.live or row is None or row.status != "running" or self.draining:
            return None
        # what cannot be read is not taken
        crew, state, seq = await self._stored(row, or_current=or_current)
        try:
            taken = await self.store.take(run_id, epoch)
            if taken is None:
                self.revisions.release(crew)
                return None
            # what whoever had it wrote meanwhile
            seq = await recall(self.store, state, seq)
        except BaseException:
            self.revisions.release(crew)
            raise
        run = self.live[run_id] = self._made(
            crew, taken.row, state, seq, taken.epoch, stream=state.deltas
        )
        return run

    async def cancel(self, run_id: str, request_id: str = "") -> None:
        """End a run: one that is running here or paused, or nobody's, at once.

        Another process is asked to.

        Raises:
            UnknownRun, RunEnded, Draining, StoreError
        """
        asked = False
        while True:
            run = self.live.get(run_id)
            if run is not None and run.executor.state.status == "running":
                run.cancel()
                return
            if run is not None:
                # its end or pause is being stored
                await run.stopped()
            if self.draining:
                raise Draining
            row = await self.row(run_id)
            if asked and row.status == "cancelled":
                # another process has heeded it
                return
            if row.status not in ("running", "paused"):
                raise RunEnded(f"run {run_id} is {row.status}")
            if not self.store.alone():
                # also of a paused one, should another process take it up before it has ended here
                await self.store.ask_to_cancel(run_id)
                asked = True
            if row.status == "running" and not await self._idle(run_id):
                return
            # what happened meanwhile is looked at again
            with contextlib.suppress(NotPaused):
                run = await asyncio.shield(asyncio.ensure_future(self._ended(row, request_id)))
                await run.stopped()
                return

    async def heed(self) -> None:
        """End the runs that other processes were asked to end.

        As far as that is this one's matter.
        """
        for row in await self.store.to_cancel():
            if row.run_id in self.live or row.status == "paused" or await self._idle(row.run_id):
                try:
                    await self.cancel(row.run_id)
                except StoreUnavailable:
                    raise
                except (RunEnded, UnknownRun, Draining):
                    continue
                except CrewError as error:
                    # one that cannot be read must not keep the others waiting
                    log.debug(
                        "run %s cannot be ended: %s",
                        row.run_id,
                        error,
                        extra={"run_id": row.run_id},
                    )

    async def _idle(self, run_id: str) -> bool:
        """Whether no process plays a run."""
        return self.store.alone() if self.queue is None else not await self.queue.has(run_id)

    async def _ended(self, row: RunRow, request_id: str) -> Run:
        """A run that is not alive, taken up only to be ended; it needs no crew of its own."""
        if row.status == "paused":
            return await self._resume(row.run_id, Query(""), request_id, ending=True)
        async with self._one_at_a_time(row.run_id):
            run = await self._taken(row.run_id, or_current=True)
            if run is None:
                raise NotPaused
            run.cancel()
            run.start()
            return run

    async def drain(self, seconds: float) -> None:
        """Take no new runs, give those alive some time.

        Then leave the rest as the store has them.
        """
        self.draining = True
        with anyio.move_on_after(seconds):
            for run in list(self.live.values()):
                await run.stopped()
            for mirror in list(self.mirrors.values()):
                await mirror.stopped()
        for run in list(self.live.values()):
            run.leave()
            run.journal.hurry()
        for mirror in list(self.mirrors.values()):
            mirror.close()
        for run in list(self.live.values()):
            await run.stopped()
