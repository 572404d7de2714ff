"""What an operator types: serve, worker, run, runs; and the commands about files."""

import importlib
import importlib.metadata
import io
import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated

import anyio
import typer

import agents
import crew as crew_package
import server
import tools
from crew.crew import load_crew
from crew.database import open_queue, open_store
from crew.errors import ConfigurationError, CrewError
from crew.journal.query import Query, text_flaw
from crew.runs.runs import Runs
from server.cli import files as file_commands
from server.cli.exits import HERE, Folder, fail, print_problems
from server.cli.play import play, show_runs
from server.settings import Settings, SettingsError

app = typer.Typer(
    name="crew",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)

Provider = Annotated[
    str | None,
    typer.Option(
        help="Use this provider for every agent: scripted, openai, ollama, or one of crew.yaml's."
    ),
]


class Decision(StrEnum):
    """What a person may decide on calls, as in Verdict."""

    approve = "approve"
    deny = "deny"
    retry = "retry"
    skip = "skip"


def _tell_version(wanted: bool) -> None:  # typer gives it so
    if wanted:
        print(importlib.metadata.version("crewline"))
        raise typer.Exit


@app.callback()
def _crew(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Run crews of AI agents that are described in YAML."""


def main() -> None:
    """The command `crew`."""
    _one_house()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that knows fewer characters must not end a command
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except ConfigurationError as error:
        print_problems(error.problems, error.texts)
        raise SystemExit(1) from None
    except SettingsError as error:
        fail(str(error), 2)
    except CrewError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        # who read the output (head, say) has gone, or the disk that takes it is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"the output cannot be written: {error.strerror}")


@app.command()
def serve(
    folder: Folder = HERE,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but loopback needs CREW_API_TOKENS.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = 8080,
    provider: Provider = None,
    reload: Annotated[
        bool,
        typer.Option("--reload", help="Watch the crew's files; new runs get what they then say."),
    ] = False,
) -> None:
    """Serve a crew over HTTP: SSE streams, JSON, metrics and a web console.

    Example: [bold]crew serve examples/it-support --port 9000[/]
    """
    settings = Settings.read(os.environ, host, port, terminal=sys.stderr.isatty())
    # until there is something to reload; by itself it would end the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = load_crew(folder, provider=provider)
    print_problems(crew.warnings, {})
    logs, serving, application = _web("telemetry.logs", "process.serve", "http.app")
    watch = _watching().watch if reload else None
    logs.set_up(settings)
    # first of all, so that no run is taken up by a server that cannot serve
    listener = serving.listen(settings)
    queue = open_queue(settings.database_url)
    store = open_store(settings.database_url, folder, settings.database_connections, crew.name)
    serving.serve(application.build_app(crew, store, settings, watch, queue), settings, listener)


@app.command()
def worker(
    folder: Folder = HERE,
    at_once: Annotated[
        int, typer.Option(help="How many runs it plays at once.", min=1, max=1000)
    ] = 20,
    host: Annotated[
        str, typer.Option(help="Address for /metrics, /ready and /health; see serve.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port for them; 0 takes a free one.", min=0, max=65535)
    ] = 8081,
    provider: Provider = None,
) -> None:
    """Play the runs that any number of `crew serve` accept, beside other workers.

    All share one PostgreSQL database.

    Example: [bold]CREW_DATABASE_URL=postgresql://crew@db/crew crew worker examples/it-support[/]
    """
    settings = Settings.read(os.environ, host, port, terminal=sys.stderr.isatty())
    queue = open_queue(settings.database_url)
    if queue is None:
        raise SettingsError(
            "a worker plays the runs of a PostgreSQL database: set CREW_DATABASE_URL=postgresql://user@host/database; "
            "on one machine `crew serve` plays its runs by itself, without workers"
        )
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = load_crew(folder, provider=provider)
    print_problems(crew.warnings, {})
    logs, serving, working = _web("telemetry.logs", "process.serve", "process.worker")
    logs.set_up(settings)
    listener = serving.listen(settings)
    store = open_store(settings.database_url, folder, settings.database_connections, crew.name)
    serving.serve(working.build_worker(crew, store, settings, queue, at_once), settings, listener)


@app.command()
def run(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The crew's folder, with crew.yaml in it.")
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="What to ask the crew.", show_default=False),
    ] = None,
    as_lines: Annotated[
        bool, typer.Option("--json", help="Print the events as JSON, one a line.")
    ] = False,
    provider: Provider = None,
    answer: Annotated[
        str | None, typer.Option(metavar="RUN", help="QUERY is the answer to this paused run.")
    ] = None,
    decision: Annotated[
        Decision | None,
        typer.Option(help="What --answer decides, where the pause asks about tool calls."),
    ] = None,
) -> None:
    """Run a crew in the terminal and show its events as they come; asks you at a pause.

    Example: [bold]crew run examples/it-support "Kiểm tra máy này"[/]
    """
    if decision is not None and answer is None:
        raise typer.BadParameter(
            "it decides on the calls of a paused run: give its id with --answer",
            param_hint="--decision",
        )
    if query is None and decision is None:
        raise typer.BadParameter("say what to ask the crew", param_hint="QUERY")
    query = query or ""
    crew = load_crew(folder, provider=provider)
    limit = int(crew.config.settings.max_input_size_kb * 1000)
    flaw = text_flaw(query) or (
        f"has {len(query):,} characters; 1 to {limit:,} are taken"
        if not 0 < len(query) <= limit
        else None
    )
    if flaw is not None and (decision is None or query):
        fail(f"QUERY {flaw}", 2)
    url = Settings.read(os.environ, "127.0.0.1", 0).database_url
    queue, store = open_queue(url), open_store(url, folder, crew=crew.name)
    store.claim(serves=False)
    asked = Query(query, decision=decision.value if decision is not None else None)
    row, asks = anyio.run(play, Runs(crew, store, queue=queue), asked, answer, as_lines)
    if row.status == "failed":
        raise typer.Exit(1)
    if row.status == "paused" and not as_lines:
        print(
            f"Paused. Answer with: crew run {folder} --answer {row.run_id} {asks}", file=sys.stderr
        )


@app.command()
def runs(
    folder: Folder = HERE,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Show this run with its events.", show_default="list the newest"
        ),
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """List the runs of a crew, or show one.

    Example: [bold]crew runs examples/it-support[/]
    """
    if not folder.is_dir():
        fail(f"there is no folder {folder}")
    url = Settings.read(os.environ, "127.0.0.1", 0).database_url
    if not url and not (folder / ".crew" / "crew.db").exists():
        # looking must not make a database
        if run_id is not None:
            fail(f"there is no run {run_id}")
        return
    if not anyio.run(show_runs, open_store(url, folder), run_id, as_document):
        fail(f"there is no run {run_id}")


for command in file_commands.ALL:
    app.command()(command)


def _web(*names: str) -> list[ModuleType]:
    """The web server takes its time to import, which no other command should wait for."""
    return [importlib.import_module(f"server.{name}") for name in names]


def _watching() -> ModuleType:
    try:
        return importlib.import_module("server.process.watch")
    except ModuleNotFoundError:
        raise SettingsError(
            "--reload needs watchfiles: pip install 'crewline[reload]'; or reload by SIGHUP"
        ) from None


def _one_house() -> None:
    """The four packages have common names.

    Another distribution may have put its own in their place.
    """
    homes = {
        Path(package.__file__ or "").resolve().parent.parent: package
        for package in (server, crew_package, agents, tools)
    }
    if len(homes) > 1:
        intruders = [
            f"{package.__name__} ({home})"
            for home, package in homes.items()
            if package is not server
        ]
        fail(
            f"another package hides one of ours: {', '.join(intruders)}; install crewline into an environment of its own"
        )
