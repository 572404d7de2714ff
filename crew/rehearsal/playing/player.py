"""One rehearsal, from its query to its end, on a clock of its own."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import from_json

from crew.backends.memory import MemoryStore
from crew.config.keys.matters import NotUnderstood, matter_of
from crew.crew import Crew, make_crew
from crew.errors import CrewError
from crew.journal.events import Paused
from crew.journal.query import API, Answer, HistoryMessage, Query, Source
from crew.journal.questions import Question, UnknownOutcome
from crew.journal.records.rows import RunRow
from crew.rehearsal.doubles.doubles import CaseDoubles
from crew.rehearsal.doubles.mortal import Moment, MortalStore, Outage
from crew.rehearsal.doubles.people import People
from crew.rehearsal.doubles.world import AskedModel
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.case import Question as Asked
from crew.rehearsal.keys.expected import Expect
from crew.rehearsal.playing.kept import Kept, find_kept
from crew.rehearsal.playing.loaded import LoadedCrew
from crew.rehearsal.playing.process import CrewProcess, KilledError
from crew.rehearsal.playing.tape import Noted, Tape, noted, stored_events
from tools.virtual_clock import VirtualClock, VirtualLoop

# of the conversation of a rehearsal with turns
CONVERSATION = "rehearsal"
# what an answer of the world takes where a process is killed: what was said before is stored by
# then, as it is beside a real model
KILL_PAUSE_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A run of a rehearsal."""

    row: RunRow
    events: Sequence[Noted]
    # the same as clients get them
    wire: Sequence[dict[str, Any]]
    # what models were sent, and how many requests were made of that
    asked: Sequence[AskedModel]
    model_calls: int
    expect: Expect
    # from the rehearsal to what it expects
    path: tuple[str | int, ...]
    kept: Kept
    begun_seconds: float
    ended_seconds: float


# asyncio's Runner makes a text of what a task returns, which would take longer than the rehearsal
@dataclass(frozen=True, slots=True, repr=False)
class Played:
    """What has happened in a rehearsal."""

    case: Case
    crew: Crew
    turns: Sequence[PlayedTurn]
    doubles: CaseDoubles
    store: MemoryStore

    @property
    def seconds(self) -> float:
        """How long it took, on its clock, without what came before the first query."""
        return self.turns[-1].ended_seconds - self.turns[0].begun_seconds

    def moment(self, seconds: float) -> datetime:
        """Return the time so many seconds after the start."""
        return self.case.keys.at + timedelta(seconds=seconds)

    @property
    def has_faults(self) -> bool:
        """Whether something was to go wrong, by the rehearsal's own will."""
        keys = self.case.keys
        fails = (one.fail or one.cut is not None for given in keys.says.values() for one in given)
        return bool(keys.faults) or any(fails)


