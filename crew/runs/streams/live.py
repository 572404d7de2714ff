"""The runs that are alive in this process, and the tails of those that others play."""

import asyncio
import contextlib
import contextvars
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import anyio

from crew.journal.errors import StoreError
from crew.journal.store import RunStore
from crew.runs.declined import Declined
from crew.runs.run import Run
from crew.runs.streams.remote import RemoteTail
from crew.runs.streams.tail import Tail
from tools.clock import Clock

# how often the store is asked where the runs are that others play, even without a notice
LOOK_SECONDS = 1.0
# how long the tail of a run that was given to others is kept though it has no follower
EXPECT_SECONDS = 5.0


class LiveRuns:
    """A registry by run id."""

    def __init__(self, store: RunStore, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._runs: dict[str, Run] = {}
        self._tails: dict[str, RemoteTail] = {}
        self._looking: asyncio.Task[None] | None = None
        # this process takes no new runs
        self.draining = False
        # runs that go on and that this process is still to claim
        self.left: set[str] = set()
        # runs that were started here, and wait for another one of their conversation
        self.in_line: set[str] = set()
        self.declined = Declined(clock)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, run_id: str) -> Run | None:
        """Return the run, if it is alive here."""
        return self._runs.get(run_id)

    def all(self) -> list[Run]:
        """Return all of them."""
        return list(self._runs.values())

    def add(self, run: Run) -> None:
        """Add a run that is alive from now on."""
        self._runs[run.id] = run
        self.left.discard(run.id)

    async def drain(self, seconds: float) -> None:
        """Give those alive some time, then leave the rest as stored."""
        with anyio.move_on_after(seconds):
            for run in self.all():
                await run.stopped()
            for tail in self.remote_tails():
                await tail.stopped()
        for run in self.all():
            run.leave()
            run.journal.stop_waiting()
        for tail in self.remote_tails():
            tail.close()
        for run in self.all():
            await run.stopped()

    def remove(self, run: Run) -> None:
        """Remove a run that is alive no more; another segment of it stays."""
        if self._runs.get(run.id) is run:
            del self._runs[run.id]

    def is_played_by_others(self, run_id: str) -> bool:
        """Return whether a running run is, or will be, played though it is not alive here yet."""
        if run_id in self._runs:
            return False
        return run_id in self.left | self.in_line or not self.store.alone()

    def remote_tails(self) -> list[RemoteTail]:
        """Return the tails of runs that other processes play."""
        return list(self._tails.values())

    def has_tail_after(self, run_id: str, seq: int) -> bool:
        """Return whether a tail has, or will have, what comes after an event."""
        return self._tail_after(run_id, seq) is not None

    @contextmanager
    def remote_tail(self, run_id: str, after: int) -> Iterator[Tail]:
        """Yield the tail of a run that another process plays, shared by all who use it."""
        remote = self._tail_after(run_id, after)
        if remote is None:
            remote = self._add_tail(run_id, Tail(self.clock, after))
        with self._in_use(remote):
            yield remote.tail

    @contextmanager
    def _in_use(self, remote: RemoteTail) -> Iterator[None]:
        remote.users += 1
        try:
            yield
        finally:
            remote.users -= 1
            if remote.users == 0:
                remote.close()
                if self._tails.get(remote.run_id) is remote:
                    # at once, so that the next user gets a new one
                    del self._tails[remote.run_id]

    def expect(self, run: Run) -> None:
        """Go on with the tail of a run that others are about to play, before anyone follows it."""
        # it may have a follower already
        remote = self._tail_after(run.id, run.before) or self._add_tail(run.id, run.tail)
        remote.grace_seconds = run.crew.config.settings.disconnect_grace_seconds
        waiting = ExitStack()
        waiting.enter_context(self._in_use(remote))
        # of the event loop: a rehearsal's clock has nothing to do with other processes
        asyncio.get_running_loop().call_later(EXPECT_SECONDS, waiting.close)

    def grace_of(self, run_id: str) -> float | None:
        """Return the `disconnect_grace_seconds` of a run that was started here; None: not known."""
        remote = self._tails.get(run_id)
        return remote.grace_seconds if remote is not None else None

    def _add_tail(self, run_id: str, tail: Tail) -> RemoteTail:
        remote = RemoteTail(self.store, run_id, tail, self.is_played_by_others)
        self._tails[run_id] = remote
        self._begin_to_look()
        return remote

    def _begin_to_look(self) -> None:
        if self._looking is None or self._looking.done():
            # in a context of its own: it belongs to no one request
            self._looking = asyncio.create_task(self._look(), context=contextvars.Context())

    async def _look(self) -> None:
        """Look from time to time where the runs are that are followed here: all at once."""
        while self._tails:
            await self.clock.sleep(LOOK_SECONDS)
            tails = list(self._tails.items())
            # a store that fails is asked again
            with contextlib.suppress(StoreError):
                newest = await self.store.newest([run_id for run_id, _ in tails])
                for run_id, remote in tails:
                    remote.look(newest.get(run_id))

    def _tail_after(self, run_id: str, seq: int) -> RemoteTail | None:
        """Return the tail that has what comes after an event; one of an earlier segment has not."""
        remote = self._tails.get(run_id)
        if remote is None or remote.tail.lost:
            return None
        return None if remote.tail.closed and seq >= remote.tail.seq else remote
