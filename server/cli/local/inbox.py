"""The runs of a folder that wait for a person."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.journal.wire import RunEvent
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.reader import RunReader
from server.cli.hints import answer_commands, command_here
from server.cli.opening import open_to_look
from server.cli.view.listed import print_viewers, print_waiting
from server.http.responses import describe_inbox_run
from tools.clock import SYSTEM_CLOCK, rfc3339
from tools.text.texts import visible_json

# runs in one look at the store
PAGE = 100


def show_inbox(folder: Path, *, as_document: bool) -> int:
    """Print the runs that wait; returns how many."""
    store = open_to_look(folder)
    return asyncio.run(_show(store, folder, as_document=as_document)) if store is not None else 0


async def _show(store: RunStore, folder: Path, *, as_document: bool) -> int:
    """Print the runs that wait; returns how many."""
    count = 0
    reader, console = RunReader(LiveRuns(store, SYSTEM_CLOCK)), Console(highlight=False)
    after: str | None = None
    try:
        while rows := await store.rows(RunFilter("paused"), PAGE, after, oldest_first=True):
            looking = await store.viewers.find([row.run_id for row in rows], rfc3339(store.now()))
            for row in rows:
                count += 1
                pause = await reader.pause_of(row)
                viewers = [one for one in looking if one.run_id == row.run_id]
                if as_document:
                    shown = describe_inbox_run(row, pause, viewers)
                    print(visible_json(json.dumps(shown, ensure_ascii=False)))
                elif pause is not None:
                    _print(console, folder, row, pause, [one.name for one in viewers])
            after = rows[-1].run_id
        return count
    finally:
        await store.aclose()


def _print(
    console: Console, folder: Path, row: RunRow, pause: RunEvent, viewers: Sequence[str]
) -> None:
    view = print_waiting(console, row.run_id, row.query, row.answer, pause)
    print_viewers(console, viewers)
    base = command_here(folder, row.run_id)
    for command in answer_commands(base, view.question, view.calls):
        console.print(f"  {escape(command)}", soft_wrap=True)
    console.print()
