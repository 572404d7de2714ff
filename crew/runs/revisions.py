"""The crew that new runs are given, and the earlier ones that older runs keep.

A run ends as it was started.
"""

import asyncio
from collections import Counter

from crew.config.sources import Sources
from crew.crew import Crew
from crew.errors import ConfigurationError, LostConfiguration
from crew.journal.store import RunStore


class Revisions:
    """The crews of one store, by the revision of their files."""

    def __init__(self, crew: Crew, store: RunStore) -> None:
        """`crew`: for new runs."""
        self.current, self.store = crew, store
        # how many live runs each crew has
        self._runs: Counter[Crew] = Counter()
        self._kept: set[str] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def adopt(self, crew: Crew) -> None:
        """From now on new runs get this crew."""
        former, self.current = self.current, crew
        self._close_unused(former)

    async def keep(self) -> None:
        """See to it that runs with the current crew can go on in a later process.

        Raises StoreError.
        """
        while (crew := self.current).revision not in self._kept:
            await self.store.keep_revision(crew.revision, crew.sources.packed())
            self._kept.add(crew.revision)

    async def take(self, revision: str, *, or_current: bool = False) -> Crew:
        """The crew that a stored run was started with, held until it is released.

        Args:
            revision: of the run.
            or_current: take the current crew if that one cannot be made.

        Raises:
            LostConfiguration: its files no longer make a crew here.
            StoreError: the store cannot be read.
        """
        for crew in (self.current, *self._runs):
            if crew.revision == revision:
                return self.hold(crew)
        files = await self.store.revision(revision) if revision else None
        # a run of a store that kept none goes on with the files as they are
        if files is None:
            return self.hold(self.current)
        current = self.current
        try:
            crew = await asyncio.to_thread(
                current.recipe.load, Sources.unpacked(current.sources.folder, files)
            )
        except ConfigurationError as error:
            if not or_current:
                raise LostConfiguration(error.problems, error.texts) from error
            crew = self.current
        return self.hold(crew)

    def hold(self, crew: Crew) -> Crew:
        """A run of this crew is alive, or about to be; so the crew stays open."""
        self._runs[crew] += 1
        return crew

    def release(self, crew: Crew) -> None:
        """What `hold` was for is over."""
        self._runs[crew] -= 1
        if self._runs[crew] == 0:
            del self._runs[crew]
            self._close_unused(crew)

    async def aclose(self) -> None:
        """Close the current crew, and wait for those that are being closed."""
        await asyncio.gather(self.current.aclose(), *self._closing)

    def _close_unused(self, crew: Crew) -> None:
        if crew is not self.current and crew not in self._runs:
            task = asyncio.ensure_future(crew.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
