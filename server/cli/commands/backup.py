"""`crew backup`: a copy of the database, also while a server writes to it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from crew.backends.sqlite.backup import Backup
from crew.database import is_shared, sqlite_path
from server.backups import backup_name, forget_backups, make_backup
from server.cli.exits import Exit, Folder, fail
from server.cli.hints import shell_quoted
from tools.clock import SYSTEM_CLOCK
from tools.text.texts import visible


def backup(
    folder: Folder,
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to make; or a folder, for one in it.")
    ],
    keep: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With a folder: delete all but so many of the newest backups in it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Copy the database of a crew's runs to a file, also while a server writes, and check it.

    Ends with 1 where the copy cannot be made or is bad; then no file is left.

    Example: [bold]crew backup examples/it-support /tmp/crew.db[/]
    """
    url = os.environ.get("CREW_DATABASE_URL")
    if is_shared(url):
        text = (
            "a PostgreSQL database is backed up by its own program, while it is used: pg_dump -Fc"
        )
        fail(f"{text} --file={shell_quoted(str(target))} (with PGHOST, PGUSER…)", Exit.USAGE)
    source = sqlite_path(url, folder)
    if source is None:
        fail("memory: keeps nothing, so there is nothing to back up", Exit.USAGE)
    if keep is not None and not target.is_dir():
        raise typer.BadParameter("it goes with a folder", param_hint="--keep")
    now = SYSTEM_CLOCK.now()
    kept = target / backup_name(now) if target.is_dir() else target
    _print(make_backup(source, kept, now))
    if keep is not None:
        for one in forget_backups(target, keep):
            print(f"deleted {visible(str(one))}")


def _print(made: Backup) -> None:
    print(
        f"{visible(str(made.path))}: {made.runs} runs, {made.events} events, "
        f"{made.size_bytes} bytes, checked\nsha256 {made.sha256}"
    )
