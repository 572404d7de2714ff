"""What an operator types about a crew's files: validate, explain, graph, schema, init."""

import gc
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crew.config.problems import failed
from crew.config.routing_plan import entry_point, routing_of
from crew.crew import check
from crew.errors import ConfigurationError
from crew.routing.graph import RoutingGraph
from crew.routing.render import PICTURES
from server.cli.exits import HERE, Folder, fail
from server.cli.explain import explanations, page
from server.cli.json_schema import schema_of
from server.cli.starter import starter_files
from server.cli.validate import mend, told
from tools.schema import nearest


class PictureFormat(StrEnum):
    """The keys of PICTURES."""

    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


class SchemaKind(StrEnum):
    """The keys of KINDS."""

    crew = "crew"
    agent = "agent"
    tools = "tools"
    script = "script"


def validate(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR...", help="Crews' folders.", show_default="the current folder"),
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print the problems as JSON.")
    ] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print the problems as SARIF 2.1.0, for code hosts.")
    ] = False,
    strict: Annotated[bool, typer.Option(help="Warnings fail too.")] = False,
    imports: Annotated[
        bool,
        typer.Option("--import/--no-import", help="Import Python tools, which runs their files."),
    ] = True,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what is certain: shows a diff and asks first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: do not ask.")] = False,
) -> None:
    """Check crews and tell everything that is wrong with them, each with its line and its remedy.

    Example: [bold]crew validate examples/hello examples/tools[/]
    """
    if as_document and sarif:
        raise typer.BadParameter("give one of --json and --sarif", param_hint="--sarif")
    if fix and (as_document or sarif):
        raise typer.BadParameter(
            "it shows a diff; give it without --json and --sarif", param_hint="--fix"
        )
    if yes and not fix:
        raise typer.BadParameter("it answers what --fix asks", param_hint="--yes")
    # a process that ends at once need not look for garbage: a quarter of the time of a large crew
    gc.disable()
    chosen = folders or [HERE]
    for folder in chosen if fix else ():
        mend(folder, unasked=yes)
    if not told(
        chosen,
        "json" if as_document else "sarif" if sarif else "text",
        strict=strict,
        imports=imports,
    ):
        raise typer.Exit(1)


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="A code of `crew validate`.", show_default="the page of all codes"
        ),
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
        fail(f"there is no code {code!r}; {hint}", 2)
    print(found.as_markdown())


def graph(
    folder: Folder = HERE,
    picture: Annotated[
        PictureFormat, typer.Option("--format", help="How to draw it.")
    ] = PictureFormat.text,
) -> None:
    """Draw the routing of a crew.

    Example: [bold]crew graph examples/routing --format mermaid[/]
    """
    checked = check(folder, imports=False)
    if failed(checked.problems):
        raise ConfigurationError(checked.problems, checked.files.texts)
    print(PICTURES[picture](RoutingGraph.of(routing_of(checked.files), entry_point(checked.files))))


def schema(kind: Annotated[SchemaKind, typer.Argument(help="The kind of file.")]) -> None:
    """Print the JSON Schema of a kind of file, for editors.

    Example: [bold]crew schema agent > agent.schema.json[/]
    """
    print(json.dumps(schema_of(kind), ensure_ascii=False, indent=2))


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    full: Annotated[
        bool,
        typer.Option("--full", help="Write one with every key there is, to look things up in."),
    ] = False,
) -> None:
    """Write a small crew that plays at once, without a key.

    Example: [bold]crew init my-crew && crew run my-crew hello[/]
    """
    written = starter_files("full" if full else "small")
    there = [name for name in written if (folder / name).exists()]
    if there:
        fail(f"{folder / there[0]} is there already; nothing was written")
    try:
        for name, text in written.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    query = "Our web site is slow" if full else "How is this machine?"
    print(
        f"Wrote {folder}. Try: crew run {folder} {query!r}{' --provider scripted' if full else ''}"
    )


ALL = (validate, explain, graph, schema, init)
