"""What an operator types: serve, run, validate, explain, graph, schema, init, runs."""

import gc
import importlib
import io
import json
import os
import signal
import sys
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NoReturn

import anyio
import typer

import agents
import crew as crew_package
import server
import tools
from crew.crew import check, load_crew
from crew.errors import ConfigurationError, CrewError
from crew.graph import RoutingGraph
from crew.pictures import PICTURES
from crew.plan import entry_point, routing_of
from crew.problems import Problem, as_text, failed
from crew.query import Query, text_flaw
from crew.runs import Runs
from crew.stores.opening import open_store
from crew.stores.sqlite import SqliteStore
from server.checking import mend, told
from server.explanations import explanations, page
from server.playing import play, show_runs
from server.schemas import schema_of
from server.settings import Settings, SettingsError
from server.starter import starter_files
from tools.schema import nearest

app = typer.Typer(
    name="crew",
    help="Run crews of AI agents that are described in YAML.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The crew's folder, with crew.yaml in it.", show_default="the current folder")
]
Provider = Annotated[
    str | None, typer.Option(help="Use this provider for every agent: scripted, openai, ollama, or one of crew.yaml's.")
]
HERE = Path()


class PictureFormat(StrEnum):
    """The keys of PICTURES."""

    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


class Decision(StrEnum):
    """What a person may decide on calls, as in Verdict."""

    approve = "approve"
    deny = "deny"
    retry = "retry"
    skip = "skip"


class SchemaKind(StrEnum):
    """The keys of KINDS."""

    crew = "crew"
    agent = "agent"
    tools = "tools"
    script = "script"


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
        _print_problems(error.problems, error.texts)
        raise SystemExit(1) from None
    except SettingsError as error:
        _fail(str(error), 2)
    except CrewError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except OSError as error:
        # who read the output (head, say) has gone, or the disk that takes it is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(f"the output cannot be written: {error.strerror}")


@app.command()
def serve(
    folder: Folder = HERE,
    host: Annotated[str, typer.Option(help="Address to listen on; any but loopback needs CREW_API_TOKENS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8080,
    provider: Provider = None,
    reload: Annotated[bool, typer.Option("--reload", help="Watch the crew's files; new runs get what they then say.")] = False,
) -> None:
    """Serve a crew over HTTP: SSE streams, JSON, metrics and a web console.

    Example: [bold]crew serve examples/it-support --port 9000[/]
    """
    settings = Settings.read(os.environ, host, port, terminal=sys.stderr.isatty())
    # until there is something to reload; by itself it would end the process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    crew = load_crew(folder, provider=provider)
    _print_problems(crew.warnings, {})
    # the web server takes its time to import, which no other command should wait for
    logs, serving, application = (importlib.import_module(f"server.{name}") for name in ("logs", "serving", "app"))
    watch = _watching().watch if reload else None
    logs.set_up(settings)
    # first of all, so that no run is taken up by a server that cannot serve
    listener = serving.listen(settings)
    serving.serve(application.build_app(crew, open_store(settings.database_url, folder), settings, watch), settings, listener)


@app.command()
def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The crew's folder, with crew.yaml in it.")],
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="What to ask the crew.", show_default=False)] = None,
    as_lines: Annotated[bool, typer.Option("--json", help="Print the events as JSON, one a line.")] = False,
    provider: Provider = None,
    answer: Annotated[str | None, typer.Option(metavar="RUN", help="QUERY is the answer to this paused run.")] = None,
    decision: Annotated[
        Decision | None, typer.Option(help="What --answer decides, where the pause asks about tool calls.")
    ] = None,
) -> None:
    """Run a crew in the terminal and show its events as they come; asks you at a pause.

    Example: [bold]crew run examples/it-support "Kiểm tra máy này"[/]
    """
    if decision is not None and answer is None:
        raise typer.BadParameter("it decides on the calls of a paused run: give its id with --answer", param_hint="--decision")
    if query is None and decision is None:
        raise typer.BadParameter("say what to ask the crew", param_hint="QUERY")
    query = query or ""
    crew = load_crew(folder, provider=provider)
    limit = int(crew.config.settings.max_input_size_kb * 1000)
    flaw = text_flaw(query) or (
        f"has {len(query):,} characters; 1 to {limit:,} are taken" if not 0 < len(query) <= limit else None
    )
    if flaw is not None and (decision is None or query):
        _fail(f"QUERY {flaw}", 2)
    store = open_store(os.environ.get("CREW_DATABASE_URL"), folder)
    if isinstance(store, SqliteStore):
        store.claim(alone=False)
    asked = Query(query, decision=decision.value if decision is not None else None)
    row, asks = anyio.run(play, Runs(crew, store), asked, answer, as_lines)
    if row.status == "failed":
        raise typer.Exit(1)
    if row.status == "paused" and not as_lines:
        print(f"Paused. Answer with: crew run {folder} --answer {row.run_id} {asks}", file=sys.stderr)


