"""The crew of new runs, and earlier ones that older runs keep: a run ends as it was started."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from crew.config.errors import ConfigurationError, LostConfiguration
from crew.config.files.programs import program_digests
from crew.config.files.sources import CREW_FILE, Sources
from crew.config.problems import Problem
from crew.crew import Crew
from crew.journal.records.revisions import RELOADED, Load, Loading
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from tools.abandoned import leave_abandoned
from tools.clock import rfc3339


class Revisions:
    """The crews of one store, by the revision of their files and their provider."""

    def __init__(self, crew: Crew, store: RunStore) -> None:
        """`crew`: for new runs."""
        self.current, self.store = crew, store
        crew.recipe.budget_limits.note(crew.budgets)
        # not noted in the store yet
        self._loading: Loading | None = Loading("start")
        # how many live runs each crew has
        self._users: Counter[Crew] = Counter()
        self._kept: set[str] = set()
        self._closing: set[asyncio.Task[None]] = set()
        # one earlier revision at a time
        self._loads = asyncio.Lock()

    def adopt(self, crew: Crew, loading: Loading = RELOADED) -> None:
        """Use this crew for new runs from now on; `loading`: why."""
        former, self.current = self.current, crew
        crew.recipe.budget_limits.note(crew.budgets)
        self._loading = loading
        self._close_if_unused(former)

    @contextlib.contextmanager
    def released_on_error(self, crew: Crew) -> Iterator[None]:
        """Release a crew where what is done with it fails, or is cancelled."""
        try:
            yield
        except BaseException:
            self.release(crew)
            raise

    async def keep_current(self) -> None:
        """Store the current crew's files, so that a later process can resume its runs.

        Since when they are the current ones is noted, too.

        Raises:
            StoreError
        """
        while (crew := self.current).revision not in self._kept:
            now = rfc3339(self.store.now())
            await self.store.revisions.keep(crew.revision, crew.sources.to_json(), now)
            self._kept.add(crew.revision)
        if (loading := self._loading) is not None:
            self._loading = None
            try:
                now, programs = rfc3339(self.store.now()), program_digests(crew.sources)
                load = Load(0, crew.revision, now, loading, len(crew.warnings), programs)
                await self.store.revisions.note(load)
            except BaseException:
                # also where the request is cancelled meanwhile
                self._loading = self._loading or loading
                raise

    def forget_files(self) -> None:
        """Store the files again with the next run: old revisions are purged."""
        self._kept.clear()

    async def acquire_for(self, row: RunRow, *, or_current: bool = False) -> Crew:
        """Return the crew that a stored run was started with; to be released.

        Args:
            row: of the run.
            or_current: use the current crew if that one cannot be made.

        Raises:
            LostConfiguration: its files make no crew here any more.
            StoreError: the store cannot be read.
        """
        if (found := self._open_one(row)) is not None:
            return self.acquire(found)
        # many runs of one revision need it at once: it is loaded for all of them
        async with self._loads:
            if (found := self._open_one(row)) is not None:
                return self.acquire(found)
            files = await self.store.revisions.files(row.revision) if row.revision else None
            if files is None:
                # a run of a store that kept none is resumed with the files as they are
                return self.acquire(self.current)
            current = self.current
            try:
                sources = _unchanged(current.sources.folder, files, row.revision)
                crew = await asyncio.to_thread(current.load_other, sources, row.provider)
            except ConfigurationError as error:
                if not or_current:
                    raise LostConfiguration(error.problems, error.texts) from error
                crew = self.current
            return self.acquire(crew)

    def _open_one(self, row: RunRow) -> Crew | None:
        """Return the crew of a row's revision and provider where it is open."""
        wanted = (row.revision, row.provider)
        crews = (self.current, *self._users)
        return next((one for one in crews if (one.revision, one.provider) == wanted), None)

    def acquire(self, crew: Crew) -> Crew:
        """Keep the crew open: a run of it is alive, or about to be.

        Raises:
            RuntimeError: the crew is used in another event loop.
        """
        crew.recipe.loop.enter()
        self._users[crew] += 1
        return crew

    def release(self, crew: Crew) -> None:
        """Release a crew that was acquired."""
        self._users[crew] -= 1
        if self._users[crew] == 0:
            del self._users[crew]
            self._close_if_unused(crew)

    async def aclose(self) -> None:
        """Close the current crew, and wait for those that are being closed, and for their tools."""
        await asyncio.gather(self.current.aclose(), *self._closing)
        await leave_abandoned()

    def _close_if_unused(self, crew: Crew) -> None:
        if crew is not self.current and crew not in self._users:
            task = asyncio.ensure_future(crew.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def _unchanged(folder: Path, files: str, revision: str) -> Sources:
    """Return files as they were kept; raises ConfigurationError if they are not the revision's."""
    try:
        sources = Sources.from_json(folder, files)
    except (ValueError, AttributeError):
        sources = Sources(folder, {})
    if sources.revision != revision:
        text = f"the files that the store has as revision {revision} were changed there"
        raise ConfigurationError([Problem(CREW_FILE, 1, 1, "unreadable", text)], {})
    return sources
