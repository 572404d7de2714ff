"""The runs that are kept: found, listed, shown."""

import asyncio
import sys

from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.runs.errors import UnknownRun
from crew.runs.streams.live import LiveRuns
from crew.runs.streams.reader import RunReader
from server.cli.view.listed import LISTED_KEYS, print_listed
from server.cli.view.output import Output
from tools.clock import SYSTEM_CLOCK

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
