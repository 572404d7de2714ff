"""Conversations and memory: `crew conversations`, `crew memory`."""

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from pydantic_core import to_json

from crew.backends.memory import MemoryStore
from crew.crew import Crew
from crew.journal.records.conversations import Conversation, Exchange, owner_of
from crew.journal.records.remembered.core import CoreVersion, user_in
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.store import RunStore
from crew.memory.core import CoreRule, block_text
from crew.runs.conversations.conversations import all_exchanges, as_markdown
from crew.runs.errors import UnknownItem
from crew.runs.memory.people import PeopleMemory
from server.cli.commands.audit import record_action
from server.cli.exits import HERE, Exit, Folder, fail, say_none
from server.cli.opening import load_to_look, open_runs, open_to_look
from server.cli.options import User, checked_id, checked_user
from server.cli.playing.play import forget_user
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, place_arguments
from server.client.targets import Target
from server.http.responses import (
    describe_block,
    describe_item,
    describe_listed_conversation,
    export_document,
)
from tools.text.texts import visible, visible_json

FORMATS = ("json", "md")
# of recall memory, the newest
MAX_ITEMS = 1000


def conversations(
    folder: GivenFolder = None,
    conversation_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Show this one.", show_default="list the newest"),
    ] = None,
    user_id: User = "",
    text: Annotated[
        str | None, typer.Option("--text", help="List only those with it in title or query.")
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(metavar="F", help="json or md: print all of it; a file.json or file.md."),
    ] = None,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Delete it, with its runs and all that is kept of them."),
    ] = False,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """List the conversations of a crew, or show, export or delete one.

    Example: [bold]crew conversations examples/conversation --user ann[/]
    """
    target, home, (conversation_id,) = place_arguments(server, profile, folder, conversation_id)
    if conversation_id is None and (export is not None or delete):
        option = "--delete" if delete else "--export"
        raise typer.BadParameter("give the conversation's ID", param_hint=option)
    if export is not None and export.rpartition(".")[2] not in FORMATS:
        raise typer.BadParameter("is json, md, or a file of one of them", param_hint="--export")
    if target is not None:
        _served(target, conversation_id, user_id, text, export, delete, as_document)
        return
    store, owner = open_to_look(home), owner_of(user_id)
    if store is None:
        if conversation_id is not None:
            fail(f"there is no conversation {conversation_id}")
        say_none("no conversation yet; crew talk DIR begins one", as_document=as_document)
        return
    if conversation_id is None:
        found = asyncio.run(_list(store, owner, text))
        for one in found:
            print(_line(one, as_document=as_document))
        if not found and not user_id and text is None:
            none = "there are none without a user; --user ID lists a user's"
            say_none(none, as_document=as_document)
        elif not found:
            say_none("no conversation fits", as_document=as_document)
    elif delete:
        asyncio.run(_delete(store, owner, conversation_id))
        print(f"Deleted {visible(conversation_id)}.")
    else:
        _show(*asyncio.run(_read(store, owner, conversation_id)), export, as_document=as_document)


def _served(
    target: Target,
    conversation_id: str | None,
    user_id: str,
    text: str | None,
    export: str | None,
    delete: bool,
    as_document: bool,
) -> None:
    whose = {"user_id": user_id or None}
    with opened_api(target, HERE) as api:
        if conversation_id is None:
            found = api.read("/conversations", **whose, text=text)["conversations"]
            for one in found:
                print(_listed_line(one, as_document=as_document))
            if not found:
                say_none("no conversation fits", as_document=as_document)
            return
        path = f"/conversations/{quote(conversation_id, safe='')}"
        if delete:
            api.send("DELETE", path, parameters=whose)
            print(f"Deleted {visible(conversation_id)}.")
            return
        wanted = "json" if as_document else "md"
        if export is not None:
            wanted = export.rpartition(".")[2]
        document = api.read(f"{path}/export", **whose, format=wanted)
        _write(document if wanted == "md" else None, document, wanted, export)


async def _list(store: RunStore, owner: str, text: str | None) -> list[Conversation]:
    try:
        return await store.conversations.listed(owner, text=text)
    finally:
        await store.aclose()


async def _read(
    store: RunStore, owner: str, conversation_id: str
) -> tuple[Conversation, list[Exchange], Mapping[str, Any]]:
    """Return a conversation, all of its exchanges, and both as a document."""
    log = store.conversations
    try:
        known = await log.get(owner, conversation_id)
        if known is None:
            fail(f"there is no conversation {conversation_id}")
        found = await all_exchanges(store, owner, conversation_id)
        summary = await log.summary(owner, conversation_id)
        return known, found, export_document(known, found, summary)
    finally:
        await store.aclose()


