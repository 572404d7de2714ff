"""Who did what: `crew audit`, and what the commands themselves add to it."""

import asyncio
import getpass
import json
import os
from dataclasses import asdict
from typing import Annotated, get_args

import typer

from crew.journal.records.audit import LOCAL, LOCAL_USER, AuditAction, AuditEntry, AuditFilter
from crew.journal.records.listing import beginning_of
from crew.journal.store import RunStore
from server.cli.exits import HERE, say_none
from server.cli.matching import Until, wanted_of
from server.cli.opening import open_to_look
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from tools.clock import rfc3339
from tools.text.texts import visible, visible_json

ACTIONS = get_args(AuditAction)
# of one answer of a server
MAX_ENTRIES = 1000


def action_entry(
    store: RunStore, action: AuditAction, run_id: str | None, detail: str = "", user_id: str = ""
) -> AuditEntry:
    """Return the entry of what a command does; `user_id`: the person that it is about."""
    now = rfc3339(store.now())
    return AuditEntry(now, action, user_name(), LOCAL, run_id, "", detail, user_id)


async def record_action(
    store: RunStore, action: AuditAction, run_id: str | None, detail: str = "", user_id: str = ""
) -> None:
    """Keep what a command did, with the person that it is about; raises StoreError."""
    await store.audit.record(action_entry(store, action, run_id, detail, user_id))


def user_name() -> str:
    """Return who types commands: the name that the system knows."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        # a user without a name, as in some containers
        name = str(os.getuid())
    return f"{LOCAL_USER}{name}"


def audit(
    folder: GivenFolder = None,
    action: Annotated[
        str | None, typer.Option(help=f"Only one of {', '.join(ACTIONS)}.", show_default="all")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only what is about this run.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only what this token, or account, did."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Not before: a time, or so long ago, as 7d."),
    ] = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="So many at most.", min=1, max=100_000)] = 100,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show who did what, newest first: starts, answers, cancels, reloads, refusals and so on.

    Example: [bold]crew audit examples/it-support --action answer[/]
    """
    wanted = next((one for one in ACTIONS if one == action), None)
    if action is not None and wanted is None:
        raise typer.BadParameter(f"is one of {', '.join(ACTIONS)}", param_hint="--action")
    fitting = wanted_of(action=wanted, run_id=run_id, name=name, since=since, until=until)
    found: list[AuditEntry] = []
    if (target := chosen_target(server, profile, folder)) is not None:
        with opened_api(target, HERE) as api:
            asked = {**fitting, "limit": min(limit, MAX_ENTRIES)}
            found = [AuditEntry(**one) for one in api.read("/audit", **asked)["entries"]]
    elif (store := open_to_look(folder or HERE)) is not None:
        for one in fitting.keys() & {"since", "until"}:
            fitting[one] = beginning_of(fitting[one])
        found = asyncio.run(_read(store, limit, AuditFilter(**fitting)))
    if not found:
        say_none("nothing is recorded yet, or nothing that fits", as_document=as_document)
    for entry in found:
        if as_document:
            print(visible_json(json.dumps(asdict(entry), ensure_ascii=False)))
        else:
            who = f"{entry.name or '-'}@{entry.address}"
            parts = (entry.at, f"{entry.action:<11}", who, entry.run_id or "", entry.detail)
            print(visible("  ".join(part for part in parts if part)))


async def _read(store: RunStore, limit: int, wanted: AuditFilter) -> list[AuditEntry]:
    try:
        return list(await store.audit.entries(limit, wanted))
    finally:
        await store.aclose()
