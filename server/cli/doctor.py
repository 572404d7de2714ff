"""`crew doctor`: what an operator should know before the crew is served."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from crew.config.problems import has_failed
from crew.crew import check
from crew.database import open_store
from crew.errors import CrewError
from crew.journal.rows import Finding
from server.cli.exits import HERE, Exit, Folder
from server.cli.opening import hide_tokens
from server.settings import ServerSettings
from tools.texts import visible

MARKS = {
    "ok": "[green]✓[/]",
    "note": "[dim]·[/]",
    "warning": "[yellow]⚠[/]",
    "error": "[bold red]✗[/]",
}


def doctor(
    folder: Folder = HERE,
    database: Annotated[
        bool, typer.Option("--database", help="Look only at the database.")
    ] = False,
) -> None:
    """Look at a crew's files and its database, and say what may lose or refuse runs.

    Ends with 1 where something must be mended first.

    Example: [bold]crew doctor examples/it-support --database[/]
    """
    findings = [] if database else [_files(folder)]
    findings += asyncio.run(_database(folder))
    console = Console(highlight=False)
    for one in findings:
        console.print(
            f"{MARKS[one.level]} {one.level}: {escape(visible(one.text))}", soft_wrap=True
        )
    if any(one.level == "error" for one in findings):
        raise typer.Exit(Exit.FAILED)


def _files(folder: Path) -> Finding:
    hide_tokens()
    problems = check(folder).problems
    errors = sum(one.severity == "error" for one in problems)
    text = f"the files have {errors} errors and {len(problems) - errors} warnings"
    if has_failed(problems):
        return Finding("error", f"{text}: see crew validate {folder}")
    return Finding("warning" if problems else "ok", text)


async def _database(folder: Path) -> list[Finding]:
    url = ServerSettings.read(os.environ, "127.0.0.1", 0).database_url
    try:
        if url is None and not (folder / ".crew" / "crew.db").exists():
            # looking must not make a database
            return [Finding("note", "no run has been kept yet; crew serve makes the database")]
        store = await open_store(url, folder)
    except CrewError as error:
        return [Finding("error", str(error))]
    try:
        return await store.examine()
    except CrewError as error:
        return [Finding("error", str(error))]
    finally:
        await store.aclose()


COMMANDS = (doctor,)
