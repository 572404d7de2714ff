"""Many stored runs are played again on other files."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crew.config.costs.budgets import budgets_of
from crew.config.costs.prices import prices_by_agent
from crew.config.errors import ConfigurationError
from crew.config.files.programs import program_digests
from crew.config.files.sources import Sources
from crew.config.problems import has_failed
from crew.errors import CrewError
from crew.journal.errors import StoreError
from crew.journal.records.rows import RunRow
from crew.journal.store import RunStore
from crew.rehearsal.doubles.spending import Account
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew, RealModels
from crew.rehearsal.replaying.comparison import AnsweredAnew, Compared, compare_trails
from crew.rehearsal.replaying.options import AS_RECORDED, RealAnswers, ReplayOptions
from crew.rehearsal.replaying.recording import NotKept, Recording, read_recording
from crew.rehearsal.replaying.replayer import Replayed, replay_recording
from crew.rehearsal.replaying.trail import Trail
from crew.rehearsal.replaying.wording import find_request, word_difference

log = logging.getLogger(__name__)
# files of earlier versions that are ready to be played
MAX_REVISIONS = 8
# of the store, the newest
MAX_LOADS = 1000


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What became of the replay of a run."""

    row: RunRow
    compared: Compared
    # what a model is sent that it was not sent then, as a unified diff
    difference: Sequence[str] = ()
    # the steps of both, in words; of the replay as far as it came
    steps_then: Sequence[str] = ()
    steps_now: Sequence[str] = ()
    # Python files and pins that are others than the run had; its calls have the results of then
    programs: Sequence[str] = ()

    def in_short(self) -> "ReplayResult":
        """Return it without what only a look at this run needs."""
        row = replace(self.row, query="", answer=None)
        return ReplayResult(row, self.compared, programs=self.programs)


