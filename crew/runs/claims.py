"""Stored runs that are not played are claimed: after a crash, by a worker, or to be ended.

A run may be what ended its process. So one that lost its process in the middle of a tool call, or
that was claimed before without progress, is claimed alone: until it gets on, nothing else is.
"""

import asyncio
import logging
from datetime import timedelta

from agents.events import Warned
from crew.config.errors import LostConfiguration
from crew.crew import Crew
from crew.journal.errors import StoreError, StoreUnavailable
from crew.journal.events import CancelReason, Unplayable
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import FIRST_EPOCH, PAGE, Opened, RunRow
from crew.journal.replay import replay
from crew.journal.state import RunState
from crew.runs.factory import RunFactory
from crew.runs.run import Run
from tools.clock import rfc3339

log = logging.getLogger(__name__)

# how long the others wait for a run that is claimed alone and does not get on
ALONE_SECONDS = 2.0


class RunClaimer:
    """Claims `running` runs of the store for this process."""

    def __init__(self, factory: RunFactory) -> None:
        self.factory, self.live, self.store = factory, factory.live, factory.store
        # held while a run is claimed, and by one that is claimed alone
        self._turn = asyncio.Lock()
        self._ending_turns: set[asyncio.Task[None]] = set()
        # runs that wait until they may be at work, to be claimed then
        self._in_line: dict[str, asyncio.Task[None]] = {}

    async def claim(
        self,
        run_id: str,
        epoch: int | None = None,
        opened: Opened | None = None,
        *,
        has_slot: bool = False,
    ) -> Run | None:
        """Claim a run that no process plays, and play it; None if it is played, or has ended.

        Args:
            run_id: the run.
            epoch: claim it only if it is in this one.
            opened: all that the epoch's writer wrote; it is read unless given.
            has_slot: it need not wait for one.

        Raises:
            LostConfiguration: what it was started with makes no crew here any more.
            StoreError: the store fails, or has events that cannot be read.
        """
        async with self.factory.lock(run_id):
            run = await self._claim(run_id, epoch, opened, has_slot=has_slot)
            if run is not None:
                self.live.declined.discard(run_id)
                text = "run %s is resumed here after event %d"
                log.info(text, run_id, run.before, extra={"run_id": run_id})
            return run

    async def end(self, run_id: str, reason: CancelReason) -> Run | None:
        """Claim a run only to end it; it needs no crew of its own."""
        async with self.factory.lock(run_id):
            return await self._claim(run_id, None, ends=reason)

    async def find(self) -> None:
        """Find the runs that are `running` in the store, to be claimed by `recover`."""
        after: str | None = None
        while rows := await self.store.rows(RunFilter("running"), PAGE, after):
            after = rows[-1].run_id
            # one whose files were not kept is resumed only by a crew of its name
            crew = self.factory.revisions.current
            ours = {row.run_id for row in rows if row.revision or row.crew == crew.name}
            self.live.left |= {run_id for run_id in ours if run_id not in self.live}

    async def recover(self) -> list[Run]:
        """Claim the runs that were found, that were left since the store failed, or that waited."""
        recovered = await self._recover_in_line()
        if not self.live.left:
            return recovered
        claims = await self.store.claims(list(self.live.left))
        # first what may end this process again, so that the others need not be claimed once more
        in_order = sorted(self.live.left, key=lambda run_id: (-claims.get(run_id, 0), run_id))
        found = [await self._recover(run_id) for run_id in in_order]
        return [*recovered, *(run for run in found if run is not None)]

    async def _recover_in_line(self) -> list[Run]:
        """Claim those that waited for another run of their conversation, and wait no more."""
        if not self.live.in_line:
            return []
        waiting = await self.store.conversations.waiting(list(self.live.in_line))
        recovered = []
        for run_id in sorted(self.live.in_line - waiting):
            # another process may have resumed it, which is not to be done again
            try:
                run = await self.claim(run_id, FIRST_EPOCH)
            except StoreUnavailable:
                continue
            except (StoreError, LostConfiguration):
                # told, and tried again, as any other
                self.live.left.add(run_id)
                run = None
            self.live.in_line.discard(run_id)
            if run is not None:
                recovered.append(run)
        return recovered

    def stop_waiting(self) -> None:
        """Leave the runs that wait until they may be at work to the next process."""
        for task in self._in_line.values():
            task.cancel()

    async def _recover(self, run_id: str) -> Run | None:
        """Claim a run, if it may be at work now; else it waits for that, and is claimed then."""
        if run_id in self._in_line or not self.live.declined.is_due(run_id):
            return None
        try:
            row = await self.store.row(run_id)
        except StoreUnavailable:
            # it is tried again
            return None
        except StoreError as error:
            self._give_up(run_id, error)
            return None
        if row is not None and row.conversation_id and await self._is_in_line(row):
            return None
        if row is None or self.factory.slots.has_room(row.owner):
            return await self._recover_now(run_id)
        # claimed while it waits, it would count as one that gets on with nothing
        waiting = asyncio.create_task(self._recover_in_turn(row))
        self._in_line[run_id] = waiting
        waiting.add_done_callback(lambda _: self._in_line.pop(run_id))
        return None

    async def _is_in_line(self, row: RunRow) -> bool:
        """Return whether a run waits for another one of its conversation.

        Also if that is not known.
        """
        try:
            return bool(await self.store.conversations.waiting([row.run_id]))
        except StoreError:
            return True

    async def _recover_in_turn(self, row: RunRow) -> None:
        async with self.factory.slots.slot(row):
            run = await self._recover_now(row.run_id, has_slot=True)
            if run is not None:
                await run.stopped()

    async def _recover_now(self, run_id: str, *, has_slot: bool = False) -> Run | None:
        run: Run | None = None
        try:
            run = await self.claim(run_id, has_slot=has_slot)
        except StoreUnavailable:
            # it is tried again
            return None
        except LostConfiguration as error:
            # as is this: its files may come back
            if await self._is_declined(run_id, error):
                return None
        except StoreError as error:
            self._give_up(run_id, error)
        self.live.left.discard(run_id)
        return run

    async def _is_declined(self, run_id: str, error: LostConfiguration) -> bool:
        """Return whether a run waits for what it was started with."""
        if self.live.declined.add(run_id).times == 1:
            self._log_declined(run_id, error)
        try:
            return await self.decline(run_id, error) is not None
        except StoreUnavailable:
            return True
        except StoreError as failure:
            self._give_up(run_id, failure)
            return False

    def _give_up(self, run_id: str, error: StoreError) -> None:
        """Give up a run that cannot be read, so that it keeps no other from being resumed."""
        self._log_declined(run_id, error)
        self.live.left.discard(run_id)

    async def decline(
        self, run_id: str, why: LostConfiguration, epoch: int | None = None
    ) -> int | None:
        """Record that a run cannot be played here; fail it when that has lasted too long.

        Args:
            run_id: the run.
            why: what `claim` raised.
            epoch: that the run is in.

        Returns:
            The epoch in which it goes on waiting (0 if `epoch` is not known); None if it does not.

        Raises:
            StoreError: the store fails, or has events that cannot be read.
        """
        async with self.factory.lock(run_id):
            opened = await self.store.opened(run_id)
            if opened is None or opened.row.status != "running":
                self.live.declined.discard(run_id)
                return None
            crew, state = await self.factory.load(opened, or_current=True)
            now = self.store.now()
            run: Run | None = None
            try:
                if state.unplayable_until is not None and rfc3339(now) < state.unplayable_until:
                    return epoch or 0
                run = await self._claim_loaded(crew, state, epoch)
            finally:
                if run is None:
                    self.factory.revisions.release(crew)
            if run is None:
                return None
            if self.factory.queue is None:
                # those who follow it must not take it for one that is no longer played
                self.live.left.add(run_id)
            self._tell(run, why)
            run.play()
            await run.stopped()
            return run.journal.epoch if run.executor.state.status == "running" else None

    def _tell(self, run: Run, why: LostConfiguration) -> None:
        seconds = self.factory.revisions.current.config.settings.unplayable_after_seconds
        first = next(one for one in why.problems if one.severity == "error")
        reason = f"{first.file}:{first.line}: {first.message}"
        if run.executor.state.unplayable_until is None:
            until = rfc3339(self.store.now() + timedelta(seconds=seconds))
            text = f"no process that has tried can play this run, which fails at {until}: {reason}"
            run.executor.warn(Unplayable(until, text))
            run.tail.goes_on = True
            run.leave()
        else:
            text = f"nobody could play this run for {seconds:g} s (unplayable_after_seconds): "
            run.executor.fail("unplayable", text + reason)

    async def _claim(
        self,
        run_id: str,
        epoch: int | None,
        known: Opened | None = None,
        ends: CancelReason | None = None,
        *,
        has_slot: bool = False,
    ) -> Run | None:
        """Claim a run and play it, or end it if there is a reason to; None: not claimed.

        `known`: see `claim`, `opened`.
        """
        opened = known or await self.store.opened(run_id)
        if opened is None or opened.row.status != "running":
            return None
        # one that cannot be read is not claimed, unless to end it
        crew, state = await self.factory.load(opened, ends=ends is not None)
        run: Run | None = None
        try:
            is_alone = ends is None and await self._may_end_the_process(state, epoch)
            await self._turn.acquire()
            try:
                run = await self._claim_loaded(
                    crew, state, epoch, is_whole=known is not None, has_slot=has_slot
                )
                if run is not None:
                    if ends is not None:
                        run.cancel(ends)
                    run.play()
            finally:
                if run is None or not is_alone:
                    self._turn.release()
            if run is not None and is_alone:
                self._end_turn_later(run)
        finally:
            if run is None:
                self.factory.revisions.release(crew)
        return run

    async def _may_end_the_process(self, state: RunState, epoch: int | None) -> bool:
        # calls have started that have no result yet
        if any(branch.started_calls for branch in state.branches):
            return True
        # of its first epoch, it has never been claimed
        return epoch != FIRST_EPOCH and bool(await self.store.claims([state.run_id]))

    async def _claim_loaded(
        self,
        crew: Crew,
        state: RunState,
        epoch: int | None,
        *,
        is_whole: bool = False,
        has_slot: bool = False,
    ) -> Run | None:
        """Claim a run that was read; `is_whole`: the state is all that the epoch's writer wrote."""
        run_id = state.run_id
        if run_id in self.live or self.live.draining:
            return None
        claim = await self.store.claim(run_id, epoch)
        if claim is None:
            return None
        if not is_whole:
            # what the former writer wrote meanwhile
            await replay(self.store, state)
        run = self.factory.make(
            crew,
            claim.row,
            state,
            claim.epoch,
            stream=state.deltas,
            claims=claim.claims,
            has_slot=has_slot,
        )
        if (published := self.factory.lost.pop(run_id, 0)) > state.seq:
            text = (
                "the database came back without its last commits: of this run it has lost events "
                f"{state.seq + 1} to {published}; the run goes on after event {state.seq}"
            )
            run.executor.warn(Warned("events_lost", text))
        self.live.add(run)
        return run

    def _log_declined(self, run_id: str, error: Exception) -> None:
        text = "run %s cannot be resumed: %s"
        log.error(text, run_id, error, extra={"run_id": run_id})

    def _end_turn_later(self, run: Run) -> None:
        task = asyncio.create_task(self._end_turn(run), context=run.journal.context)
        self._ending_turns.add(task)
        task.add_done_callback(self._ending_turns.discard)

    async def _end_turn(self, run: Run) -> None:
        """End a run's turn when it has got on: one event more, or its end."""
        try:
            async with self.factory.clock.timeout(ALONE_SECONDS):
                await run.tail.more()
        except TimeoutError:
            log.debug("run %s has not got on yet; the others go on", run.id)
        finally:
            self._turn.release()
