"""What starts runs by itself: `crew schedules`, `crew hooks`."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import typer
from pydantic_core import to_json

from crew.backends.memory import MemoryStore
from crew.crew import Crew
from crew.journal.store import RunStore
from crew.runs.upkeep.due import due_schedules
from server.cli.exits import HERE, say_none
from server.cli.opening import load_to_look, open_to_look
from server.cli.served.api import opened_api
from server.cli.served.options import GivenFolder, Profile, Server, chosen_target
from tools.text.texts import visible, visible_json


def schedules(
    folder: GivenFolder = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start a run of this one now, at a server.")
    ] = None,
    pause: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start nothing at the times of this one.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let this one go on, from now.")
    ] = None,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show when each of `schedules` is due next, and the run that it has started last.

    Example: [bold]crew schedules examples/on-call[/]
    """
    target = chosen_target(server, profile, folder)
    chosen = [one for one in (run, pause, resume) if one is not None]
    if len(chosen) > 1:
        raise typer.BadParameter("give one of --run, --pause and --resume", param_hint="--pause")
    if chosen:
        if run is not None and target is None:
            text = "it is for a server; crew run DIR QUESTION starts a run here"
            raise typer.BadParameter(text, param_hint="--run")
        with opened_api(target, folder or HERE) as api:
            path = f"/schedules/{quote(chosen[0], safe='')}"
            if run is not None:
                begun = api.send("POST", f"{path}/run")
                print(to_json(begun).decode() if as_document else begun["run_id"])
            else:
                shown = api.send("POST", f"{path}/pause", {"paused": pause is not None})
                _print(shown, as_document=as_document)
        return
    if target is not None:
        with opened_api(target, HERE) as api:
            found = api.read("/schedules")["schedules"]
    else:
        crew, store = load_to_look(folder or HERE), open_to_look(folder or HERE)
        found = asyncio.run(_look(store or MemoryStore(), crew))
    if not found:
        say_none("crew.yaml has no schedules", as_document=as_document)
    for one in found:
        _print(one, as_document=as_document)


def _print(one: Mapping[str, Any], *, as_document: bool) -> None:
    print(visible_json(to_json(one).decode()) if as_document else visible(_text(one)))


def hooks(
    folder: GivenFolder = None,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
    server: Server = None,
    profile: Profile = None,
) -> None:
    """Show where each of `hooks` takes its posts, and the run that it has started last.

    Example: [bold]crew hooks examples/on-call[/]
    """
    target = chosen_target(server, profile, folder)
    with opened_api(target, folder or HERE) as api:
        found = api.read("/hooks")["hooks"]
    if not found:
        say_none("crew.yaml has no hooks", as_document=as_document)
    base = target.url if target is not None else ""
    for one in found:
        refused = [f"\n  refused: {each['at']} {each['why']}" for each in one["refused"]]
        text = f"{one['name']}  POST {base}{one['path']}\n  asks: {' '.join(one['query'].split())}"
        last = "\n  last run: " + (_started(one["recent"][0]) if one["recent"] else "none")
        whole = "".join((text, last, *refused))
        print(visible_json(to_json(one).decode()) if as_document else visible(whole))


def _started(run: Mapping[str, Any]) -> str:
    return f"{run['run_id']} {run['status']}, started {run['started_at']}"


async def _look(store: RunStore, crew: Crew) -> list[dict[str, Any]]:
    try:
        return await due_schedules(store, crew)
    finally:
        await store.aclose()


def _text(one: Mapping[str, Any]) -> str:
    zone = ZoneInfo(one["time_zone"])
    times = [datetime.fromisoformat(time).astimezone(zone) for time in one["next"]]
    due = ", ".join(f"{time:%a %Y-%m-%d %H:%M}" for time in times)
    last, run = "none", one["last"]
    if run is not None:
        # what it has started last is the first of them, unless it has started many at once
        times_of = {each["run_id"]: each["started_at"] for each in one["recent"]}
        started = times_of.get(run["run_id"])
        last = f"{run['run_id']} {run['status']}" + (f", started {started}" if started else "")
    paused = one["paused"]
    by = f" by {paused['by']}" if paused and paused["by"] else ""
    stopped = f"  paused{by} since {paused['at']}\n" if paused else ""
    return (
        f"{one['name']}  {one['cron']}  {one['time_zone']}\n"
        f"{stopped}"
        f"  asks: {' '.join(one['query'].split())}\n"
        f"  next: {due}\n"
        f"  last run: {last}"
    )
