"""One rehearsal, from its query to its end, on a clock of its own."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic_core import from_json

from crew.backends.memory import MemoryStore
from crew.config.files.changes import Change
from crew.config.files.rewriting import NoSuchPlace, rewritten
from crew.config.keys.matters import NotUnderstood, matter_of
from crew.config.problems import has_failed
from crew.crew import Crew, make_crew
from crew.errors import CrewError
from crew.journal.events import Paused
from crew.journal.query import API, Answer, HistoryMessage, Query, Source
from crew.journal.questions import Question, UnknownOutcome
from crew.journal.records.rows import RunRow
from crew.rehearsal.doubles.doubles import CaseDoubles
from crew.rehearsal.doubles.mortal import Moment, MortalStore, Outage, Trigger
from crew.rehearsal.doubles.people import People
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.doubles.world import AskedModel
from crew.rehearsal.files.bound import Case
from crew.rehearsal.keys.case import Question as Asked
from crew.rehearsal.keys.expected import Expect
from crew.rehearsal.keys.faults import Fault
from crew.rehearsal.playing.judges import Judgement, judge_answer
from crew.rehearsal.playing.kept import Kept, find_kept
from crew.rehearsal.playing.loaded import LoadedCrew, dotted_path
from crew.rehearsal.playing.stage import Stage
from crew.rehearsal.playing.tape import Noted, noted, stored_events
from crew.runs.streams.listeners import Listeners
from tools.virtual_clock import VirtualClock, VirtualLoop

# of the conversation of a rehearsal with turns
CONVERSATION = "rehearsal"


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
    # of real models, where these play
    judgements: Sequence[Judgement] = ()


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


def play_case(
    case: Case,
    loaded: LoadedCrew,
    *,
    may_act: bool = False,
    kill_at: int = 0,
    account: Account | None = None,
) -> Played:
    """Play a rehearsal.

    Args:
        case: the rehearsal.
        loaded: its crew, without errors.
        may_act: tools that must not be called twice are called where it says `real`.
        kill_at: the process ends at the event of this number; 0: at none.
        account: pays for real models in place of `says`; None: none are called.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        player = _Player(case, loaded, may_act=may_act, kill_at=kill_at, account=account)
        return runner.run(player.play())


