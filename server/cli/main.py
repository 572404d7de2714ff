"""The command `crew`: serve, worker, run, runs; and the commands about files."""

import asyncio
import importlib
import importlib.metadata
import io
import os
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import agents
import crew as crew_package
import server
import tools
from agents.errors import ProviderError
from crew.config.errors import ConfigurationError
from crew.crew import Crew, load_crew
from crew.database import CONNECTIONS, Database, is_shared, open_database, open_store
from crew.errors import CrewError
from crew.journal.query import Answer, Decision, Query, text_error
from crew.runs.runs import Runs
from server.cli import files
from server.cli.exits import HERE, Exit, Folder, exit_code_of, fail, print_problems
from server.cli.play import Output, Resume, play, show_runs
from server.settings import ServerSettings, SettingsError

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
Host = Annotated[
    str, typer.Option(help="Address to listen on; any but loopback needs CREW_API_TOKENS.")
]
PORT_HELP = "Port to listen on; 0 takes a free one."


def _print_version(wanted: bool) -> None:
    if wanted:
        print(importlib.metadata.version("crewline"))
        raise typer.Exit


@app.callback()
def _crew(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Run crews of AI agents that are described in YAML."""


def main() -> None:
    """The command `crew`."""
    _require_own_packages()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a terminal that knows fewer characters must not end a command
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except ConfigurationError as error:
        print_problems(error.problems, error.texts)
        raise SystemExit(Exit.FAILED) from None
    except SettingsError as error:
        fail(str(error), Exit.USAGE)
    except CrewError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(Exit.INTERRUPTED) from None
    except OSError as error:
        if error.filename is not None:
            fail(f"{error.filename}: {error.strerror}")
        # the reader of the output (head, say) has gone, or the disk that takes it is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"the output cannot be written: {error.strerror}")


@app.command()
def serve(
    folder: Folder = HERE,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help=PORT_HELP, min=0, max=65535)] = 8080,
    provider: Provider = None,
    reload: Annotated[
        bool,
        typer.Option("--reload", help="Watch the crew's files; new runs get what they then say."),
    ] = False,
) -> None:
    """Serve a crew over HTTP: SSE streams, JSON, metrics and a web console.

    Example: [bold]crew serve examples/it-support --port 9000[/]
    """
    settings = ServerSettings.read(os.environ, host, port, terminal=sys.stderr.isatty())
    # until there is something to reload; by default it ends the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = _load(folder, provider)
    print_problems(crew.warnings, {})
    logs, process, http = _import_web("telemetry.logs", "process.serve", "http.app")
    watch = _import_watch().watch if reload else None
    logs.set_up_logging(settings)
    # first of all, so that no run is resumed by a server that cannot serve
    listener = process.listen(settings)
    database = _open(settings, folder, crew)
    process.serve(http.build_server(crew, database, settings, watch), settings, listener)


@app.command()
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
    crew = _load(folder, provider)
    print_problems(crew.warnings, {})
    logs, process = _import_web("telemetry.logs", "process.serve")
    logs.set_up_logging(settings)
    listener = process.listen(settings)
    database = _open(settings, folder, crew)
    (process_worker,) = _import_web("process.worker")
    application = process_worker.build_worker(crew, database, settings, at_once)
    process.serve(application, settings, listener)


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
        typer.Option(help="What --answer decides on tool calls; with done, QUERY is the result."),
    ] = None,
) -> None:
    """Run a crew in the terminal and show its events as they come; asks you at a pause.

    Ends with 0 when the run is completed, 1 when it failed, 3 when it is paused, 4 when a limit
    or somebody ended it, 130 at Ctrl-C, which cancels it.

    Example: [bold]crew run examples/it-support "Kiểm tra máy này"[/]
    """
    if decision is not None and answer is None:
        text = "it decides on the calls of a paused run: give its id with --answer"
        raise typer.BadParameter(text, param_hint="--decision")
    if query is None and decision is None:
        text = "say what to ask the crew"
        if answer is not None:
            text = "give the answer in words, or a --decision"
        raise typer.BadParameter(text, param_hint="QUERY")
    crew = _load(folder, provider)
    if query or decision is None:
        _check_query(query or "", crew)
    settings = ServerSettings.read(os.environ, "127.0.0.1", 0)
    asked: Query | Resume = Query(query or "")
    if answer is not None:
        asked = Resume(answer, _answer_of(query or "", decision))
    database = _open(settings, folder, crew)
    database.store.claim_process(serves=False)
    output = Output(as_lines=as_lines)
    runs = Runs(crew, database.store, queue=database.queue)
    row = asyncio.run(play(runs, asked, output))
    if row.status == "paused" and not as_lines:
        option = output.view.answer_option
        text = f"Paused. Answer with: crew run {folder} --answer {row.run_id} {option}"
        print(text, file=sys.stderr)
    raise typer.Exit(exit_code_of(row))


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
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    found = run_id is None
    # looking must not make a database
    if url or (folder / ".crew" / "crew.db").exists():
        store = asyncio.run(open_store(url, folder))
        found = asyncio.run(show_runs(store, run_id, as_document=as_document))
    if not found:
        fail(f"there is no run {run_id}")


for command in files.COMMANDS:
    app.command()(command)


def _load(folder: Path, provider: str | None) -> Crew:
    try:
        return load_crew(folder, provider=provider)
    except ProviderError as error:
        raise typer.BadParameter(str(error), param_hint="--provider") from None


def _answer_of(text: str, decision: Decision | None) -> Answer:
    if decision is None:
        return Answer(text)
    if decision == "done":
        return Answer(decision="done", result=text)
    return Answer(text, decision)


def _open(settings: ServerSettings, folder: Path, crew: Crew) -> Database:
    connections = settings.database_connections or CONNECTIONS
    opening = open_database(settings.database_url, folder, crew=crew.name, connections=connections)
    return asyncio.run(opening)


def _check_query(query: str, crew: Crew) -> None:
    limit = int(crew.config.settings.max_input_size_kb * 1000)
    error = text_error(query)
    if error is None and not query.strip():
        error = "is empty"
    if error is None and len(query) > limit:
        error = f"has {len(query):,} characters; at most {limit:,} are allowed"
    if error is not None:
        fail(f"QUERY {error}", Exit.USAGE)


def _import_web(*names: str) -> list[ModuleType]:
    """The web server takes its time to import, which no other command should wait for."""
    return [importlib.import_module(f"server.{name}") for name in names]


def _import_watch() -> ModuleType:
    try:
        return importlib.import_module("server.process.watch")
    except ModuleNotFoundError:
        raise SettingsError(
            "--reload needs watchfiles: pip install 'crewline[reload]'; or reload by SIGHUP"
        ) from None


def _require_own_packages() -> None:
    """The four packages have common names; another distribution may have replaced one."""
    packages = (server, crew_package, agents, tools)
    home = Path(server.__file__ or "").resolve().parent.parent
    foreign = []
    for package in packages:
        found = Path(package.__file__ or "").resolve().parent.parent
        if found != home:
            foreign.append(f"{package.__name__} ({found})")
    if foreign:
        fail(
            f"another package hides one of ours: {', '.join(foreign)}; "
            "install crewline into an environment of its own"
        )
