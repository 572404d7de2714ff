"""The API of a folder, in this process: what a server of it would answer."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from crew.journal.records.audit import LOCAL
from server.cli.commands.audit import user_name
from server.cli.opening import has_store, load_kept, opened_database
from server.cli.served.api import LOCAL_URL
from server.cli.served.in_process import InProcessTransport
from server.client.client import CrewClient
from server.http.api import OPERATIONS
from server.http.app import build_app
from server.http.operations import routes_of
from server.http.services import Services
from server.settings import ServerSettings
from server.tokens import Caller, Token, Tokens


class _OwnToken(Tokens):
    """Lets in the user of the machine, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.anonymous = Token(bytes(32), Caller(name=user_name()))


@contextlib.asynccontextmanager
async def local_client(folder: Path) -> AsyncIterator[CrewClient]:
    """Open the store of a folder, if it has one, and answer requests; no run is played."""
    settings = replace(ServerSettings.read(os.environ, "127.0.0.1", 0), tokens=_OwnToken())
    if not has_store(folder):
        # to look makes no database: there is nothing to list but what the files have
        settings = replace(settings, database_url="memory:")
    crew = await load_kept(folder)
    services = Services.of(crew, await opened_database(crew, settings, folder, upgrades=False))
    app = build_app([*routes_of(OPERATIONS)], services, settings, {})
    async with app.router.lifespan_context(app):
        transport = InProcessTransport(app, (LOCAL, 0))
        async with CrewClient(LOCAL_URL, transport=transport, patience_seconds=0) as client:
            yield client
