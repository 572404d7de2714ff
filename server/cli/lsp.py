"""`crew lsp`: a language server for editors."""

import importlib
import importlib.util
from typing import Annotated

import typer

from server.cli.exits import Exit, fail
from server.cli.opening import guard_process


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
) -> None:
    """Serve an editor: problems while you type, completion, hover, definitions, fixes.

    Nothing of a folder is run, and no server of its tools is called.

    Example: [bold]crew lsp[/]
    """
    if importlib.util.find_spec("pygls") is None:
        fail("crew lsp needs pygls: pip install 'crewline[lsp]'", Exit.USAGE)
    guard_process()
    server = importlib.import_module("server.lsp.service").make_server()
    if port is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", port)