def play_case(case: Case, loaded: LoadedCrew, *, may_act: bool = False, kill_at: int = 0) -> Played:
    """Play a rehearsal.

    Args:
        case: the rehearsal.
        loaded: its crew, without errors.
        may_act: tools that must not be called twice are called where it says `real`.
        kill_at: the process ends at the event of this number; 0: at none.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_Player(case, loaded, may_act=may_act, kill_at=kill_at).play())


@dataclass(slots=True)
class _Moments:
    """When the processes of a rehearsal end, one after the other."""

    case: Case
    doubles: CaseDoubles
    left: list[Moment] = field(default_factory=list)

    def stores(self, store: MemoryStore, clock: VirtualClock) -> Iterator[MortalStore]:
        """Yield the store of each process."""
        faults = self.doubles.faults
        outage = None
        for number, fault in faults.of_kind("store"):
            outage = Outage(clock, fault.seconds)
            faults.used[number] += 1
        for moment in self.left:
            yield MortalStore(store, moment, outage)
        while True:
            yield MortalStore(store, None, outage)


class _Player:
    def __init__(self, case: Case, loaded: LoadedCrew, *, may_act: bool, kill_at: int) -> None:
        self.case, self.loaded = case, loaded
        self.clock = VirtualClock(case.keys.at)
        self.store, self.tape = MemoryStore(self.clock), Tape()
        self.doubles = CaseDoubles(case, self.clock, may_act)
        self.random = random.Random(case.id)  # the same each time
        kills = [one for one in self.doubles.faults.of_kind("kill") if one[1].kill != "each"]
        self._kills = [number for number, _ in kills]
        moments = [Moment.of(fault) for _, fault in kills]
        if kill_at:
            moments.insert(0, Moment(kill_at))
        for number, fault in self.doubles.faults.of_kind("kill"):
            self.doubles.faults.used[number] += fault.kill == "each"
        if moments:
            self.doubles.world.pause = lambda: self.clock.sleep(KILL_PAUSE_SECONDS)
        self._stores = _Moments(case, self.doubles, moments).stores(self.store, self.clock)
        self.kill_at, self._counts_kill = kill_at, bool(kill_at)

    async def play(self) -> Played:
        """Play it."""
        moving = asyncio.create_task(self.clock.run())
        try:
            await self._begin()
            turns = [turn async for turn in self._turns()]
            await self.process.end()
        finally:
            moving.cancel()
        return Played(self.case, self.process.crew, turns, self.doubles, self.store)

    async def _begin(self) -> None:
        """Begin a process, with a crew that knows of no other."""
        loaded = self.loaded
        recipe = loaded.recipe.afresh(self.clock, self.random.random, self.doubles)
        crew = make_crew(recipe, loaded.sources, loaded.checked)
        store = next(self._stores)
        self.process = CrewProcess(crew, store, self.tape)
        self.doubles.world.is_dead = lambda: store.is_dead
        self.doubles.world.process += 1
        await self.process.begin()

    async def _begin_again(self) -> None:
        """Let another process take over what one has left that was killed."""
        await self.process.end()
        if self._counts_kill:
            self._counts_kill = False
        else:
            self.doubles.faults.used[self._kills.pop(0)] += 1
        await self._begin()

    async def _turns(self) -> Any:
        keys, case = self.case.keys, self.case
        if not keys.turns:
            query, source = self._query()
            people = People(case, keys.answers)
            yield await self._turn("1", query, source, people, keys.expect, ("expect",))
            return
        user = ""
        for number, turn in enumerate(keys.turns):
            people = People(case, turn.answers, ("turns", number, "answers"))
            user = turn.query.user or user
            query = _query_of(turn.query, user, CONVERSATION)
            path = ("turns", number, "expect")
            yield await self._turn(str(number + 1), query, API, people, turn.expect, path)

    def _query(self) -> tuple[Query, Source]:
        keys = self.case.keys
        if (hook := keys.hook) is None:
            assert keys.query is not None, "the file was checked"
            return _query_of(keys.query, keys.query.user, ""), API
        known = self.process.crew.config.hooks[hook.name]
        size = int(self.process.crew.config.settings.max_input_size_kb * 1000)
        try:
            matter = matter_of(known, hook.body, size)
        except NotUnderstood as error:
            self.doubles.world.add("config", str(error), self.case.source("hook", "body"))
            matter = None
        text = matter.query if matter is not None else " "
        query = Query(text, (), known.agent)
        return query, Source("hook", hook.name)

    async def _turn(
        self,
        key: str,
        query: Query,
        source: Source,
        people: People,
        expect: Expect,
        path: tuple[str | int, ...],
    ) -> PlayedTurn:
        begun, asked = self.clock.monotonic(), len(self.doubles.world.asked)
        run_id = await self._start(query, key, source)
        while (row := await self._outcome(run_id)).status == "paused":
            if not await self._answer(row, people, expect):
                break
        await self.process.finish_chores()
        for number in people.unused():
            if people.persons[number].unanswered is None:
                text = "the answer of a person was never asked for"
                self.doubles.world.add("unused", text, people.source(number))
        page, ended = await stored_events(self.store, run_id), self.clock.monotonic()
        events, wire = noted(page, self.case.keys.at), [from_json(one.public) for one in page]
        kept = await find_kept(self.process.runs, self.store, row, events, expect)
        calls = self.tape.model_calls[run_id]
        return PlayedTurn(
            *(row, events, wire, self.doubles.world.asked[asked:], calls),
            *(expect, path, kept, begun, ended),
        )

    async def _start(self, query: Query, key: str, source: Source) -> str:
        while True:
            try:
                return await self.process.start(query, key, source)
            except KilledError:
                await self._begin_again()

    async def _outcome(self, run_id: str) -> RunRow:
        while True:
            try:
                return await self.process.outcome(run_id)
            except KilledError:
                await self._begin_again()

    async def _answer(self, row: RunRow, people: People, expect: Expect) -> bool:
        """Let a person answer a pause, or time pass; False: it stays paused."""
        question = await self._question(row.run_id)
        if self.kill_at and isinstance(question, UnknownOutcome):
            # what was begun when the process was killed has not acted
            await self._resume(row, Answer(decision="retry"))
            return True
        source = people.source(people.next)
        person = people.take()
        if person is None:
            if not _ends_paused(expect, people):
                text = f"the run pauses for a person: {row.asks or row.answer}"
                where = self.case.source(*people.path)
                self.doubles.world.add("unexpected-pause", text, where)
            return False
        waits = person.after if person.unanswered is None else person.unanswered
        if waits and await self._wait(row, waits):
            # a person is too late
            return True
        if person.unanswered is not None:
            return True
        answer = people.answer(person, question)
        try:
            await self._resume(row, answer)
        except CrewError as error:
            self.doubles.world.add("wrong-decision", str(error), source)
            return False
        return True

    async def _resume(self, row: RunRow, answer: Answer) -> None:
        while True:
            try:
                return await self.process.resume(row.run_id, answer)
            except KilledError:
                await self._begin_again()

    async def _wait(self, row: RunRow, seconds: float) -> bool:
        """Let time pass; return whether the pause is over before."""
        until = row.paused_until
        left = None if until is None else _seconds_to(until, self.store.now())
        if left is None or left > seconds:
            await self.clock.sleep(seconds)
            return False
        # the end of a pause is noticed a moment later
        await self.clock.sleep(max(0.0, left))
        while True:
            try:
                await self.process.expire(row)
                return True
            except KilledError:
                await self._begin_again()

    async def _question(self, run_id: str) -> Question | None:
        """Return what the newest pause of a run asks about calls."""
        found = noted(await stored_events(self.store, run_id), self.case.keys.at)
        events = (one.event for one in reversed(found))
        return next((one.question for one in events if isinstance(one, Paused)), None)


def _query_of(asked: Asked, user: str, conversation_id: str) -> Query:
    history = tuple(HistoryMessage(one.role, one.content) for one in asked.history)
    return Query(
        asked.text,
        history,
        asked.agent,
        priority=asked.priority,
        user_id=user,
        conversation_id=conversation_id,
    )


def _seconds_to(until: str, now: datetime) -> float:
    # it is over when the clock shows this time, to the millisecond
    left: timedelta = datetime.fromisoformat(until) - now
    return left.total_seconds() + 0.001


def _ends_paused(expect: Expect, people: People) -> bool:
    """Return whether the rehearsal is to end in a pause."""
    if expect.end is not None and expect.end.reason == "paused":
        return True
    if expect.path and expect.path[-1].name == "pause":
        return True
    return expect.pauses is not None and len(expect.pauses) > len(people.persons)
