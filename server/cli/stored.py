"""The runs that are kept: found, listed, shown."""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.errors import UnknownRun
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.reader import RunReader
from server.cli.view.output import Output
from server.cli.view.run_view import RunView
from tools.clock import SYSTEM_CLOCK
from tools.text.texts import visible, visible_json

LISTED_KEYS = ("run_id", "status", "reason", "started_at", "query", "source", "source_name")
# between two looks at runs that are watched
WATCH_SECONDS = 1.0


async def show_run(store: RunStore, run_id: str, *, as_document: bool) -> None:
    """Print a run with its events; raises UnknownRun."""
    output = Output(as_lines=as_document)
    try:
        reader = RunReader(LiveRuns(store, SYSTEM_CLOCK))
        row = await reader.row(await find_run(store, run_id))
        output.view.query = row.query
        async for event in reader.stored(row.run_id):
            output.show(event)
    finally:
        await store.aclose()


async def list_runs(
    store: RunStore, status: RunStatus | None, *, as_document: bool, watch: bool
) -> int:
    """Print the newest runs; with `watch`, those that are new or have changed, until Ctrl-C.

    Returns how many there are.
    """
    shown: dict[str, RunRow] = {}
    try:
        while True:
            rows = await store.rows(RunFilter(status))
            for row in rows if not watch else reversed(rows):
                if shown.get(row.run_id) != row:
                    shown[row.run_id] = row
                    document = {key: getattr(row, key) for key in LISTED_KEYS}
                    print_listed(document, as_document=as_document)
            if not watch:
                return len(rows)
            sys.stdout.flush()
            await asyncio.sleep(WATCH_SECONDS)
    finally:
        await store.aclose()


async def find_run(store: RunStore, text: str) -> str:
    """Find the id of the run that a person means: by its id, the beginning of it, or `last`.

    Raises:
        UnknownRun: there is none, or there are several.
    """
    if text == "last":
        newest = await store.rows(limit=1)
        if not newest:
            raise UnknownRun(text)
        return newest[0].run_id
    if await store.row(text) is not None:
        return text
    # newest first, from behind all that begin so
    near = await store.rows(limit=2, after=f"{text}~") if text else []
    found = [row.run_id for row in near if row.run_id.startswith(text)]
    if len(found) > 1:
        raise UnknownRun(f"{text}…: several runs begin so")
    if not found:
        raise UnknownRun(text)
    return found[0]


def print_listed(run: Mapping[str, Any], *, as_document: bool) -> None:
    """Print a run of a list: its LISTED_KEYS, as JSON or as a line."""
    if as_document:
        document = {key: run[key] for key in LISTED_KEYS}
        print(visible_json(json.dumps(document, ensure_ascii=False)))
        return
    query = " ".join(run["query"].split())[:60]
    line = f"{run['run_id']}  {run['started_at']}  {run['status']:<9}  {query}"
    if run["source_name"]:
        line = f"{line}  [{run['source']} {run['source_name']}]"
    print(visible(line))


def print_waiting(
    console: Console, run_id: str, query: str, answer: str | None, pause: RunEvent
) -> RunView:
    """Print what a paused run asks; returns the view of it."""
    words = escape(visible(" ".join(query.split())[:200]))
    since = escape(pause.timestamp)
    console.print(f"[bold]{words}[/] [dim]{run_id}, since {since}[/]", soft_wrap=True)
    if answer:
        console.print(f"  {escape(visible(answer.strip()))}", soft_wrap=True)
    view = RunView(console)
    view.show(pause)
    return view