@app.command()
def validate(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR...", help="Crews' folders.", show_default="the current folder")
    ] = None,
    as_document: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print the problems as SARIF 2.1.0, for code hosts.")] = False,
    strict: Annotated[bool, typer.Option(help="Warnings fail too.")] = False,
    imports: Annotated[bool, typer.Option("--import/--no-import", help="Import Python tools, which runs their files.")] = True,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is certain: shows a diff and asks first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: do not ask.")] = False,
) -> None:
    """Check crews and tell everything that is wrong with them, each with its line and its remedy.

    Example: [bold]crew validate examples/hello examples/tools[/]
    """
    if as_document and sarif:
        raise typer.BadParameter("give one of --json and --sarif", param_hint="--sarif")
    if fix and (as_document or sarif):
        raise typer.BadParameter("it shows a diff; give it without --json and --sarif", param_hint="--fix")
    if yes and not fix:
        raise typer.BadParameter("it answers what --fix asks", param_hint="--yes")
    # a process that ends at once need not look for garbage: a quarter of the time of a large crew
    gc.disable()
    chosen = folders or [HERE]
    for folder in chosen if fix else ():
        mend(folder, unasked=yes)
    if not told(chosen, "json" if as_document else "sarif" if sarif else "text", strict=strict, imports=imports):
        raise typer.Exit(1)


@app.command()
def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="A code of `crew validate`.", show_default="the page of all codes")
    ] = None,
) -> None:
    """Tell what a code of `crew validate` means and what to do, with an example.

    Example: [bold]crew explain trap[/]
    """
    if code is None:
        print(page())
        return
    found = explanations().get(code)
    if found is None:
        near = nearest(code, explanations())
        hint = f"did you mean {near}?" if near else f"known: {', '.join(explanations())}"
        _fail(f"there is no code {code!r}; {hint}", 2)
    print(found.as_markdown())


@app.command()
def graph(
    folder: Folder = HERE,
    picture: Annotated[PictureFormat, typer.Option("--format", help="How to draw it.")] = PictureFormat.text,
) -> None:
    """Draw the routing of a crew.

    Example: [bold]crew graph examples/routing --format mermaid[/]
    """
    checked = check(folder, imports=False)
    if failed(checked.problems):
        raise ConfigurationError(checked.problems, checked.files.texts)
    print(PICTURES[picture](RoutingGraph.of(routing_of(checked.files), entry_point(checked.files))))


@app.command()
def schema(kind: Annotated[SchemaKind, typer.Argument(help="The kind of file.")]) -> None:
    """Print the JSON Schema of a kind of file, for editors.

    Example: [bold]crew schema agent > agent.schema.json[/]
    """
    print(json.dumps(schema_of(kind), ensure_ascii=False, indent=2))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    full: Annotated[bool, typer.Option("--full", help="Write one with every key there is, to look things up in.")] = False,
) -> None:
    """Write a small crew that plays at once, without a key.

    Example: [bold]crew init my-crew && crew run my-crew hello[/]
    """
    written = starter_files("full" if full else "small")
    there = [name for name in written if (folder / name).exists()]
    if there:
        _fail(f"{folder / there[0]} is there already; nothing was written")
    try:
        for name, text in written.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    query = "Our web site is slow" if full else "How is this machine?"
    print(f"Wrote {folder}. Try: crew run {folder} {query!r}{' --provider scripted' if full else ''}")


@app.command()
def runs(
    folder: Folder = HERE,
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Show this run with its events.", show_default="list the newest")
    ] = None,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """List the runs of a crew, or show one.

    Example: [bold]crew runs examples/it-support[/]
    """
    if not folder.is_dir():
        _fail(f"there is no folder {folder}")
    url = os.environ.get("CREW_DATABASE_URL")
    if not url and not (folder / ".crew" / "crew.db").exists():
        # looking must not make a database
        if run_id is not None:
            _fail(f"there is no run {run_id}")
        return
    if not anyio.run(show_runs, open_store(url, folder), run_id, as_document):
        _fail(f"there is no run {run_id}")


def _watching() -> ModuleType:
    try:
        return importlib.import_module("server.watching")
    except ModuleNotFoundError:
        raise SettingsError("--reload needs watchfiles: pip install 'crewline[reload]'; or reload by SIGHUP") from None


def _one_house() -> None:
    """The four packages have common names; another distribution may have put its own in their place."""
    homes = {Path(package.__file__ or "").resolve().parent.parent: package for package in (server, crew_package, agents, tools)}
    if len(homes) > 1:
        intruders = [f"{package.__name__} ({home})" for home, package in homes.items() if package is not server]
        _fail(f"another package hides one of ours: {', '.join(intruders)}; install crewline into an environment of its own")


def _print_problems(problems: tuple[Problem, ...], texts: Any) -> None:
    for problem in problems:
        print(as_text(problem, texts), file=sys.stderr)


def _fail(message: str, code: int = 1) -> NoReturn:
    print(f"crew: {message}", file=sys.stderr)
    raise SystemExit(code)
