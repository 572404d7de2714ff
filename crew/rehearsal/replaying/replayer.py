"""A recording is played again, on some files."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crew.backends.memory import MemoryStore
from crew.crew import Crew
from crew.errors import CrewError
from crew.journal.events import Paused
from crew.journal.query import API, Answer, Source
from crew.journal.questions import UnknownOutcome
from crew.journal.records.rows import RunRow
from crew.rehearsal.doubles.mortal import Moment, MortalStore
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.doubles.world import AskedModel
from crew.rehearsal.playing.judges import PairVerdict, judge_pair
from crew.rehearsal.playing.loaded import LoadedCrew
from crew.rehearsal.playing.stage import Stage
from crew.rehearsal.playing.tape import noted, stored_events
from crew.rehearsal.replaying.doubles import RecordedDoubles
from crew.rehearsal.replaying.options import AS_RECORDED, ReplayOptions
from crew.rehearsal.replaying.recalled import RecordedRecall
from crew.rehearsal.replaying.recording import Recording
from crew.rehearsal.replaying.trail import Trail, TrailStep
from tools.virtual_clock import VirtualClock, VirtualLoop


# asyncio's Runner makes a text of what a task returns
@dataclass(frozen=True, slots=True, repr=False)
class Replayed:
    """What a replay has done."""

    trail: Trail
    # what it needed that is not recorded
    missing: str
    # what models were sent, in order
    asked: Sequence[AskedModel]
    crew: Crew
    # models have answered themselves
    has_left: bool = False
    # there was no money for one of their answers
    is_over: bool = False
    # which final answer is better: what a judge says, if there is one
    judged: PairVerdict | None = None


def replay_recording(
    recording: Recording,
    loaded: LoadedCrew,
    options: ReplayOptions = AS_RECORDED,
    account: Account | None = None,
) -> Replayed:
    """Play a recording on some files.

    Args:
        recording: the run.
        loaded: a crew without errors.
        options: how.
        account: pays for real answers, where models give some; None: none do.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_Replayer(recording, loaded, options, account).play())


class _Replayer:
    def __init__(
        self,
        recording: Recording,
        loaded: LoadedCrew,
        options: ReplayOptions,
        account: Account | None,
    ) -> None:
        self.recording, self.options = recording, options
        self.clock = VirtualClock(recording.start)
        self.store = MemoryStore(self.clock)
        self.store.recall = RecordedRecall(recording.recalled)
        self.doubles = RecordedDoubles(recording, self.clock, options, account)
        moments = list(_kills(recording))
        self.stage = Stage(
            loaded,
            self.doubles,
            self.clock,
            self._stores(moments),
            self.store,
            recording.row.run_id,
            lambda: None,
        )
        if moments:
            self.stage.expect_kills()

    def _stores(self, moments: Sequence[Moment]) -> Iterator[MortalStore]:
        for moment in moments:
            yield MortalStore(self.store, moment)
        while True:
            yield MortalStore(self.store)

    async def play(self) -> Replayed:
        """Play it."""
        moving = asyncio.create_task(self.clock.run())
        run_id = ""
        try:
            await self.recording.before.restore(self.store)
            await self.stage.begin()
            started = self.recording.started
            # the first exchange of a conversation begins one here, too
            query = replace(started.query, deltas=False)
            row = self.recording.row
            source = Source(row.source or API.kind, row.source_name)
            try:
                run_id = await self.stage.start(query, "replay", source)
            except CrewError as error:
                # an agent that is gone, say
                return self._refused(error)
            await self._go_on(run_id)
            judged = await self._judge(run_id)
            await self.stage.end()
        finally:
            moving.cancel()
        events = noted(await stored_events(self.store, run_id), self.recording.start)
        world = self.doubles.world
        crew = self.stage.process.crew
        account = self.doubles.account
        return Replayed(
            Trail.of(events),
            self.doubles.missing,
            world.asked,
            crew,
            self.doubles.has_left,
            account is not None and account.is_over,
            judged,
        )

    def _refused(self, error: CrewError) -> Replayed:
        """Return the replay of a run that does not begin on these files."""
        trail = Trail([TrailStep(("refused",), f"is not started: {error}")])
        return Replayed(trail, "", [], self.stage.process.crew)

    async def _judge(self, run_id: str) -> PairVerdict | None:
        """Let a model compare the final answers, where models have given another one."""
        account, real = self.doubles.account, self.options.real
        if account is None or real is None or not (real.judge and self.doubles.has_left):
            return None
        row, now = self.recording.row, await self.store.row(run_id)
        if now is None or not (row.answer and now.answer):
            return None
        crew = self.stage.process.crew
        return await judge_pair(crew, real.judge, row.query, (row.answer, now.answer), account)

    async def _go_on(self, run_id: str) -> None:
        """Let people answer as they did, until the run has ended or they have no more answers."""
        answers = self.recording.resumed
        while (row := await self._outcome(run_id)) is not None and row.status == "paused":
            if not answers:
                return
            one = answers.pop(0)
            left = max(0.0, one.seconds - self.clock.monotonic())
            is_late = one.event.expired
            if await self.stage.pass_time(row, left + 1.0 if is_late else left, one.until):
                continue
            try:
                await self.stage.resume(run_id, _plain(one.event.answer))
            except CrewError:
                # the pause asks something else than it did: its step says so
                return

    async def _outcome(self, run_id: str) -> RunRow | None:
        """Wait until the run has ended or is paused; None: something is missing."""
        ending = asyncio.ensure_future(self.stage.outcome(run_id))
        missing = asyncio.ensure_future(self.doubles.is_missing.wait())
        try:
            await asyncio.wait({ending, missing}, return_when=asyncio.FIRST_COMPLETED)
            return None if self.doubles.is_missing.is_set() else await ending
        finally:
            ending.cancel()
            missing.cancel()
            await asyncio.gather(ending, missing, return_exceptions=True)


def _plain(answer: Answer) -> Answer:
    """Return an answer that holds for the calls of these files, too."""
    decisions = tuple(replace(one, hash="") for one in answer.decisions)
    return replace(answer, decisions=decisions, pause_seq=None, deltas=False)


def _kills(recording: Recording) -> Iterator[Moment]:
    """Yield when processes were killed: calls had started, and a person decided on them."""
    for one in recording.events:
        match one.event:
            case Paused(question=UnknownOutcome(calls=calls)):
                yield Moment(call_id=calls[0].call.id, is_during=True)
