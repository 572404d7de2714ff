"""Reads the crew's files again while it serves; new runs get a good edit, none a broken one."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from crew.config.errors import ConfigurationError
from crew.config.files.sources import CREW_FILE, read_sources
from crew.config.files.yaml_reader import read
from crew.config.problems import Problem
from crew.config.report import problems_document
from crew.crew import Crew
from crew.journal.errors import StoreError
from crew.journal.records.revisions import RELOADED, Loading
from crew.runs.errors import Draining
from crew.runs.memory.vectors import require_extension
from crew.runs.runs import Runs
from crew.runs.upkeep.gate import Gate, OpenGate
from tools.clock import rfc3339

log = logging.getLogger(__name__)
# files that change while they are checked are checked again, so often at most
TRIES = 3


class ReloadListener(Protocol):
    """Learns how reloads end, such as the metrics."""

    def adopt(self, crew: Crew) -> None:
        """Use this crew for new runs."""
        ...

    def fail_reload(self) -> None:
        """Note that the files have errors; nothing has changed."""
        ...


@dataclass(frozen=True, slots=True)
class Reload:
    """The newest reload: when (RFC 3339, UTC), and why it failed, if it did."""

    at: str
    problems: Sequence[Problem] = ()


class Reloader:
    """Gives new runs the crew of the newest files without errors."""

    def __init__(self, runs: Runs, listener: ReloadListener, gate: Gate | None = None) -> None:
        """`gate`: what new files must pass; all pass unless given."""
        self.runs, self.listener, self.gate = runs, listener, gate or OpenGate()
        self.loaded_at = self._now()
        self.last = Reload(self.loaded_at)
        self._lock = asyncio.Lock()

    def _now(self) -> str:
        return rfc3339(self.runs.store.now())

    async def reload(self, why: str, *, force: bool = False, loading: Loading = RELOADED) -> bool:
        """Read the files; returns whether new runs get something else now.

        Args:
            why: the cause, for the log.
            force: whatever the gate says.
            loading: noted with the revision.

        Raises:
            ConfigurationError: they have errors; the crew stays as it is.
            Draining: this process is going down.
            StoreError: the store has not what the crew needs.
        """
        async with self._lock:
            return await self._reload(why, loading, force=force)

    async def save(self, write: Callable[[], Awaitable[None]], why: str, loading: Loading) -> bool:
        """Write files that were checked, and read them, without another reload between.

        Args:
            write: writes the files; what it raises goes on, and nothing is read.
            why: the cause, for the log.
            loading: noted with the revision.

        Raises:
            The same as `reload`.
        """
        async with self._lock:
            await write()
            return await self._reload(why, loading, force=True)

    async def _reload(self, why: str, loading: Loading, *, force: bool) -> bool:
        if self.runs.draining:
            raise Draining
        current = self.runs.crew
        try:
            crew = await self._load(current, force=force)
        except ConfigurationError as error:
            self._fail(error, why, current.revision)
            raise
        await require_extension(self.runs.store, crew)
        self.runs.adopt(crew, loading)
        self.listener.adopt(crew)
        self.loaded_at = self._now()
        self.last = Reload(self.loaded_at)
        text = "reloaded (%s): revision %s, %d warnings"
        log.info(text, why, crew.revision, len(crew.warnings))
        # the next run does it, where the store fails now
        with contextlib.suppress(StoreError):
            await self.runs.revisions.keep_current()
        await self.runs.documents.sync()
        return crew.revision != current.revision

    async def _load(self, current: Crew, *, force: bool) -> Crew:
        """Return the crew of the newest files, which have passed the gate.

        The gate looks at the folder, so that what it has seen must be what was read.
        """
        for _ in range(TRIES):
            crew = await asyncio.to_thread(current.load_again)
            if self.runs.store.shared:
                _refuse_another_name(crew, current.name)
            if force or crew.config.reload_gate is None:
                return crew
            if refusals := await self.gate.refusals(crew):
                raise ConfigurationError(refusals, {})
            seen = await asyncio.to_thread(read_sources, crew.sources.folder)
            if seen.revision == crew.revision:
                return crew
        text = f"the files were changed while they were checked, {TRIES} times"
        raise ConfigurationError([Problem(CREW_FILE, 1, 1, "reload-gate", text)], {})

    def _fail(self, error: ConfigurationError, why: str, revision: str) -> None:
        self.last = Reload(self._now(), error.problems)
        self.listener.fail_reload()
        # one line each; what the files say is not repeated in the log
        errors = [problem for problem in error.problems if problem.severity == "error"]
        for p in errors:
            log.error("%s:%d:%d: error[%s]: %s", p.file, p.line, p.column, p.code, p.message)
        text = "not reloaded (%s): %d errors; revision %s stays"
        log.error(text, why, len(errors), revision)

    def summary(self) -> dict[str, Any]:
        """Return what is loaded, and whether the newest files could be; without the problems."""
        last = {"successful": not self.last.problems, "at": self.last.at}
        return {
            "revision": self.runs.crew.revision,
            "loaded_at": self.loaded_at,
            "last_reload": last,
        }

    def details(self) -> dict[str, Any]:
        """Return the same with all problems, for those who may see the crew."""
        summary = self.summary()
        last = {**summary["last_reload"], **problems_document(self.last.problems)}
        return {**summary, "last_reload": last}


def _refuse_another_name(crew: Crew, name: str) -> None:
    """Refuse another name, as a start does: a shared database has the runs of one crew."""
    if crew.name == name:
        return
    file = crew.sources.find(CREW_FILE) or CREW_FILE
    document = read(file, crew.sources.files[file])
    text = f"the database has the runs of the crew {name!r}: give another crew its own database"
    raise ConfigurationError(
        [document.problem(("name",), "bad-value", text)], {file: document.text}
    )
