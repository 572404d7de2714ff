"""The command that serves a crew to a program which starts it, by MCP over its pipes."""

import asyncio
import importlib
from typing import Any

import typer

from crew.runs.runs import Runs
from server.cli.exits import HERE, Exit, Folder, fail
from server.cli.opening import load, open_runs
from server.cli.options import Provider
from server.tokens import Tokens


def mcp(folder: Folder = HERE, provider: Provider = None) -> None:
    """Serve a crew as an MCP server on stdin and stdout, for a program that starts it.

    Its log goes to stderr. Over HTTP, `crew serve` has the same at /mcp.

    Example: [bold]crew mcp examples/it-support[/]
    """
    try:
        local = importlib.import_module("server.protocols.mcp.local")
    except ModuleNotFoundError:
        fail("it needs the package of MCP: pip install 'crewline[mcp]'", Exit.USAGE)
    crew = load(folder, provider)
    runs = open_runs(crew, folder)
    asyncio.run(_serve(runs, local))
    raise typer.Exit(Exit.GOOD)


async def _serve(runs: Runs, local: Any) -> None:
    async with runs:
        await runs.documents.sync()
        caller = Tokens().anonymous.caller
        await local.serve_stdio(runs, caller)
