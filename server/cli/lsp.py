"""`crew lsp`: a language server for editors."""

import importlib
import importlib.util
from typing import Annotated

import typer

from server.cli.exits import Exit, fail
from server.cli.opening import guard_process
from server.cli.served.options import Profile, Server, chosen_target


def lsp(
    port: Annotated[
        int | None,
        typer.Option(
            "--tcp",
            metavar="PORT",
            min=1,
            max=65535,
            help="Listen there, on this machine only.",
            show_default="stdin and stdout",
        ),
    ] = None,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Serve an editor: problems while you type, completion, hover, definitions, fixes.

    Nothing of a folder is run, and no server of its tools is called, unless the editor says
    importTools. With a server each agent has the number of its runs of today above it.

    Example: [bold]crew lsp[/]
    """
    if importlib.util.find_spec("pygls") is None:
        fail("crew lsp needs pygls: pip install 'crewline[lsp]'", Exit.USAGE)
    guard_process()
    target = chosen_target(server, profile)
    made = importlib.import_module("server.lsp.service").make_server(target)
    if port is None:
        made.start_io()
    else:
        made.start_tcp("127.0.0.1", port)
