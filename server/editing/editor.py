"""Checks, writes and takes back a crew's files, while the crew is served."""

import asyncio
import contextlib
import difflib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from crew.assembly.checked import Checked
from crew.config.errors import ConfigurationError
from crew.config.files.masking import hidden
from crew.config.files.programs import program_digests
from crew.config.files.saving import HIDDEN, save_files
from crew.config.files.sources import Sources, read_sources
from crew.config.fixes import fix
from crew.config.problems import has_failed
from crew.config.routing_plan import entry_point, routing_of
from crew.crew import Crew
from crew.journal.errors import StoreError
from crew.journal.records.notices import plain_notices
from crew.journal.records.revisions import Load, Loading
from crew.rehearsal.differences.differences import Difference, differences
from crew.routing.graph import RoutingGraph
from crew.routing.render import RENDERERS
from crew.runs.runs import Runs
from crew.runs.upkeep.gate import Gate
from crew.runs.upkeep.reload import Reloader
from server.authoring.folders import CrewView, view_sources
from server.editing.drafts import FilesDraft, make_draft, rolled_back, shown_files
from server.editing.errors import (
    FolderReadOnly,
    NotCurrent,
    TooManyChecks,
    UnknownRevision,
    WiderReach,
)
from server.editing.reach import wider_reach
from server.settings import EditMode
from tools.clock import rfc3339

# checks at the same time, and with those that wait for one
CHECKS_AT_ONCE, MAX_CHECKS = 4, 20
# of a copy that the gate looks at
NOT_COPIED = shutil.ignore_patterns(HIDDEN, ".git", ".venv", "node_modules", "__pycache__")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """What a draft would come to."""

    checked: Checked
    differences: tuple[Difference, ...]
    # of those, what is not allowed here
    refused: tuple[Difference, ...]
    # texts of files as `validate --fix` would write them
    fixes: Mapping[str, str]
    graph: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Saved:
    """What was written."""

    load: Load
    changed: bool
    differences: tuple[Difference, ...]
    # files that are no part of a revision, and differ since that one
    others: tuple[str, ...] = ()


