"""When a crew's schedules are due: `crew schedules`."""

import asyncio
from datetime import datetime
from itertools import islice
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from pydantic_core import to_json

from crew.config.keys.schedules import ScheduleConfig
from crew.crew import Crew
from crew.journal.records.rows import RunRow
from crew.journal.records.schedules import key_of
from crew.journal.store import RunStore
from server.cli.exits import HERE, Folder, say_none
from server.cli.opening import load, open_to_look
from tools.clock import rfc3339
from tools.text.texts import visible, visible_json

SHOWN_TIMES = 3


def schedules(
    folder: Folder = HERE,
    as_document: Annotated[
        bool, typer.Option("--json", help="Print JSON, one object a line.")
    ] = False,
) -> None:
    """Show when each of `schedules` is due next, and the run that it has started last.

    Example: [bold]crew schedules examples/on-call[/]
    """
    crew = load(folder, None, asks=False)
    store = open_to_look(folder)
    started = asyncio.run(_started(store, crew)) if store is not None else {}
    if not crew.config.schedules:
        say_none("crew.yaml has no schedules", as_document=as_document)
    for name, schedule in crew.config.schedules.items():
        times = list(islice(schedule.times(crew.clock.now()), SHOWN_TIMES))
        run = started.get(name)
        if as_document:
            last = {"run_id": run.run_id, "status": run.status} if run else None
            due = [rfc3339(time) for time in times]
            document = {"name": name, **schedule.model_dump(), "next": due, "last": last}
            print(visible_json(to_json(document).decode()))
        else:
            print(visible(_text(name, schedule, times, run)))


async def _started(store: RunStore, crew: Crew) -> dict[str, RunRow]:
    """Return the run that each schedule has started last, by name.

    Without those that are purged.
    """
    try:
        states = await store.schedules.states()
        found = {
            name: await store.row(states[key][0].run_id)
            for name in crew.config.schedules
            if (key := key_of(crew.name, name)) in states
        }
    finally:
        await store.aclose()
    return {name: row for name, row in found.items() if row is not None}


def _text(name: str, schedule: ScheduleConfig, times: list[datetime], run: RunRow | None) -> str:
    zone = ZoneInfo(schedule.time_zone)
    due = ", ".join(f"{time.astimezone(zone):%a %Y-%m-%d %H:%M}" for time in times)
    last = f"{run.run_id} {run.status}, started {run.started_at}" if run else "none"
    return (
        f"{name}  {schedule.cron}  {schedule.time_zone}\n"
        f"  asks: {' '.join(schedule.query.split())}\n"
        f"  next: {due}\n"
        f"  last run: {last}"
    )
