"""When schedules are due next, and what schedules and hooks have started last."""

from itertools import islice
from typing import Any

from crew.crew import Crew
from crew.journal.query import SourceKind
from crew.journal.records.listing import RunFilter
from crew.journal.records.schedules import key_of
from crew.journal.store import RunStore
from tools.clock import rfc3339

SHOWN_TIMES = 3
# runs of each that are shown
RECENT = 10


async def due_schedules(store: RunStore, crew: Crew) -> list[dict[str, Any]]:
    """Return the schedules of a crew, as programs get them; raises StoreError.

    Each has its keys of crew.yaml, `name`, `next` (times, UTC), `last` (the run that it has started
    last, None without one, or where that is purged) and `recent` (runs, newest first).
    """
    states = await store.schedules.states()
    found = []
    for name, schedule in crew.config.schedules.items():
        key, last = key_of(crew.name, name), None
        if key in states and (row := await store.row(states[key][0].run_id)) is not None:
            last = {"run_id": row.run_id, "status": row.status}
        times = islice(schedule.times(crew.clock.now()), SHOWN_TIMES)
        due = [rfc3339(time) for time in times]
        recent = await recent_runs(store, "schedule", name)
        keys = schedule.model_dump(mode="json")
        found.append({"name": name, **keys, "next": due, "last": last, "recent": recent})
    return found


async def recent_runs(store: RunStore, source: SourceKind, name: str) -> list[dict[str, Any]]:
    """Return the newest runs that a schedule or a hook has started; raises StoreError."""
    rows = await store.rows(RunFilter(source=source, source_name=name), RECENT)
    keys = ("run_id", "status", "reason", "started_at", "ended_at")
    return [{key: getattr(row, key) for key in keys} for row in rows]
