"""Runs that the crew's schedules start, each of their times once, whichever process is there."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice, takewhile

from crew.config.keys.schedules import ScheduleConfig
from crew.crew import Crew
from crew.errors import CrewError
from crew.journal.errors import StoreError
from crew.journal.query import DEFAULT_PRIORITY, IdempotencyKey, Query, Source
from crew.journal.records.audit import LOCAL, AuditEntry
from crew.journal.records.notices import plain_notices
from crew.journal.records.rows import RunRow
from crew.journal.records.schedules import ScheduleState, key_of
from crew.runs.errors import AlreadyStarted, BudgetSpent, Draining
from crew.runs.runs import Runs
from tools.clock import rfc3339

log = logging.getLogger(__name__)

# how late a run may begin
ROUND_SECONDS = 1.0
# a run that could not begin for so long, though none of its schedule was in its way, is missed
LATE = timedelta(seconds=60)
NOT_STARTED = (
    f"within {LATE.total_seconds():g} seconds no process was there to start it, "
    "or too many runs waited"
)

# a time that has come, and is so far ahead of the clock, is of a clock that was wrong
AHEAD = timedelta(seconds=120)
# of a schedule that are looked at in one turn: after a year away there are many
MAX_TIMES = 5_000

# of a schedule, what came of so many of its times: started, skipped, missed, paused
Count = Callable[[str, str, int], None]


class Scheduler:
    """Of one process; several share the work."""

    def __init__(self, runs: Runs, count: Count) -> None:
        """Start runs of the schedules that the crew has now; `count` gets the outcomes."""
        self.runs, self.count = runs, count
        self.clock, self.store = runs.crew.clock, runs.store
        self._crew: Crew | None = None
        # by name, until when there is nothing to do
        self._next: dict[str, datetime] = {}
        # schedules whose run was refused, which is told once
        self._refused: set[str] = set()

    async def run(self) -> None:
        """Do one round after the other, until this is cancelled or the process drains."""
        while not self.runs.draining:
            # maintenance warns of a store that fails
            with contextlib.suppress(StoreError, Draining):
                await self._round(self.runs.crew)
            await self.clock.sleep(ROUND_SECONDS)

    async def _round(self, crew: Crew) -> None:
        if crew is not self._crew:
            await self._adopt(crew)
            self._crew = crew
        for name, schedule in crew.config.schedules.items():
            if name not in self._next or self.store.now() >= self._next[name]:
                await self._take_on(crew, name, schedule)

    async def _take_on(self, crew: Crew, name: str, schedule: ScheduleConfig) -> None:
        try:
            while await self._step(crew, name, schedule):
                pass
        except (StoreError, Draining):
            raise
        except Exception:
            # the others must not wait for it
            log.exception("schedule %s could not be looked at", name)

    async def _adopt(self, crew: Crew) -> None:
        """Begin schedules that are new, or have other times; forget those that are gone."""
        self._next.clear()
        states, schedules = await self.store.schedules.states(), crew.config.schedules
        prefix = key_of(crew.name, "")
        for key in states:
            if key.startswith(prefix) and key.removeprefix(prefix) not in schedules:
                await self.store.schedules.forget(key)
        for name, schedule in schedules.items():
            state, version = states.get(key_of(crew.name, name), (None, None))
            if state is not None and state.definition == _definition(schedule):
                continue
            definition, now = _definition(schedule), rfc3339(self.store.now())
            begun = ScheduleState(definition, now)
            if state is not None:
                begun = replace(state, definition=definition, due_at=now, pending=False)
                begun = begun.noted("skipped", [state.due_at] if state.pending else [])
            moved = await self.store.schedules.move(key_of(crew.name, name), begun, version)
            if moved and state is not None and state.pending:
                self._skip(name, state, 1)

    async def _step(self, crew: Crew, name: str, schedule: ScheduleConfig) -> bool:
        """Take a schedule one state further; whether there may be more to do."""
        found = (await self.store.schedules.states()).get(key_of(crew.name, name))
        if found is None:
            # a process with other files has forgotten it
            self._crew = None
            return False
        state, version = found
        now, begin = self.store.now(), datetime.fromisoformat(state.due_at)
        if begin - now > AHEAD:
            return await self._turn_back(name, state, version)
        if state.paused_at:
            return await self._pass_by(crew, name, schedule, state, version)
        previous = await self.store.row(state.run_id) if state.run_id else None
        is_open = previous is not None and previous.status in ("running", "paused")
        if state.pending and not is_open:
            if now - _free_since(begin, previous) <= LATE:
                return await self._start(crew, name, schedule, state, version)
            return await self._miss(crew, name, replace(state, pending=False), version, [begin])
        times = _reached(schedule, begin, now)
        if not times:
            if not state.pending:
                self._next[name] = next(schedule.times(now))
            return False
        may_start = now - _free_since(times[-1], previous) <= LATE
        # where more have come, a later one of them may start
        is_newest = len(times) < MAX_TIMES
        wanted = schedule.overlap == "queue" if is_open else may_start
        pending = is_newest and wanted
        reached = replace(state, due_at=rfc3339(times[-1]), pending=pending)
        left_out = times[:-1] if pending else times
        if not is_open and left_out:
            return await self._miss(crew, name, reached, version, left_out)
        skipped = [*([begin] if state.pending else []), *left_out]
        noted = reached.noted("skipped", [rfc3339(one) for one in skipped])
        moved = await self._move(crew, name, noted, version)
        if moved and skipped:
            self._skip(name, state, len(skipped))
        # a run that is open is looked at again in the next round
        return moved and not is_open

    async def _turn_back(self, name: str, state: ScheduleState, version: int) -> bool:
        """Go on from now: a clock that was ahead has started times that were still to come."""
        now = rfc3339(self.store.now())
        if await self._move(
            self.runs.crew, name, replace(state, due_at=now, pending=False), version
        ):
            text = "schedule %s goes on from now: its last time, %s, was of a clock that was ahead"
            log.warning(text, name, state.due_at)
        return True

    async def _start(
        self, crew: Crew, name: str, schedule: ScheduleConfig, state: ScheduleState, version: int
    ) -> bool:
        """Start the run that is due; several processes may try, and one run is started."""
        query = query_of(schedule)
        # no client's key begins so
        key = IdempotencyKey(f"schedule {key_of(crew.name, name)} {state.due_at}", name)
        source = Source("schedule", name)
        now, detail = rfc3339(self.store.now()), f"schedule {name}"
        entry = AuditEntry(now, "start", "", LOCAL, detail=detail)
        try:
            run_id = (await self.runs.start(query, key=key, entry=entry, source=source)).id
        except AlreadyStarted as error:
            run_id = error.record.run_id
        except (StoreError, Draining):
            raise
        except BudgetSpent as error:
            # there is none before its period is over
            due = [datetime.fromisoformat(state.due_at)]
            unstarted = replace(state, pending=False)
            return await self._miss(crew, name, unstarted, version, due, str(error))
        except CrewError as error:
            if name not in self._refused:
                log.warning("schedule %s cannot start its run yet: %s", name, error)
            self._refused.add(name)
            return False
        started = replace(state, pending=False, run_id=run_id)
        started = started.noted("started", [state.due_at], run_id)
        if await self._move(crew, name, started, version):
            self._refused.discard(name)
            self.count(name, "started", 1)
        return True

    async def _miss(
        self,
        crew: Crew,
        name: str,
        state: ScheduleState,
        version: int,
        times: Sequence[datetime],
        why: str = NOT_STARTED,
    ) -> bool:
        """Go on to a state, with notices that there is no run of these times, and why."""
        due = rfc3339(times[-1])
        text = f"schedule {name} has started no run for {due}: {why}"
        if len(times) > 1:
            text += f"; so it was {len(times)} times in a row"
        config = crew.config
        query = config.schedules[name].query
        key = f"schedule:{name}:{due}"
        if notices := plain_notices(config.told, "missed", crew.name, key, due, text, query):
            # before the state says that it is told, so that a kill -9 in between loses none
            await self.store.outbox.add(notices)
        missed = state.noted("missed", [rfc3339(one) for one in times])
        if await self._move(crew, name, missed, version):
            self._refused.discard(name)
            log.warning("%s", text)
            self.count(name, "missed", len(times))
        return True

    async def _pass_by(
        self, crew: Crew, name: str, schedule: ScheduleConfig, state: ScheduleState, version: int
    ) -> bool:
        """Start nothing at the times of a schedule that is paused."""
        now, begin = self.store.now(), datetime.fromisoformat(state.due_at)
        times = [rfc3339(one) for one in _reached(schedule, begin, now)]
        if not times:
            self._next[name] = next(schedule.times(now))
            return False
        passed = replace(state, due_at=times[-1], pending=False).noted("paused", times)
        if await self._move(crew, name, passed, version):
            self.count(name, "paused", len(times))
        return True

    def _skip(self, name: str, state: ScheduleState, times: int) -> None:
        text = "schedule %s: run %s has not ended, so %d of its times are left out"
        log.warning(text, name, state.run_id, times, extra={"run_id": state.run_id})
        self.count(name, "skipped", times)

    async def _move(self, crew: Crew, name: str, state: ScheduleState, version: int) -> bool:
        return await self.store.schedules.move(key_of(crew.name, name), state, version)


def query_of(schedule: ScheduleConfig) -> Query:
    """Return what the runs of a schedule are begun with."""
    priority = DEFAULT_PRIORITY if schedule.priority is None else schedule.priority
    return Query(schedule.query, (), schedule.agent, priority=priority)


def _reached(schedule: ScheduleConfig, begin: datetime, now: datetime) -> list[datetime]:
    """Return the first times of a schedule that have come: what is left has its own turn."""
    return list(islice(takewhile(lambda time: time <= now, schedule.times(begin)), MAX_TIMES))


def _definition(schedule: ScheduleConfig) -> str:
    return f"{schedule.cron} {schedule.time_zone}"


def _free_since(due: datetime, previous: RunRow | None) -> datetime:
    """Return since when the run of a time could have begun."""
    if previous is None or previous.ended_at is None:
        return due
    return max(due, datetime.fromisoformat(previous.ended_at))
