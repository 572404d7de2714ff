"""Approvals that outlive their run: `crew grants`."""

import asyncio
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic_core import to_json

from crew.journal.records.grants import Grant
from crew.journal.store import RunStore
from server.cli.commands.audit import record_action
from server.cli.exits import HERE, Exit, fail, say_none
from server.cli.opening import open_to_look
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from tools.clock import rfc3339
from tools.text.texts import visible, visible_json

NONE = "no grant: nobody has approved a call for all runs (remember: always)"


def grants(
    folder: GivenFolder = None,
    revoke: Annotated[
        str | None, typer.Option(metavar="ID", help="End one: a person is asked again.")
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show which calls a person has approved for all runs (`remember: always`), newest first.

    Example: [bold]crew grants examples/it-support[/]
    """
    if (target := chosen_target(server, profile, folder)) is not None:
        with opened_api(target, HERE) as api:
            if revoke is not None:
                api.send("DELETE", f"/grants/{quote(revoke, safe='')}")
            found = [Grant(**one) for one in api.read("/grants")["grants"]]
        _print(found, as_document=as_document)
        return
    if (store := open_to_look(folder or HERE)) is None:
        if revoke is not None:
            fail(f"there is no grant {revoke!r}", Exit.USAGE)
        say_none(NONE, as_document=as_document)
        return
    _print(asyncio.run(_look(store, revoke)), as_document=as_document)


def _print(found: Sequence[Grant], *, as_document: bool) -> None:
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
