"""The commands that serve and play runs: serve, worker."""

import importlib
import os
import secrets
import signal
import sys
from dataclasses import replace
from types import ModuleType
from typing import Annotated

import typer

from crew.database import is_shared
from server.cli.exits import HERE, Folder, print_problems
from server.cli.opening import load, open_for
from server.cli.options import Provider
from server.errors import SettingsError
from server.settings import ServerSettings

Host = Annotated[
    str, typer.Option(help="Address to listen on; any but loopback needs CREW_API_TOKENS.")
]
PORT_HELP = "Port to listen on; 0 takes a free one."


def serve(
    folder: Folder = HERE,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help=PORT_HELP, min=0, max=65535)] = 8080,
    provider: Provider = None,
    reload: Annotated[
        bool,
        typer.Option("--reload", help="Watch the crew's files; new runs get what they then say."),
    ] = False,
    token: Annotated[
        bool,
        typer.Option("--token", help="Make a token for this server, and print a link with it."),
    ] = False,
) -> None:
    """Serve a crew over HTTP: SSE streams, JSON, metrics and a web console.

    Example: [bold]crew serve examples/it-support --port 9000[/]
    """
    environment = dict(os.environ)
    made = secrets.token_urlsafe(24) if token else ""
    if token:
        given = environment.get("CREW_API_TOKENS", "")
        environment["CREW_API_TOKENS"] = f"{given},{made}"
    settings = ServerSettings.read(environment, host, port, terminal=sys.stderr.isatty())
    # until there is something to reload; by default it ends the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = load(folder, provider, settings=settings)
    print_problems(crew.warnings, {})
    process, http, protocols = _import_web("process.serve", "http.app", "protocols.doors")
    doors = protocols.open_doors(settings)
    watch = _import_watch().watch if reload else None
    # first of all, so that no run is resumed by a server that cannot serve
    listener = process.listen(settings)
    settings = replace(settings, port=listener.getsockname()[1])
    database = open_for(crew, settings, folder)
    if token:
        shown = f"[{host}]" if ":" in host else host
        link = f"http://{shown}:{settings.port}/?token={made}"
        print(f"open {link}", file=sys.stderr)
    process.run_server(
        http.build_server(crew, database, settings, watch, doors), settings, listener
    )


def worker(
    folder: Folder = HERE,
    at_once: Annotated[
        int, typer.Option(help="How many runs it plays at the same time.", min=1, max=1000)
    ] = 20,
    host: Annotated[
        str, typer.Option(help="Address for /metrics, /ready and /health; see serve.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help=PORT_HELP, min=0, max=65535)] = 8081,
    provider: Provider = None,
) -> None:
    """Play the runs that any number of `crew serve` accept; all share one PostgreSQL database.

    Example: [bold]CREW_DATABASE_URL=postgresql://crew@db/crew crew worker examples/it-support[/]
    """
    settings = ServerSettings.read(os.environ, host, port, terminal=sys.stderr.isatty())
    if not is_shared(settings.database_url):
        raise SettingsError(
            "a worker plays the runs of a PostgreSQL database: "
            "set CREW_DATABASE_URL=postgresql://user@host/database; "
            "on one machine `crew serve` plays its runs by itself, without workers"
        )
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = load(folder, provider, settings=settings)
    print_problems(crew.warnings, {})
    (process,) = _import_web("process.serve")
    listener = process.listen(settings)
    database = open_for(crew, settings, folder)
    (process_worker,) = _import_web("process.worker")
    application = process_worker.build_worker(crew, database, settings, at_once)
    process.run_server(application, settings, listener)


def _import_web(*names: str) -> list[ModuleType]:
    """Return the web server takes its time to import, which no other command should wait for."""
    return [importlib.import_module(f"server.{name}") for name in names]


def _import_watch() -> ModuleType:
    try:
        return importlib.import_module("server.process.watch")
    except ModuleNotFoundError:
        raise SettingsError(
            "--reload needs watchfiles: pip install 'crewline[reload]'; or reload by SIGHUP"
        ) from None