class _Player:
    def __init__(
        self,
        case: Case,
        loaded: LoadedCrew,
        *,
        may_act: bool,
        kill_at: int,
        account: Account | None,
    ) -> None:
        self.case, self.kill_at = case, kill_at
        self.clock = VirtualClock(case.keys.at)
        self.store = MemoryStore(self.clock)
        self.doubles = CaseDoubles(case, self.clock, may_act, account)
        faults = self.doubles.faults
        # who has started a run with a stream, until it leaves
        self._client: AbstractContextManager[object] | None = None
        self._has_left = False
        # of each kill, the number of its fault; None: of `kill_at`
        self._kills: list[int | None] = [None] if kill_at else []
        moments = [Moment(kill_at)] if kill_at else []
        for number, fault in faults.of_kind("kill"):
            if fault.kill == "each":
                faults.used[number] += 1
            else:
                self._kills.append(number)
                moments.append(Moment.of(fault))
        stores = self._stores(moments)
        self.stage = Stage(
            loaded, self.doubles, self.clock, stores, self.store, case.id, self._count_kill
        )
        if moments:
            self.stage.expect_kills()

    def _stores(self, moments: Sequence[Moment]) -> Iterator[MortalStore]:
        """Yield the store as each process sees it."""
        faults, outage = self.doubles.faults, None
        for number, fault in faults.of_kind("store"):
            outage = Outage(self.clock, fault.seconds)
            faults.used[number] += 1
        triggers = [
            Trigger(Moment(event=fault.at or "", nth=fault.nth), partial(act, number, fault))
            for kind, act in (("client", self._leave), ("reload", self._reload))
            for number, fault in faults.of_kind(kind)
        ]
        for moment in moments:
            yield MortalStore(self.store, moment, outage, triggers)
        while True:
            yield MortalStore(self.store, None, outage, triggers)

    def _leave(self, number: int, fault: Fault) -> None:
        """Let the client go that has started the run."""
        self.doubles.faults.used[number] += 1
        client, self._client = self._client, None
        # not within the write; that of the first event is over before the run is known
        self._has_left = client is None
        if client is not None:
            asyncio.get_running_loop().call_soon(client.__exit__, None, None, None)

    def _reload(self, number: int, fault: Fault) -> None:
        """Let new runs have other files."""
        self.doubles.faults.used[number] += 1
        source = self.case.source("faults", number, "reload")
        changes = [Change(dotted_path(dotted), one) for dotted, one in fault.reload.items()]
        loaded = self.stage.loaded
        try:
            sources = rewritten(replace(loaded.sources, changes=()), changes)
        except NoSuchPlace as error:
            self.doubles.world.add("config", str(error), source)
            return
        crew = self.stage.process.crew
        # values that the rehearsal sets stay
        sources = replace(sources, changes=loaded.sources.changes)
        checked = crew.recipe.check(sources)
        for problem in checked.problems:
            if problem.severity == "error":
                text = f"{problem.file}: {problem.message}"
                self.doubles.world.add("config", text, source)
        if not has_failed(checked.problems):
            self.stage.process.runs.revisions.adopt(make_crew(crew.recipe, sources, checked))

    def _count_kill(self) -> None:
        if (number := self._kills.pop(0)) is not None:
            self.doubles.faults.used[number] += 1

    async def play(self) -> Played:
        """Play it."""
        moving = asyncio.create_task(self.clock.run())
        try:
            await self.stage.begin()
            turns = [turn async for turn in self._turns()]
            await self.stage.end()
        finally:
            moving.cancel()
        return Played(self.case, self.stage.process.crew, turns, self.doubles, self.store)

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
        known = self.stage.process.crew.config.hooks[hook.name]
        size = int(self.stage.process.crew.config.settings.max_input_size_kb * 1000)
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
        run_id = await self.stage.start(query, key, source)
        if any(self.doubles.faults.of_kind("client")):
            # it is started by a stream, so it needs a listener
            listeners = Listeners(self.stage.process.runs)
            client = listeners.listen(run_id, needed=True)
            client.__enter__()
            if self._has_left:
                client.__exit__(None, None, None)
            else:
                self._client = client
            self._has_left = False
        while (row := await self.stage.outcome(run_id)).status == "paused":
            if not await self._answer(row, people, expect):
                break
        await self.stage.process.finish_chores()
        for number in people.unused():
            if people.persons[number].unanswered is None:
                text = "the answer of a person was never asked for"
                self.doubles.world.add("unused", text, people.source(number))
        page, ended = await stored_events(self.store, run_id), self.clock.monotonic()
        events, wire = noted(page, self.case.keys.at), [from_json(one.public) for one in page]
        kept = await find_kept(self.stage.process.runs, self.store, row, events, expect)
        calls = self.stage.tape.model_calls[run_id]
        turn = PlayedTurn(
            *(row, events, wire, self.doubles.world.asked[asked:], calls),
            *(expect, path, kept, begun, ended),
        )
        return await self._judged(turn, query)

    async def _judged(self, turn: PlayedTurn, query: Query) -> PlayedTurn:
        """Let models say what they think of the answer, where models are called."""
        account, judges = self.doubles.account, turn.expect.judge
        if account is None or not judges:
            return turn
        crew, answer = self.stage.process.crew, turn.row.answer or ""
        judgements = [
            await judge_answer(crew, number, one, query.text, answer, account)
            for number, one in enumerate(judges)
        ]
        return replace(turn, judgements=judgements)

    async def _answer(self, row: RunRow, people: People, expect: Expect) -> bool:
        """Let a person answer a pause, or time pass; False: it stays paused."""
        question = await self._question(row.run_id)
        if self.kill_at and isinstance(question, UnknownOutcome):
            # what was begun when the process was killed has not acted
            await self.stage.resume(row.run_id, Answer(decision="retry"))
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
        if waits and await self.stage.pass_time(row, waits):
            # a person is too late
            return True
        if person.unanswered is not None:
            return True
        answer = people.answer(person, question)
        try:
            await self.stage.resume(row.run_id, answer)
        except CrewError as error:
            self.doubles.world.add("wrong-decision", str(error), source)
            return False
        return True

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


def _ends_paused(expect: Expect, people: People) -> bool:
    """Return whether the rehearsal is to end in a pause."""
    if expect.end is not None and expect.end.reason == "paused":
        return True
    if expect.path and expect.path[-1].name == "pause":
        return True
    return expect.pauses is not None and len(expect.pauses) > len(people.persons)
