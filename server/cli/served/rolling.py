"""The files of a folder, as they were in an earlier revision."""

import asyncio
import os
from pathlib import Path

from crew.config.errors import ConfigurationError
from crew.config.files.programs import program_digests
from crew.config.files.saving import save_files
from crew.config.files.sources import Sources, read_sources
from crew.config.problems import has_failed
from crew.crew import check
from crew.database import open_store
from crew.journal.records.revisions import Load, Loading
from server.cli.commands.audit import record_action, user_name
from server.cli.exits import fail
from server.editing.drafts import rolled_back
from server.settings import ServerSettings
from tools.clock import rfc3339


def roll_back_folder(folder: Path, reference: str, why: str) -> list[str]:
    """Write the files of a revision into its folder, and note that it is the current one.

    Returns:
        Files that are no part of a revision, and differ since then.
    """
    loading = Loading("rollback", user_name(), why)
    return asyncio.run(_roll_back(folder, reference, loading))


async def _roll_back(folder: Path, reference: str, loading: Loading) -> list[str]:
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    store = await open_store(url, folder, upgrades=False)
    try:
        found = await store.revisions.find(reference)
        if len(found) != 1:
            fail(f"revision {reference}: {'several begin so' if found else 'there is none'}")
        files = await store.revisions.files(found[0].revision)
        if files is None:
            fail(f"the files of revision {reference} are no longer kept")
        draft = rolled_back(read_sources(folder), Sources.from_json(folder, files))
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
        names = sorted({*programs, *found[0].programs})
        return [one for one in names if programs.get(one) != found[0].programs.get(one)]
    finally:
        await store.aclose()
