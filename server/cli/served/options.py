"""The options of commands that can go to a server."""

import os
from pathlib import Path
from typing import Annotated

import typer

from server.cli.exits import Exit, fail
from server.client.targets import TOKEN, Target, find_target


def _in_order(context: typer.Context, folder: Path | None) -> Path | None:
    """Return the folder; ends the command where another argument is one, and this is none."""
    if folder is None or folder.is_dir():
        return folder
    words = [one for one in context.params.values() if isinstance(one, str) and one]
    if words and Path(words[0]).is_dir():
        command = context.command_path
        fail(f"there is no folder {folder}: DIR stands last; see `{command} --help`", Exit.USAGE)
    return folder


GivenFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR",
        callback=_in_order,
        help="The crew's folder, with crew.yaml in it; left out where a server is meant.",
        show_default="the current folder",
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help=f"Ask this server in place of a folder; the token is in {TOKEN}.",
        show_default=False,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="Ask the server of this name; crew profile list shows them.",
        show_default=False,
    ),
]


def chosen_target(
    server: str | None, profile: str | None, folder: Path | None = None
) -> Target | None:
    """Return the server that a command goes to; None: none. Raises TargetError.

    Ends the command where a folder is given beside it.

    Args:
        server: as it was given.
        profile: as it was given.
        folder: that was given; None: none was. It is meant before the environment.
    """
    if folder is not None:
        if server is not None or profile is not None:
            option = "--server" if server is not None else "--profile"
            fail(f"{option}: it stands in place of DIR; give one of them", Exit.USAGE)
        return None
    return find_target(os.environ, server, profile)


def place_arguments(
    server: str | None, profile: str | None, first: str | Path | None, *more: str | None
) -> tuple[Target | None, Path, list[str | None]]:
    """Return the server or the folder that is meant, and the other arguments.

    Where a server is meant, DIR is left out, so that each argument stands one place before.

    Args:
        server: as it was given.
        profile: as it was given.
        first: the first argument: DIR, or the one behind it.
        more: the others.
    """
    is_folder = first is not None and Path(first).is_dir()
    last_is_given = bool(more) and more[-1] is not None
    target = chosen_target(
        server, profile, Path(first or "") if is_folder or last_is_given else None
    )
    if target is None:
        return None, Path(first or ""), list(more)
    return target, Path(), [None if first is None else str(first), *more][: len(more)]