class Replays:
    """Plays the runs of a store on some files."""

    def __init__(
        self,
        store: RunStore,
        folder: Path,
        sources: Sources,
        options: ReplayOptions = AS_RECORDED,
    ) -> None:
        """Read nothing yet.

        Args:
            store: has the runs.
            folder: the crew's, which has its Python tools.
            sources: the files on which they are played.
            options: how.

        Raises:
            ConfigurationError: the files make no crew.
        """
        self.store, self.folder, self.options = store, folder, options
        self.loaded = _load(sources)
        self._real = _load(sources, RealModels()) if options.real is not None else None
        # by revision; None: it makes no crew here any more
        self._revisions: dict[str, LoadedCrew | None] = {}
        self._programs = program_digests(sources)
        # by revision: what its runs had; None: not read yet
        self._had: Mapping[str, Mapping[str, str]] | None = None

    async def play(self, rows: Sequence[RunRow]) -> AsyncIterator[ReplayResult]:
        """Play runs, and yield what becomes of each, in their order."""
        for row in rows:
            yield await self.replay(row)

    async def replay(self, row: RunRow) -> ReplayResult:
        """Play one run; a mistake of the runtime is that of this run alone."""
        try:
            found = await self._compared(row)
            return replace(found, programs=await self._changed_programs(row.revision))
        except StoreError:
            raise
        except Exception as error:
            log.debug("replay of run %s", row.run_id, exc_info=error)
            why = f"the runtime made a mistake: {type(error).__name__}: {error}"
            return ReplayResult(row, Compared("not reproduced", why=why))

    async def _changed_programs(self, revision: str) -> list[str]:
        if self._had is None:
            loads = await self.store.revisions.loads(MAX_LOADS)
            # the newest come first
            self._had = {one.revision: one.programs for one in reversed(loads)}
        had, now = self._had.get(revision, {}), self._programs
        return [name for name in sorted(had) if had[name] != now.get(name)]

    async def _compared(self, row: RunRow) -> ReplayResult:
        try:
            recording = await read_recording(self.store, row)
        except NotKept as error:
            return ReplayResult(row, Compared("not kept", why=str(error)))
        then = Trail.of(recording.events)
        # in a thread, in which it has an event loop of its own
        now = await self._replay(recording, self.loaded)
        found = compare_trails(then, now.trail, now.missing)
        steps = _words(then), _words(now.trail)
        if found.verdict == "same":
            return ReplayResult(row, found, (), *steps)
        own = await self._own(row)
        if own is None:
            why = f"its revision {row.revision} makes no crew here any more"
            return ReplayResult(row, Compared("not kept", why=why))
        again = await self._replay(recording, own)
        proof = compare_trails(then, again.trail, again.missing)
        budgets = budgets_of(own.checked.files)
        if proof.verdict != "same" and (why := recording.changed_since(budgets)):
            return ReplayResult(row, Compared("not kept", why=why))
        if proof.verdict != "same":
            wrong = replace(proof, verdict="not reproduced", why=_why(proof))
            return ReplayResult(row, wrong, (), *steps)
        if self._real is not None and self.options.real is not None:
            asked = await self._ask(recording, self._real, self.options.real)
            if asked is not None:
                return ReplayResult(row, asked[0], (), steps[0], _words(asked[1].trail))
        if found.asked is None:
            return ReplayResult(row, found, (), *steps)
        then_sent, now_sent = (find_request(one.asked, found.asked) for one in (again, now))
        difference = word_difference(then_sent, now_sent, found.asked.parts)
        return ReplayResult(row, found, difference, *steps)

    async def _replay(
        self, recording: Recording, loaded: LoadedCrew, account: Account | None = None
    ) -> Replayed:
        options = self.options
        if loaded is not self.loaded and account is None:
            # it proves that the run is reproduced, whatever is sent
            options = replace(options, match="route", takes_time=True)
        return await asyncio.to_thread(replay_recording, recording, loaded, options, account)

    async def _ask(
        self, recording: Recording, loaded: LoadedCrew, real: RealAnswers
    ) -> tuple[Compared, Replayed] | None:
        """Let models answer themselves where what is recorded ends.

        None: no model was called, or there was no money for it.
        """
        then, files = Trail.of(recording.events), loaded.checked.files
        prices = prices_by_agent(files)
        plays: list[tuple[Compared, Replayed]] = []
        while len(plays) < real.times and not real.spending.is_over:
            account = Account(real.spending, prices)
            now = await self._replay(recording, loaded, account)
            if not now.has_left and not now.is_over:
                return None
            if not now.is_over:
                plays.append((_said_anew(compare_trails(then, now.trail, now.missing)), now))
        if not plays:
            return None
        counts = Counter(one.verdict for one, _ in plays)
        verdict, agree = counts.most_common(1)[0]
        judged = Counter(one.judged for _, one in plays if one.judged is not None)
        opinion = judged.most_common(1)[0][0] if judged else ""
        compared, now = next(one for one in plays if one[0].verdict == verdict)
        answered = AnsweredAnew(len(plays), agree, opinion)
        return replace(compared, answered=answered), now

    async def _own(self, row: RunRow) -> LoadedCrew | None:
        """Return the files that a run was started with."""
        if row.revision not in self._revisions:
            files = await self.store.revisions.files(row.revision) if row.revision else None
            loaded: LoadedCrew | None = None
            if files is not None:
                try:
                    loaded = _load(Sources.from_json(self.folder, files))
                except (ValueError, CrewError):
                    loaded = None
            if len(self._revisions) == MAX_REVISIONS:
                del self._revisions[next(iter(self._revisions))]
            self._revisions[row.revision] = loaded
        return self._revisions[row.revision]


def _said_anew(found: Compared) -> Compared:
    """Return a comparison in which nothing is assumed: models have answered what they were sent."""
    if found.verdict == "assumed":
        return replace(found, verdict="same", step=0, asked=None)
    if found.verdict == "other way, assumed":
        return replace(found, verdict="other way", asked=None)
    return found


def _words(trail: Trail) -> list[str]:
    return [one.text for one in trail.main if not one.is_answer]


def _why(proof: Compared) -> str:
    if proof.asked is not None and not proof.recorded:
        parts = ", ".join(proof.asked.parts)
        return f"on its own revision {proof.asked.agent_id} is sent something else: {parts}"
    if proof.why:
        return f"on its own revision it needs {proof.why}"
    return f"on its own revision step {proof.step} is {proof.now}, was {proof.recorded}"


def _load(sources: Sources, real: RealModels | None = None) -> LoadedCrew:
    """Check files; raises ConfigurationError."""
    loaded = CrewLoader(sources, uses_environment=True, real=real).load({}, {})
    if has_failed(loaded.checked.problems):
        raise ConfigurationError(loaded.checked.problems, loaded.checked.files.texts)
    return loaded
