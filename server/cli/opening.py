"""From the command line to a live crew and its database."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from agents.errors import ProviderError
from crew.crew import Crew, load_crew
from crew.database import CONNECTIONS, Database, open_database, open_store
from crew.journal.store import RunStore
from crew.runs.runs import Runs
from server.cli.exits import fail
from server.settings import ServerSettings
from tools.kinds.command.marks import end_orphans

Provider = Annotated[
    str | None,
    typer.Option(
        help="Use this provider for every agent: scripted, openai, ollama, or one of crew.yaml's."
    ),
]


def hide_tokens() -> None:
    """Take the server's tokens out of the environment, before any file of tools is run."""
    os.environ.pop("CREW_API_TOKENS", None)


def load(folder: Path, provider: str | None, *, dry: bool = False) -> Crew:
    """The crew of a folder; an unknown provider is a wrong option. `dry`: see `load_crew`."""
    hide_tokens()
    try:
        return load_crew(folder, provider=provider, dry=dry)
    except ProviderError as error:
        raise typer.BadParameter(str(error), param_hint="--provider") from None


def open_to_look(folder: Path) -> RunStore | None:
    """The store of a folder's runs, for who only looks; None: there are none, and none is made.

    Raises:
        StoreError: it cannot be opened.
    """
    if not folder.is_dir():
        fail(f"there is no folder {folder}")
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    if not url and not (folder / ".crew" / "crew.db").exists():
        return None
    return asyncio.run(open_store(url, folder))


def open_runs(crew: Crew, folder: Path) -> Runs:
    """The runs of a crew, for a command that starts some; raises StoreError."""
    database = open_for(crew, ServerSettings.read(os.environ, "127.0.0.1", 0), folder)
    database.store.claim_process(serves=False)
    return Runs(crew, database.store, queue=database.queue)


def open_for(crew: Crew, settings: ServerSettings, folder: Path) -> Database:
    """The database of a crew; raises StoreError.

    Ends the programs that a server of the folder has left that was killed.
    """
    end_orphans(folder)
    connections = settings.database_connections or CONNECTIONS
    opening = open_database(settings.database_url, folder, crew=crew.name, connections=connections)
    return asyncio.run(opening)
