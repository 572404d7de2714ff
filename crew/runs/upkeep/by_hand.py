"""What people do with schedules: start one now, pause it, let it go on."""

from collections.abc import Callable
from dataclasses import replace

from crew.journal.errors import StoreError
from crew.journal.query import IdempotencyKey, Source
from crew.journal.records.audit import AuditEntry
from crew.journal.records.schedules import ScheduleState, key_of
from crew.journal.store import RunStore
from crew.runs.errors import AlreadyStarted, ScheduleBusy, UnknownSchedule
from crew.runs.runs import Runs
from crew.runs.upkeep.schedules import query_of
from tools.clock import rfc3339

# of a state that others replace at the same time
TRIES = 20


async def start_now(runs: Runs, name: str, request_id: str, entry: AuditEntry) -> str:
    """Start a run of a schedule that is not due, and return its id; several at once start one.

    Args:
        runs: of the crew.
        name: of the schedule.
        request_id: of the request.
        entry: says in the audit who has done it.

    Raises:
        UnknownSchedule: the crew has none of this name.
        ScheduleBusy: its last run has not ended.
        StoreError: the store failed.
    """
    crew = runs.crew
    schedule = crew.config.schedules.get(name)
    if schedule is None:
        raise UnknownSchedule(name)
    kept = key_of(crew.name, name)
    found = (await runs.store.schedules.states()).get(kept)
    if found is None:
        raise _not_kept(name)
    last = await runs.store.row(found[0].run_id) if found[0].run_id else None
    if last is not None and last.status in ("running", "paused"):
        raise ScheduleBusy(name, last.run_id)
    # who has read the same state, as a double tap does, gets the same run
    key = IdempotencyKey(f"schedule {kept} by hand {found[1]}", name)
    source, now = Source("schedule", name), rfc3339(runs.store.now())
    query = query_of(schedule)
    try:
        run_id = (await runs.start(query, request_id, key, entry=entry, source=source)).id
    except AlreadyStarted as error:
        run_id = error.record.run_id

    def started(state: ScheduleState) -> ScheduleState:
        is_noted = any(one.run_id == run_id for one in state.ended)
        return state if is_noted else replace(state, run_id=run_id).noted("by_hand", [now], run_id)

    await _change(runs, name, started)
    return run_id


async def pause_schedule(runs: Runs, name: str, by: str) -> None:
    """Let a schedule start nothing until it goes on; raises UnknownSchedule, StoreError."""
    now = rfc3339(runs.store.now())

    def paused(state: ScheduleState) -> ScheduleState:
        if state.paused_at:
            return state
        return replace(state, paused_by=by, paused_at=now)

    await _change(runs, name, paused)


async def resume_schedule(runs: Runs, name: str) -> None:
    """Let a schedule that was paused go on, from now; raises UnknownSchedule, StoreError."""
    now = rfc3339(runs.store.now())

    def resumed(state: ScheduleState) -> ScheduleState:
        if not state.paused_at:
            return state
        # what was due meanwhile is not started now
        return replace(state, paused_by="", paused_at="", due_at=max(state.due_at, now))

    await _change(runs, name, resumed)


async def _change(runs: Runs, name: str, change: Callable[[ScheduleState], ScheduleState]) -> None:
    """Replace the state of a schedule; others may do so at the same time."""
    if name not in runs.crew.config.schedules:
        raise UnknownSchedule(name)
    if not await _replace(runs.store, key_of(runs.crew.name, name), change):
        raise _not_kept(name)


def _not_kept(name: str) -> StoreError:
    return StoreError(f"schedule {name} is not kept yet; try again in a second")


async def forget_pauser(store: RunStore, name: str) -> None:
    """Take the name of who has paused schedules from them, which stay paused; raises StoreError."""
    for key, (found, _) in (await store.schedules.states()).items():
        if name and found.paused_by == name:
            await _replace(store, key, lambda state: replace(state, paused_by=""))


async def _replace(
    store: RunStore, key: str, change: Callable[[ScheduleState], ScheduleState]
) -> bool:
    """Replace a state; False: there is none."""
    for _ in range(TRIES):
        found = (await store.schedules.states()).get(key)
        if found is None:
            return False
        state, version = found
        if (changed := change(state)) == state:
            return True
        if await store.schedules.move(key, changed, version):
            return True
    raise StoreError("others change this schedule all the time; try again")
