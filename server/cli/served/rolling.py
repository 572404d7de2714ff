"""The files of a folder, as they were in an earlier revision."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from crew.assembly.recipe import Recipe
from crew.config.errors import ConfigurationError
from crew.config.files.masking import hidden
from crew.config.files.programs import program_digests
from crew.config.files.saving import save_files
from crew.config.files.sources import Sources, read_sources
from crew.config.problems import has_failed
from crew.crew import check
from crew.database import open_store
from crew.journal.records.revisions import Load, Loading
from crew.journal.store import RunStore
from crew.rehearsal.differences.differences import differences
from server.cli.commands.audit import record_action, user_name
from server.cli.exits import fail
from server.cli.opening import has_store
from server.cli.view.differences import document_lines
from server.editing.drafts import KINDS, rolled_back
from server.editing.editor import text_diffs
from server.settings import ServerSettings
from tools.clock import rfc3339
from tools.text.secrets import Secrets


def roll_back_folder(folder: Path, reference: str, why: str) -> list[str]:
    """Write the files of a revision into its folder, and note that it is the current one.

    Returns:
        Files that are no part of a revision, and differ since then.
    """
    loading = Loading("rollback", user_name(), why)
    return asyncio.run(_roll_back(folder, reference, loading))


def changes_of(folder: Path, reference: str) -> list[str]:
    """Return the difference that a rollback would make to a folder, in words and in texts."""
    return asyncio.run(_changes_of(folder, reference))


async def _changes_of(folder: Path, reference: str) -> list[str]:
    async with _opened(folder) as store:
        _, earlier = await _find(store, folder, reference)
    present, secrets = read_sources(folder), Secrets()
    recipe = Recipe(asks=False, looks=True, secrets=secrets)
    both = [recipe.check(one, imports=False) for one in (present, earlier)]
    for one in both:
        for value in one.files.literals.values():
            # of a header, the word behind "Bearer"
            for word in (value, value.split()[-1]):
                secrets.add(word)
    words: list[str] = []
    if not any(has_failed(one.problems) for one in both):
        words = [*document_lines([one.document() for one in differences(*both)])]
    texts = text_diffs(_texts(present), _texts(earlier))
    found = [*words, *(one["diff"] for one in texts)] or ["nothing differs"]
    return [secrets.mask(one) for one in found]


def _texts(sources: Sources) -> dict[str, str]:
    """Return the texts of a revision's files, without secrets, also of those with errors."""
    files = {name: one for name, one in sources.files.items() if KINDS.fullmatch(name)}
    return {name: hidden(name, one.decode(errors="replace")) for name, one in files.items()}


@contextlib.asynccontextmanager
async def _opened(folder: Path) -> AsyncIterator[RunStore]:
    if not has_store(folder):
        fail("no revision is kept yet; crew serve and crew run keep them")
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    store = await open_store(url, folder, upgrades=False)
    try:
        yield store
    finally:
        await store.aclose()


async def _find(store: RunStore, folder: Path, reference: str) -> tuple[Load, Sources]:
    """Find a revision that is kept, and its files; ends the command where there is none."""
    found = await store.revisions.find(reference)
    if len(found) != 1:
        fail(f"revision {reference}: {'several begin so' if found else 'there is none'}")
    files = await store.revisions.files(found[0].revision)
    if files is None:
        fail(f"the files of revision {reference} are no longer kept")
    return found[0], Sources.from_json(folder, files)


async def _roll_back(folder: Path, reference: str, loading: Loading) -> list[str]:
    async with _opened(folder) as store:
        then, earlier = await _find(store, folder, reference)
        draft = rolled_back(read_sources(folder), earlier)
        draft.require_secrets()
        save_files(folder, draft.changed, draft.gone)
        checked = check(folder, imports=False)
        if has_failed(checked.problems):
            # it was served then: a variable is missing, or Python files are other ones
            raise ConfigurationError(checked.problems, checked.files.texts)
        kept = draft.sources.without(checked.files.literals.values())
        now, programs = rfc3339(store.now()), program_digests(kept)
        await store.revisions.keep(kept.revision, kept.to_json(), now)
        warnings = len(checked.problems)
        await store.revisions.note(Load(0, kept.revision, now, loading, warnings, programs))
        await record_action(store, "rollback", None, f"{kept.revision}: {loading.why}")
        names = sorted({*programs, *then.programs})
        return [one for one in names if programs.get(one) != then.programs.get(one)]
