"""The commands about a crew's files: validate, explain, graph, schema."""

import gc
import importlib
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

import typer

from crew.config.errors import ConfigurationError
from crew.config.explanations import explanations
from crew.config.files.environment import with_stand_ins
from crew.config.files.sources import read_sources
from crew.config.problems import has_failed
from crew.config.routing_plan import entry_point, routing_of
from crew.crew import check
from crew.routing.graph import Edge, RoutingGraph
from crew.routing.render import RENDERERS
from server.authoring.schemas import schema_of
from server.cli.exits import HERE, Exit, fail
from server.cli.explain import render_explanation, render_page
from server.cli.opening import guard_process
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.validate import offer_fixes, print_check
from tools.text.suggest import nearest
from tools.text.texts import visible

# the keys of RENDERERS, and of KINDS with the API
GraphFormat = Literal["text", "mermaid", "dot", "json"]
SchemaKind = Literal["crew", "agent", "tools", "script", "rehearsal", "openapi"]


def validate(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Crews' folders.", show_default="the current folder"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print the problems as SARIF 2.1.0, for code hosts.")
    ] = False,
    strict: Annotated[bool, typer.Option(help="Warnings fail too.")] = False,
    imports: Annotated[
        bool,
        typer.Option("--import/--no-import", help="Import Python tools, which runs their files."),
    ] = True,
    fix: Annotated[
        bool, typer.Option("--fix", help="Fix what is certain: shows a diff and asks first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: do not ask.")] = False,
) -> None:
    """Check crews and print every problem of their files, each with its line and its remedy.

    Example: [bold]crew validate examples/hello examples/tools[/]
    """
    if as_json and sarif:
        raise typer.BadParameter("give one of --json and --sarif", param_hint="--sarif")
    if fix and (as_json or sarif):
        text = "it shows a diff; give it without --json and --sarif"
        raise typer.BadParameter(text, param_hint="--fix")
    if yes and not fix:
        raise typer.BadParameter("it answers what --fix asks", param_hint="--yes")
    secrets = guard_process()
    # a process that ends at once need not look for garbage: a quarter of the time of a large crew
    gc.disable()
    chosen = folders or [HERE]
    for folder in chosen if fix else ():
        offer_fixes(folder, without_asking=yes)
    form = {(True, False): "json", (False, True): "sarif"}.get((as_json, sarif), "text")
    if not print_check(chosen, form, secrets, strict=strict, imports=imports):
        raise typer.Exit(Exit.FAILED)


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="A code of `crew validate`.", show_default="the page of all codes"
        ),
    ] = None,
) -> None:
    """Explain a code of `crew validate`: what it means and what to do, with an example.

    Example: [bold]crew explain trap[/]
    """
    if code is None:
        print(render_page())
        return
    found = explanations().get(code)
    if found is None:
        near = nearest(code, explanations())
        hint = f"did you mean {near}?" if near else f"known: {', '.join(explanations())}"
        fail(f"there is no code {code!r}; {hint}", Exit.USAGE)
    print(render_explanation(found))


def graph(
    folder: GivenFolder = None,
    form: Annotated[GraphFormat, typer.Option("--format", help="How to draw it.")] = "text",
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Mark what no rehearsal takes; they are played.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Draw the routing of a crew.

    Example: [bold]crew graph examples/routing --format mermaid[/]
    """
    if (target := chosen_target(server, profile, folder)) is not None:
        if coverage:
            raise typer.BadParameter("it plays a folder's rehearsals", param_hint="--coverage")
        with opened_api(target, HERE) as api:
            print(visible(api.read("/graph", format=form)))
        return
    home = folder or HERE
    environment = with_stand_ins(os.environ, read_sources(home))
    checked = check(home, imports=False, environment=environment)
    files = checked.files
    if has_failed(checked.problems):
        raise ConfigurationError(checked.problems, files.texts)
    # whether a person is asked stands in the files; no tool is imported for it
    routing = routing_of(files, {**checked.tools.names, **files.tools})
    untaken = _untaken(home) if coverage else ()
    print(visible(RENDERERS[form](RoutingGraph.of(routing, entry_point(files)), untaken)))


def _untaken(folder: Path) -> Collection[Edge]:
    """Play the rehearsals of a folder; returns the edges that none takes."""
    # it takes its time to import, which the others should not wait for
    played = importlib.import_module("server.cli.rehearsed.played")
    edges: Collection[Edge] = played.untaken_edges(folder)
    return edges


def schema(
    kind: Annotated[SchemaKind, typer.Argument(help="The kind of file, or openapi: the API.")],
) -> None:
    """Print the JSON Schema of a kind of file, for editors; or the API as OpenAPI 3.1.

    Example: [bold]crew schema agent > agent.schema.json[/]
    """
    if kind == "openapi":
        # it takes its time to import, which the others should not wait for
        document = importlib.import_module("server.http.openapi.document").openapi_document()
    else:
        document = schema_of(kind)
    print(json.dumps(document, ensure_ascii=False, indent=2))
