"""Approvals that outlive their run: `crew grants`."""

import asyncio
from typing import Annotated

import typer
from pydantic_core import to_json

from crew.journal.records.grants import Grant
from crew.journal.store import RunStore
from server.cli.commands.audit import record_action
from server.cli.exits import HERE, Exit, Folder, fail, say_none
from server.cli.opening import open_to_look
from tools.clock import rfc3339
from tools.text.texts import visible, visible_json

NONE = "no grant: nobody has approved a call for all runs (remember: always)"


def grants(
    folder: Folder = HERE,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="End one: a person is asked again.")
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Show which calls a person has approved for all runs (`remember: always`), newest first.

    Example: [bold]crew grants examples/it-support[/]
    """
    if (store := open_to_look(folder)) is None:
        if revoke is not None:
            fail(f"there is no grant {revoke!r}", Exit.USAGE)
        say_none(NONE, as_document=as_document)
        return
    found = asyncio.run(_look(store, revoke))
    if not found:
        say_none(NONE, as_document=as_document)
    for one in found:
        if as_document:
            print(visible_json(to_json(one).decode()))
        else:
            print(visible(_line(one)))


async def _look(store: RunStore, revoke: str | None) -> list[Grant]:
    """Return the grants that there are; with `revoke`, one of them is ended first."""
    try:
        if revoke is not None:
            if not await store.grants.revoke(revoke):
                fail(f"there is no grant {revoke!r}", Exit.USAGE)
            await record_action(store, "revoke", None, revoke)
        return await store.grants.find(rfc3339(store.now()))
    finally:
        await store.aclose()


def _line(one: Grant) -> str:
    exact = [f"{name}={to_json(value).decode()}" for name, value in one.arguments.items()]
    globs = [f"{name} like {glob}" for name, glob in one.patterns.items()]
    call = f"{one.tool}({', '.join([*exact, *globs])})"
    return f"{one.id}  {call}  of {one.agent_id}, by {one.by or '-'}, until {one.until}"
