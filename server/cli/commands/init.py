"""The command that writes a crew: init."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from server.cli.exits import Exit, fail
from server.cli.hints import quoted, shell_quoted
from server.cli.starting.interview import crew_of_answers
from server.cli.starting.starter import Made, starter_files
from server.cli.starting.starter_from import crew_from
from tools.errors import ToolDefinitionError
from tools.text.texts import visible


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    of: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="With --from: the document, command or URL."),
    ] = None,
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Write one that shows every key there is.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="KIND",
            help="Write one of what there is: FILE --from openapi, 'COMMAND ARGUMENTS' --from mcp "
            "(or URL), --from runbook.md, or --from a file of a desktop client or editor "
            "(mcpServers), of crewAI, cagent or conductor.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: write the small crew.")] = False,
) -> None:
    """Write a crew that runs at once, without a key; in a terminal, after three questions.

    Example: [bold]crew init my-crew && crew run my-crew hello[/]
    Example: [bold]crew init my-crew --from runbook.md[/]
    """
    if full and source is not None:
        raise typer.BadParameter("give --full or --from", param_hint="--from")
    if of is not None and source is None:
        raise typer.BadParameter("belongs to --from openapi or --from mcp", param_hint="SOURCE")
    asks = not full and not yes and source is None and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and any(folder.glob("crew.yaml")):
        fail(f"{folder / 'crew.yaml'} exists already; nothing was written")
    try:
        made = crew_of_answers(typer.prompt) if asks else None
    except typer.Abort:
        print()
        fail("ended; nothing was written", Exit.INTERRUPTED)
    if source is not None:
        made = _made(source, of)
    if made is not None:
        for one in made.told:
            print(visible(one), file=sys.stderr)
        written = {**made.files, **starter_files(None)}
    else:
        written = starter_files("full" if full else "small")
    existing = [name for name in written if (folder / name).exists()]
    if existing:
        fail(f"{folder / existing[0]} exists already; nothing was written")
    begun: list[Path] = []
    made_folders = [one for name in written for one in _missing((folder / name).parent)]
    for name, text in written.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            begun.append(folder / name)
            begun[-1].write_text(text, encoding="utf-8")
        except OSError as error:
            # half of a crew would be refused the next time
            for path in begun:
                path.unlink(missing_ok=True)
            for path in sorted(set(made_folders), reverse=True):
                with contextlib.suppress(OSError):
                    path.rmdir()
            fail(f"{folder / name}: {error.strerror}; nothing was written")
    query, option = "How is this machine?", ""
    if full:
        query, option = "Our web site is slow", " --provider scripted"
    elif made is not None:
        query, option = made.query, made.option
    print(
        visible(f"Wrote {folder}."), f"Try: crew run {quoted(folder)} {shell_quoted(query)}{option}"
    )


def _missing(folder: Path) -> list[Path]:
    """Return a folder, and those above it, as far as they are not there yet."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def _made(source: str, of: str | None) -> Made:
    """Return the crew that `--from` names; what cannot be made ends the command."""
    try:
        return crew_from(source, of)
    except (ToolDefinitionError, ValidationError) as error:
        fail(visible(str(error)), Exit.USAGE)
