"""`crew doctor`: what an operator should know before the crew is served."""

import asyncio
import importlib
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from agents.quirks import Table
from crew.assembly.recipe import Recipe
from crew.config.errors import ConfigurationError
from crew.config.files.sources import read_sources
from crew.config.problems import has_failed
from crew.crew import Crew, make_crew
from crew.database import open_store
from crew.errors import CrewError
from crew.journal.records.rows import Finding
from crew.routing.rules import AgentAnswer
from crew.runs.upkeep.storage import reach_text
from server.cli.exits import HERE, Exit
from server.cli.hints import quoted
from server.cli.opening import guard_process
from server.cli.served.examining import examine_server
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.settings import ServerSettings
from tools.text.texts import visible

# fewer are soon used up by streams
FEW_DESCRIPTORS = 4096
# room that the smallest run needs, and below which it is told
LEAST_BYTES, FEW_BYTES = 100_000, 200_000_000
PROBE_SECONDS = 5.0
MARKS = {
    "ok": "[green]✓[/]",
    "note": "[dim]·[/]",
    "warning": "[yellow]⚠[/]",
    "error": "[bold red]✗[/]",
}


def doctor(
    folder: GivenFolder = None,
    database: Annotated[
        bool, typer.Option("--database", help="Look only at the database.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Look at a crew's files, providers, script and database; say what may lose or refuse runs.

    Asks each provider for its models, with its key. Of a server: its version, clock, crew,
    providers and store, and what the token may. Ends with 1 where something must be mended first.

    Example: [bold]crew doctor examples/it-support --database[/]
    """
    if (target := chosen_target(server, profile, folder)) is not None:
        if database:
            raise typer.BadParameter("it looks at that of a folder", param_hint="--database")
        findings = examine_server(target)
    else:
        home = folder or HERE
        findings = [] if database else _files(home)
        findings += asyncio.run(_database(home))
    console = Console(highlight=False)
    for one in findings:
        console.print(
            f"{MARKS[one.level]} {one.level}: {escape(visible(one.text))}", soft_wrap=True
        )
    if any(one.level == "error" for one in findings):
        raise typer.Exit(Exit.FAILED)


def _files(folder: Path) -> list[Finding]:
    """Look at the files, the process, and the crew, where the files have no errors."""
    recipe, sources = Recipe((), None, None, secrets=guard_process()), read_sources(folder)
    # checked once: MCP servers that no lock file describes are started for it
    checked = recipe.check(sources)
    problems = checked.problems
    errors = sum(one.severity == "error" for one in problems)
    text = f"the files have {errors} errors and {len(problems) - errors} warnings"
    if has_failed(problems):
        text = f"{text}: see crew validate {quoted(folder)}"
        return [Finding("error", text), _descriptors()]
    level: Literal["ok", "warning"] = "warning" if problems else "ok"
    return [
        Finding(level, text),
        _descriptors(),
        *_crew(lambda: make_crew(recipe, sources, checked)),
    ]


def _descriptors() -> Finding:
    """Compare the process's file descriptors with what streams need: one each."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"a process may have {most} file descriptors open"
    if 0 <= most < FEW_DESCRIPTORS:
        return Finding("warning", f"{text}: that many streams; raise it by `ulimit -n`")
    return Finding("ok", text)


def _crew(make: Callable[[], Crew]) -> list[Finding]:
    """Find what only shows when the crew is made: its keys and programs, providers, script."""
    try:
        crew = make()
    except ConfigurationError as error:
        return [Finding("error", problem.message) for problem in error.problems]
    except CrewError as error:
        return [Finding("error", str(error))]
    findings = [Finding("ok", "its keys are there, and the programs that its tools need")]
    return findings + _script(crew) + asyncio.run(_providers(crew))


def _script(crew: Crew) -> list[Finding]:
    """Return the signals that no rule of the script says: `crew run` never takes these edges."""
    if crew.catalog.script is None:
        return []
    said = {agent_id: set[str]() for agent_id in crew.agents}
    for rule in crew.catalog.script.rules:
        for agent_id in rule.agent or crew.agents:
            if agent_id in said:
                routes = crew.routing.find_routes(agent_id, AgentAnswer(rule.say))
                said[agent_id] |= {route.signal.text for route in routes}
    ways = [(agent, route) for agent, routes in crew.routing.routes.items() for route in routes]
    never = [
        f"{agent} {way.signal.text}" for agent, way in ways if way.signal.text not in said[agent]
    ]
    if never:
        return [Finding("note", f"script.yaml never says {', '.join(never)}")]
    return [Finding("ok", f"script.yaml says every signal ({len(ways)})")]


async def _providers(crew: Crew) -> list[Finding]:
    findings = []
    probe = importlib.import_module("agents.providers.probe").probe
    try:
        for endpoint, client in crew.catalog.clients.items():
            found = await probe(client, PROBE_SECONDS)
            missing = [one for model in client.models if (one := found.missing(model))]
            wrong = [found.error] if found.error else missing
            for text in wrong or [f"{client.place} answers"]:
                told = f"{endpoint.provider}: {crew.secrets.mask(text)}"
                findings.append(Finding("error" if wrong else "ok", told))
            findings += _quirks(endpoint.provider, client.models)
    finally:
        await crew.aclose()
    return findings


def _quirks(provider: str, models: Mapping[str, Table]) -> list[Finding]:
    """Return what is not usual of models, as it is declared or known by their address."""
    return [
        Finding("note", f"{provider}: {model}: {key} = {one['value']} ({one['by']})")
        for model, table in models.items()
        for key, one in table.document().items()
    ]


def _room(folder: Path) -> list[Finding]:
    """Find out whether a folder can be written to, where its database is, or will be."""
    kept = folder / ".crew"
    place = kept if kept.exists() else folder
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(bytes(LEAST_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        text = f"{place} cannot be written to: {error.strerror}: no run can be kept"
        return [Finding("error", text)]
    free = shutil.disk_usage(place).free
    if free < FEW_BYTES:
        return [Finding("warning", f"the disk of {place} has {free // 1_000_000} MB left")]
    return []


async def _database(folder: Path) -> list[Finding]:
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    if url is None and (wrong := _room(folder)):
        return wrong + await _kept(folder, url)
    return await _kept(folder, url)


async def _kept(folder: Path, url: str | None) -> list[Finding]:
    try:
        if url is None and not (folder / ".crew" / "crew.db").exists():
            # looking must not make a database
            return [Finding("note", "no run has been kept yet; crew serve makes the database")]
        store = await open_store(url, folder, upgrades=False)
    except CrewError as error:
        return [Finding("error", str(error))]
    try:
        reach = await store.reach()
        notes = [Finding("note", reach_text(reach))]
        if reach.events_since is not None:
            # what has lost its events cannot be played again
            text = f"crew replay reaches back to {reach.events_since[:10]}; see replay.keep"
            notes.append(Finding("note", text))
        if running := await store.count("running"):
            text = f"{running} runs are at work; if their process has ended, crew serve goes on"
            notes.append(Finding("note", f"{text} with them, and crew cancel ends them"))
        return [*await store.examine(), *notes]
    except CrewError as error:
        return [Finding("error", str(error))]
    finally:
        await store.aclose()
