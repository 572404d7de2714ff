"""From the command line to a live crew and its database."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import typer

from agents.errors import ProviderError
from crew.assembly.recipe import Recipe
from crew.config.errors import ConfigurationError
from crew.config.files.environment import find_secrets, with_stand_ins
from crew.config.files.sources import Sources, read_sources
from crew.crew import Crew, load_crew, load_from
from crew.database import CONNECTIONS, Database, is_shared, open_database, open_store, sqlite_path
from crew.journal.errors import StoreError
from crew.journal.store import RunStore
from crew.runs.runs import Runs
from server.cli.exits import Outlet, fail
from server.settings import ServerSettings
from server.telemetry.logs import log_uncaught, set_up_command_logging, set_up_logging
from server.telemetry.traces.switches import open_tracer
from tools.kinds.command.marks import end_orphans
from tools.text.secrets import Secrets

# what only a server itself needs: a tool that reads the environment must not get it
OWN_SECRETS = ("CREW_API_TOKENS", "CREW_TOKEN")
# that are looked through for one without errors
MOST_REVISIONS = 5


def guard_process(settings: ServerSettings | None = None) -> Secrets:
    """Keep secrets from tools and logs, before any file of a crew is read.

    Args:
        settings: how to log; as a command does unless given.

    Returns:
        What is masked in each line of the log; the secrets of a crew's files belong into it.
    """
    secrets = Secrets()
    find_secrets(os.environ, secrets)
    if settings is None:
        set_up_command_logging(os.environ, secrets)
    else:
        set_up_logging(settings, secrets)
        Outlet.logs = settings.log_format == "json"
    log_uncaught()
    for name in OWN_SECRETS:
        os.environ.pop(name, None)
    return secrets


def load(
    folder: Path,
    provider: str | None,
    *,
    dry: bool = False,
    asks: bool = True,
    needs_variables: bool = True,
    settings: ServerSettings | None = None,
) -> Crew:
    """Load the crew of a folder; from here on the process logs without its secrets.

    Args:
        folder: the crew's.
        provider: replaces that of every agent; an unknown one is a wrong option.
        dry: see `load_crew`.
        asks: models are called; else they need no key.
        needs_variables: a variable that is not set is an error; else it has a stand-in.
        settings: how to log; as a command does unless given.
    """
    secrets = guard_process(settings)
    environment = None if needs_variables else with_stand_ins(os.environ, read_sources(folder))
    try:
        return load_crew(
            folder,
            provider=provider,
            environment=environment,
            dry=dry,
            asks=asks,
            secrets=secrets,
        )
    except ProviderError as error:
        raise typer.BadParameter(str(error), param_hint="--provider") from None


def load_to_look(folder: Path) -> Crew:
    """Load the crew of a folder where nothing is run; see `load_kept`."""
    return asyncio.run(load_kept(folder))


async def load_kept(folder: Path) -> Crew:
    """Load the crew of a folder where nothing is run: no tool is needed, and no variable.

    Where its files have errors, it is the newest revision that is kept and has none.

    Raises:
        ConfigurationError: of the files, where no such revision is kept.
    """
    recipe = Recipe(asks=False, looks=True, secrets=guard_process())
    try:
        return load_from(recipe, read_sources(folder))
    except ConfigurationError as error:
        # where the database cannot be used either, the files are what to mend first
        with contextlib.suppress(StoreError):
            async for number, kept in _kept_revisions(folder):
                with contextlib.suppress(ConfigurationError, ProviderError):
                    crew = load_from(recipe, kept)
                    _say_which(number, error)
                    return crew
        raise


def _say_which(number: int, error: ConfigurationError) -> None:
    problems = sum(one.severity == "error" for one in error.problems)
    count = "an error" if problems == 1 else f"{problems} errors"
    text = f"the files have {count} (crew validate says which): what is kept is read"
    print(f"crew: {text} by revision {number}", file=sys.stderr)


async def _kept_revisions(folder: Path) -> AsyncIterator[tuple[int, Sources]]:
    """Yield the newest revisions of which the files are kept."""
    if not has_store(folder):
        return
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    store = await open_store(url, folder, upgrades=False)
    try:
        for load in await store.revisions.loads(MOST_REVISIONS):
            if (files := await store.revisions.files(load.revision)) is not None:
                yield load.number, Sources.from_json(folder, files)
    finally:
        await store.aclose()


def open_to_look(folder: Path) -> RunStore | None:
    """Open the store of a folder's runs, for who only looks.

    None: there are none, and none is made.

    Raises:
        StoreError: it cannot be opened.
    """
    if not has_store(folder):
        return None
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    return asyncio.run(open_store(url, folder, upgrades=False))


def has_store(folder: Path) -> bool:
    """Return whether a folder has runs, or may have them elsewhere."""
    if not folder.is_dir():
        fail(f"there is no folder {folder}")
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    return bool(url) or (folder / ".crew" / "crew.db").exists()


def keeps_runs(folder: Path) -> bool:
    """Return whether the database of a folder outlives the process."""
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    return is_shared(url) or sqlite_path(url, folder) is not None


def open_runs(crew: Crew, folder: Path) -> Runs:
    """Open the runs of a crew, for a command that starts some; raises StoreError."""
    database = open_for(crew, ServerSettings.read(os.environ, "127.0.0.1", 0), folder)
    database.store.claim_process(serves=False)
    return Runs(crew, database.store, queue=database.queue, tracing=open_tracer(os.environ))


def open_for(crew: Crew, settings: ServerSettings, folder: Path) -> Database:
    """Open the database of a crew; raises StoreError.

    Ends the programs that a server of the folder has left that was killed.
    """
    end_orphans(folder)
    return asyncio.run(opened_database(crew, settings, folder))


async def opened_database(
    crew: Crew, settings: ServerSettings, folder: Path, *, upgrades: bool = True
) -> Database:
    """Open the database of a crew, in the event loop that uses it; raises StoreError.

    `upgrades`: see `open_store`.
    """
    connections = settings.database_connections or CONNECTIONS
    url = settings.database_url
    return await open_database(
        url, folder, crew=crew.name, connections=connections, upgrades=upgrades
    )
