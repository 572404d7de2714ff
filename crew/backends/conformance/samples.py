"""Rows, events and writes that the checks are made of."""

import json
from dataclasses import replace

from agents.costs.usage import Usage
from crew.journal.errors import LostRun
from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import Appended, Record, RunRow, Write
from crew.journal.store import RunStore

DAY = "2026-01-{:02}T00:00:00.000Z"
PATIENCE_SECONDS = 10.0
# between two looks at what another task does
LOOK_SECONDS = 0.01


def sample_row(run_id: str, status: RunStatus = "running", **more: object) -> RunRow:
    """Return a row with something in every field that a store has to keep."""
    row = RunRow(run_id, "crew", status, "què?", DAY.format(1), "req", "rev", "scripted")
    return replace(row, **{"usage": Usage(1, 2, 0.5)} | more)  # type: ignore[arg-type] # fields of RunRow


def sample_records(first: int, last: int) -> list[Record]:
    """Return events of these numbers."""
    public = {"type": "warning", "agent": "a", "timestamp": DAY.format(1), "metadata": {}}
    numbers = range(first, last + 1)
    return [
        Record(n, json.dumps({**public, "content": str(n)}), json.dumps(["X", n])) for n in numbers
    ]


async def begin_run(
    store: RunStore, run_id: str, events: int = 1, status: RunStatus = "running", **more: object
) -> int:
    """Write a new run with so many events; its epoch."""
    row = sample_row(run_id, status, **more)
    return await epoch_of(store, Write(run_id, sample_records(1, events), row))


async def epoch_of(store: RunStore, write: Write) -> int:
    """Return the epoch of a write that must be stored."""
    result = await store.append(write)
    assert isinstance(result, Appended), result
    return result.epoch


async def run_ids(store: RunStore, status: RunStatus | None = None) -> list[str]:
    """Return the runs that are listed."""
    return [row.run_id for row in await store.rows(RunFilter(status))]


async def is_lost(store: RunStore, write: Write) -> bool:
    """Return whether a write is refused since another process has claimed the run."""
    try:
        await store.append(write)
    except LostRun:
        return True
    return False
