"""`crew inbox`: the runs that wait for a person."""

import importlib
from typing import Annotated

import typer

from server.cli.exits import HERE, say_none
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from server.cli.served.runs import show_served_inbox


def inbox(
    folder: GivenFolder = None,
    server: Server = None,
    profile: Profile = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Show every run that waits for a person, oldest first, and how each is answered.

    Example: [bold]crew inbox examples/pausing[/]
    """
    shown, home = 0, folder or HERE
    target = chosen_target(server, profile, folder)
    if target is not None:
        with opened_api(target, home) as api:
            shown = show_served_inbox(api, as_document=as_document)
    else:
        local = importlib.import_module("server.cli.local.inbox")
        shown = local.show_inbox(home, as_document=as_document)
    if not shown:
        say_none("no run waits for a person", as_document=as_document)