async def _delete(store: RunStore, owner: str, conversation_id: str) -> None:
    try:
        match await store.conversations.delete(owner, conversation_id):
            case "none":
                fail(f"there is no conversation {conversation_id}")
            case "busy":
                known = await store.conversations.get(owner, conversation_id)
                run_id = known.busy if known is not None else None
                fail(f"its run is at work or paused; end it first: crew cancel {run_id}")
            case "deleted":
                detail = f"conversation {conversation_id}"
                await record_action(store, "delete", None, detail, user_in(owner))
    finally:
        await store.aclose()


def _show(
    known: Conversation,
    exchanges: list[Exchange],
    document: Mapping[str, Any],
    export: str | None,
    *,
    as_document: bool,
) -> None:
    wanted = "json" if as_document else "md"
    if export is not None:
        wanted = export.rpartition(".")[2]
    _write(as_markdown(known, exchanges), document, wanted, export)


def _write(markdown: str | None, document: Any, wanted: str, export: str | None) -> None:
    text = markdown or ""
    if wanted == "json":
        text = visible_json(to_json(document).decode()) + "\n"
    if export is None or export in FORMATS:
        print(text if wanted == "json" else visible(text), end="")
        return
    try:
        Path(export).write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{export}: {error.strerror}", Exit.FAILED)


def _line(one: Conversation, *, as_document: bool) -> str:
    return _listed_line(describe_listed_conversation(one), as_document=as_document)


def _listed_line(one: Mapping[str, Any], *, as_document: bool) -> str:
    if as_document:
        return visible_json(to_json(one).decode())
    count = f"{one['exchanges']} exchange{'s' * (one['exchanges'] != 1)}"
    return visible(f"{one['conversation_id']}  {one['used_at']}  {count:>14}  {one['title']}")


def memory(
    folder: Folder = HERE,
    user_id: User = "",
    conversation_id: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            metavar="ID",
            help="With the blocks of this conversation.",
            show_default="none",
            callback=checked_id,
        ),
    ] = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one block a line.")
    ] = False,
) -> None:
    """Show what a crew remembers of a user: blocks of core memory, and items of recall memory.

    Example: [bold]crew memory examples/assistant --user ann[/]
    """
    crew = load_to_look(folder)
    store = open_to_look(folder) or MemoryStore()
    blocks, items = asyncio.run(_remembered(store, crew, user_id, conversation_id or ""))
    if not blocks and not items:
        why = "nothing is remembered; name a user with --user"
        say_none(why if crew.memory else "crew.yaml has no memory", as_document=as_document)
    for rule, version in blocks:
        if as_document:
            print(visible_json(to_json(describe_block(version)).decode()))
            continue
        by = f", by {version.by} {version.who}".rstrip() if version.version else ""
        print(visible(f"{rule.name}: {rule.description} (version {version.version}{by})"))
        for line in block_text(rule, version.value).split("\n"):
            print(visible(f"  {line}"))
    for item in items:
        if as_document:
            print(visible_json(to_json(describe_item(item)).decode()))
            continue
        quoted = f'\n  said: "{item.quote}"' if item.quote else ""
        print(visible(f"{item.item_id}  {item.seen_at[:10]}  {item.text}{quoted}"))


def forget(
    folder: Folder = HERE,
    user_id: Annotated[
        str, typer.Option("--user", metavar="ID", help="The user.", callback=checked_user)
    ] = "",
) -> None:
    """Erase all that is kept of a user: runs, conversations, memory, audit.

    Runs are ended first. What remains is a digest of the id, and how much there was. Ends with 3
    where the server that is at work does it, and has not done it yet.

    Example: [bold]crew forget examples/assistant --user ann[/]
    """
    if not user_id:
        raise typer.BadParameter("give the user's ID", param_hint="--user")
    erasure = asyncio.run(forget_user(open_runs(load_to_look(folder), folder), user_id))
    if not erasure.done_at:
        print(f"crew: {visible(user_id)} is being erased by the server", file=sys.stderr)
        raise typer.Exit(Exit.PAUSED)
    counts = ", ".join(f"{count} {name}" for name, count in (erasure.counts or {}).items())
    print(visible(f"Erased {user_id}: {counts or 'there was nothing'}."))


async def _remembered(
    store: RunStore, crew: Crew, user_id: str, conversation_id: str
) -> tuple[list[tuple[CoreRule, CoreVersion]], list[RecallItem]]:
    place = user_id, conversation_id
    known = PeopleMemory(store, lambda: crew)
    items: list[RecallItem] = []
    try:
        blocks = [
            (one, await known.core.get(one.name, *place)) for one in known.core.blocks(*place)
        ]
        # none where the crew has no recall memory, or this names no user
        with contextlib.suppress(UnknownItem):
            items = await known.recall.listed(*place, MAX_ITEMS)
        return blocks, items
    finally:
        await store.aclose()
