"""When schedules are due next, and what schedules and hooks have started last."""

from dataclasses import asdict
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
    last, None without one, or where that is purged), `recent` (runs, newest first), `paused` (its
    `by` and `at`, None where it goes on) and `ended` (how its last times ended, newest first).
    """
    states = await store.schedules.states()
    found = []
    for name, schedule in crew.config.schedules.items():
        state, _ = states.get(key_of(crew.name, name), (None, 0))
        last, paused, ended = None, None, []
        if state is not None:
            if (row := await store.row(state.run_id)) is not None:
                last = {"run_id": row.run_id, "status": row.status}
            if state.paused_at:
                paused = {"by": state.paused_by, "at": state.paused_at}
            ended = [asdict(one) for one in reversed(state.ended)]
        times = islice(schedule.times(crew.clock.now()), SHOWN_TIMES)
        due = [rfc3339(time) for time in times]
        recent = await recent_runs(store, "schedule", name)
        keys = schedule.model_dump(mode="json")
        known = {"last": last, "recent": recent, "paused": paused, "ended": ended}
        found.append({"name": name, **keys, "next": due, **known})
    return found


async def recent_runs(store: RunStore, source: SourceKind, name: str) -> list[dict[str, Any]]:
    """Return the newest runs that a schedule or a hook has started; raises StoreError."""
    rows = await store.rows(RunFilter(source=source, source_name=name), RECENT)
    keys = ("run_id", "status", "reason", "started_at", "ended_at")
    return [{key: getattr(row, key) for key in keys} for row in rows]