class Editor:
    """Of one process, which has the crew's folder."""

    def __init__(self, runs: Runs, reloader: Reloader, gate: Gate, mode: EditMode) -> None:
        """`gate`: looks at the folder of changed files where crew.yaml has a `reload_gate`."""
        self.runs, self.reloader, self.gate, self.mode = runs, reloader, gate, mode
        self._places, self._checking = asyncio.Semaphore(CHECKS_AT_ONCE), 0

    @property
    def crew(self) -> Crew:
        """The crew as it is served."""
        return self.runs.crew

    async def present(self) -> Sources:
        """Return the files of the folder as they are now."""
        return await asyncio.to_thread(read_sources, self.crew.sources.folder)

    def read_only(self) -> str:
        """Return why nothing can be written; "" if it can."""
        folder = self.crew.sources.folder
        for one in (folder, folder / "agents", folder / HIDDEN):
            if one.exists() and not os.access(one, os.W_OK | os.X_OK):
                return f"the folder {one.name} cannot be written by the server"
        return ""

    async def check(self, files: Mapping[str, str], gone: Collection[str] = ()) -> CheckedDraft:
        """Check files that are not written.

        Args:
            files: texts by name.
            gone: names of files that would not be there.

        Raises:
            WrongFile, TooManyChecks
        """
        return await self._look(files, gone, self._check_draft)

    async def view(self, files: Mapping[str, str], gone: Collection[str] = ()) -> CrewView:
        """Return files that are not written as an editor asks about them; raises as `check`."""
        return await self._look(files, gone, lambda draft: view_sources(draft.sources))

    @contextlib.asynccontextmanager
    async def copied(
        self, files: Mapping[str, str], gone: Collection[str] = ()
    ) -> AsyncIterator[Path]:
        """Make a folder with files that are not written, for as long as the block lasts.

        Raises:
            WrongFile, TooManyChecks
            ConfigurationError: they have errors.
            WiderReach: they would let the server do more, so nothing of them may be run.
        """
        draft, checked = await self._look(
            files, gone, lambda draft: (draft, self._check_draft(draft))
        )
        _require_allowed(checked)
        async with _copied(draft) as folder:
            yield folder

    async def _look(
        self,
        files: Mapping[str, str],
        gone: Collection[str],
        look: Callable[[FilesDraft], T],
    ) -> T:
        """Look at files that are not written, a few at the same time."""
        if self._checking >= MAX_CHECKS:
            raise TooManyChecks
        self._checking += 1
        try:
            async with self._places:
                present, mask = await self.present(), self.crew.secrets.mask
                draft = await asyncio.to_thread(make_draft, present, files, gone, mask)
                return await asyncio.to_thread(look, draft)
        finally:
            self._checking -= 1

    async def save(
        self, base: str, files: Mapping[str, str], gone: Collection[str], loading: Loading
    ) -> Saved:
        """Write files as a whole, and serve new runs with them.

        Args:
            base: the revision that they were made from.
            files: texts by name.
            gone: names of files to delete.
            loading: noted with the new revision.

        Raises:
            WrongFile, NotCurrent, WiderReach, FolderReadOnly: nothing was changed.
            ConfigurationError: they have errors, or do not pass the gate; nothing was changed.
            Draining, StoreError
        """
        return await self._write(
            base, lambda present: make_draft(present, files, gone, self.crew.secrets.mask), loading
        )

    async def roll_back(self, reference: str, base: str | None, by: str, why: str) -> Saved:
        """Write the files of an earlier revision, as a new one.

        Args:
            reference: the number of a revision, or the beginning of its hash.
            base: the current revision, if it must be that.
            by: who does it.
            why: in words.

        Raises:
            UnknownRevision, and what `save` raises.
        """
        load, sources = await self.revision(reference)
        saved = await self._write(
            base or self.crew.revision,
            lambda present: rolled_back(present, sources),
            Loading("rollback", by, why),
        )
        now = await asyncio.to_thread(program_digests, self.crew.sources)
        names = sorted({*now, *load.programs})
        others = tuple(one for one in names if now.get(one) != load.programs.get(one))
        return replace(saved, others=others)

    async def revision(self, reference: str) -> tuple[Load, Sources]:
        """Return a revision and its files; raises UnknownRevision, StoreError."""
        found = await self.runs.store.revisions.find(reference)
        if len(found) != 1:
            why = "several begin so" if found else "there is no such revision"
            raise UnknownRevision(f"revision {reference}: {why}")
        files = await self.runs.store.revisions.files(found[0].revision)
        if files is None:
            raise UnknownRevision(f"the files of revision {reference} are no longer kept")
        return found[0], Sources.from_json(self.crew.sources.folder, files)

    def check_stored(self, sources: Sources) -> Checked:
        """Check the files of a revision, without importing anything."""
        return self.crew.recipe.check(sources, imports=False, literals=self.crew.literals)

    async def _write(
        self, base: str, make: Callable[[Sources], FilesDraft], loading: Loading
    ) -> Saved:
        if reason := self.read_only():
            raise FolderReadOnly(reason)
        checks: list[CheckedDraft] = []

        async def write() -> None:
            present = await self.present()
            await self._require_current(base, present)
            draft = make(present)
            draft.require_secrets()
            checked = await asyncio.to_thread(self._check_draft, draft)
            _require_allowed(checked)
            await self._require_gate(draft)
            checks.append(checked)
            folder = draft.sources.folder
            if not (draft.changed or draft.gone):
                return
            try:
                await asyncio.to_thread(save_files, folder, draft.changed, draft.gone)
            except OSError as error:
                raise FolderReadOnly(f"the files cannot be written: {error.strerror}") from None

        changed = await self.reloader.save(write, f"{loading.source} by {loading.by}", loading)
        loads = await self.runs.store.revisions.loads(1)
        await self._tell(loads[0], checks[0], loading)
        return Saved(loads[0], changed, checks[0].differences)

    async def _require_current(self, base: str, present: Sources) -> None:
        """Raise NotCurrent unless the base is served, and the folder has it."""
        crew = self.crew
        shown = shown_files(present)
        if base != crew.revision:
            files = await self.runs.store.revisions.files(base)
            then = Sources.from_json(crew.sources.folder, files) if files is not None else None
            before = shown_files(then) if then is not None else {}
            text = (
                f"the files were changed meanwhile: revision {crew.revision} is served, not {base}"
            )
            raise NotCurrent(text, crew.revision, list(_both(before, shown)))
        checked = await asyncio.to_thread(crew.recipe.check, present, imports=False)
        if present.without(checked.files.literals.values()).revision != crew.revision:
            text = (
                "the folder has files that are not served: they were edited there; mend and reload "
                "them, or go back on the server's machine: crew rollback REV DIR --why TEXT"
            )
            raise NotCurrent(text, crew.revision, list(_both(shown_files(crew.sources), shown)))

    def _check_draft(self, draft: FilesDraft) -> CheckedDraft:
        recipe = self.crew.recipe
        checked = recipe.check(draft.sources, imports=False)
        checked = replace(checked, problems=(*draft.problems, *checked.problems))
        fixed = fix(draft.sources)
        fixes = {
            name: hidden(name, content.decode("utf-8-sig"))
            for name, content in fixed.files.items()
            if content != draft.sources.files[name]
        }
        if has_failed(checked.problems):
            return CheckedDraft(checked, (), (), fixes, None)
        then = self.check_stored(self.crew.sources)
        found = tuple(differences(then, checked))
        refused = () if self.mode == "all" else tuple(wider_reach(then, checked))
        if not refused:
            # what it names is known already, so that looking at it runs nothing new
            checked = recipe.check(draft.sources)
        files = checked.files
        routing = routing_of(files, {**checked.tools.names, **files.tools})
        graph = json.loads(RENDERERS["json"](RoutingGraph.of(routing, entry_point(files)), ()))
        return CheckedDraft(checked, found, refused, fixes, graph)

    async def _require_gate(self, draft: FilesDraft) -> None:
        """Raise ConfigurationError unless the files pass the gate of the crew."""
        if self.crew.config.reload_gate is None:
            return
        async with _copied(draft) as copy:
            crew = replace(self.crew, sources=replace(draft.sources, folder=copy))
            if refusals := await self.gate.refusals(crew):
                raise ConfigurationError(refusals, {})

    async def _tell(self, load: Load, draft: CheckedDraft, loading: Loading) -> None:
        """Tell the channels that want to know of changed files."""
        crew, store = self.crew, self.runs.store
        lines = [f"{loading.by or 'a person'}: {loading.why}"]
        lines += [f"{'⚠ ' if one.is_more else ''}{one.text}" for one in draft.differences]
        key, at = f"changed:{load.number}:{load.revision}", rfc3339(store.now())
        notices = plain_notices(crew.config.told, "changed", crew.name, key, at, "\n".join(lines))
        with contextlib.suppress(StoreError):
            await store.outbox.add(notices)


def _require_allowed(checked: CheckedDraft) -> None:
    """Raise ConfigurationError or WiderReach for files that must not be served, or run."""
    if has_failed(checked.checked.problems):
        raise ConfigurationError(checked.checked.problems, checked.checked.files.texts)
    if checked.refused:
        raise WiderReach(checked.refused)


@contextlib.asynccontextmanager
async def _copied(draft: FilesDraft) -> AsyncIterator[Path]:
    """Make a folder with a draft, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="crew-") as made:
        copy = Path(made) / "crew"
        await asyncio.to_thread(_copy, draft, copy)
        yield copy


def text_diffs(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield a unified diff of each file that differs."""
    for name in sorted({*then, *now}):
        old, new = then.get(name, ""), now.get(name, "")
        if old != new:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, name, lineterm=""
            )
            yield {"path": name, "diff": "\n".join(lines)}


def _both(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            yield {"path": name, "base_text": then.get(name), "text": now.get(name)}


def _copy(draft: FilesDraft, to: Path) -> None:
    """Copy a crew's folder as it would be with the files of a draft."""
    shutil.copytree(draft.sources.folder, to, symlinks=True, ignore=NOT_COPIED)
    save_files(to, draft.changed, draft.gone)
