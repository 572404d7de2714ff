"""All rehearsals of a crew: read, checked, chosen, and played in processes."""

import logging
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from crew.config.problems import Problem, has_failed, in_order
from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.covering.taken import taken_units
from crew.rehearsal.covering.units import Unit, units_of
from crew.rehearsal.doubles.world import Mismatch
from crew.rehearsal.files.bound import Case, PlacedInvariant, read_rehearsals
from crew.rehearsal.files.checks import CaseChecks, expectations_of
from crew.rehearsal.judging.verdict import Judged, Status, judge
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew, RealModels
from crew.rehearsal.playing.player import Played, play_case
from crew.rehearsal.playing.updates import Update, updates_of
from crew.rehearsal.playing.wall import WallTimeOver, wall_limit

log = logging.getLogger(__name__)

# so many rehearsals are worth a process of their own
PER_PROCESS = 50


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a rehearsal."""

    id: str
    status: Status
    # where it is written, as `file:line`
    source: str
    wall_millis: float = 0.0
    virtual_seconds: float = 0.0
    # names of agents, groups, `pause` and `end`
    path: Sequence[str] = ()
    mismatches: Sequence[Mismatch] = ()
    # why it is skipped, or fails
    reason: str = ""
    # by key: the units of the crew that it takes, and whether it checks each
    taken: Mapping[str, bool] = field(default_factory=dict)
    # what it could expect instead
    updates: Sequence[Update] = ()


@dataclass(slots=True)
class Suite:
    """The rehearsals of a crew's folder."""

    folder: Path
    loader: CrewLoader
    cases: list[Case]
    invariants: Sequence[PlacedInvariant]
    # of the crew's files and those of its rehearsals: errors
    problems: list[Problem]
    # of all of them, by name
    texts: Mapping[str, str]
    may_act: bool = False
    # of the crew without other values
    units: Sequence[Unit] = ()
    _checks: dict[int, CaseChecks] = field(default_factory=dict)

    @classmethod
    def read(
        cls, folder: Path, *, may_act: bool = False, real: RealModels | None = None
    ) -> "Suite":
        """Read the rehearsals of a folder, and check them against its crew.

        Args:
            folder: the crew's.
            may_act: tools that must not be called twice are called where one says `real`.
            real: they are played by real models; None: by what they say.

        Raises:
            ProviderError: there is no such model.
        """
        loader, found = CrewLoader.of(folder, real), read_rehearsals(folder)
        suite = cls(folder, loader, found.cases, found.invariants, [], {}, may_act)
        texts, problems = dict(found.texts), list(found.problems)
        for case in found.cases:
            loaded = suite.crew_of(case)
            texts |= loaded.checked.files.texts
            if not case.keys.set and has_failed(loaded.checked.problems):
                problems += map(_with_remedy, loaded.checked.problems)
            elif not has_failed(loaded.checked.problems):
                problems += suite._checks_of(loaded).check(case)
        plain = loader.load(found.cases[0].keys.env if found.cases else {}, {})
        if not has_failed(plain.checked.problems):
            suite.units = units_of(plain.checked)
            problems += suite._checks_of(plain).check_invariants(found)
        suite.problems = [one for one in in_order(problems) if one.severity == "error"]
        suite.texts = texts
        return suite

    def crew_of(self, case: Case) -> LoadedCrew:
        """Return the crew of a rehearsal."""
        return self.loader.load(case.keys.env, case.keys.set)

    def _checks_of(self, loaded: LoadedCrew) -> CaseChecks:
        if id(loaded) not in self._checks:
            self._checks[id(loaded)] = CaseChecks.of(loaded.checked)
        return self._checks[id(loaded)]

    def play_all(self, cases: Sequence[Case], jobs: int = 1) -> Iterator[Result]:
        """Play rehearsals and yield what becomes of each, in their order.

        Args:
            cases: some of the suite's.
            jobs: processes at most.

        Raises:
            BrokenProcessPool: one of the processes was killed.
        """
        jobs = min(jobs, -(-len(cases) // PER_PROCESS))
        if jobs < 2:
            yield from map(self.play, cases)
            return
        _Shared.suite, _Shared.cases = self, cases
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            try:
                yield from pool.map(_play_shared, range(len(cases)), chunksize=8)
            finally:
                # and wait: else CPython may write to a closed pipe when the process ends
                pool.shutdown(cancel_futures=True)

    def play(self, case: Case) -> Result:
        """Play a rehearsal."""
        source = case.source("name")
        if case.keys.skip is not None:
            return Result(case.id, "skipped", source, reason=case.keys.skip)
        loaded = self.crew_of(case)
        if wrong := wrong_values(case, loaded):
            return Result(case.id, "error", source, mismatches=wrong)
        started = time.perf_counter()
        limit = case.keys.expect.at_most.wall_seconds
        judged, seconds, updates = None, 0.0, list[Update]()
        try:
            with quiet():
                played, judged = self._play(case, loaded)
                seconds = played.seconds
                updates = list(updates_of(case, played, judged))
        except WallTimeOver:
            text = f"it took longer than {limit:g} s of this machine's time (wall_seconds)"
            found: Sequence[Mismatch] = [Mismatch("at_most", text, case.source("expect"))]
        except Exception as error:
            # the others are played all the same
            log.debug("rehearsal %s", case.id, exc_info=error)
            text = f"the runtime made a mistake: {type(error).__name__}: {error}"
            return Result(case.id, "error", source, mismatches=[Mismatch("error", text, source)])
        else:
            found = judged.mismatches
        millis = (time.perf_counter() - started) * 1000
        path = [one.name for one in judged.steps] if judged is not None else []
        status: Status = "failed" if found else "passed"
        reason = ""
        if case.keys.fails is not None:
            reason, status = case.keys.fails, "passed" if found else "failed"
            text = f"it was to fail, and does not: {reason}; remove fails"
            found = [] if found else [Mismatch("error", text, case.source("fails"))]
        taken = self._taken(case, judged) if judged is not None and status == "passed" else {}
        updates = updates if status == "failed" else []
        return Result(case.id, status, source, millis, seconds, path, found, reason, taken, updates)

    def _taken(self, case: Case, judged: Judged) -> dict[str, bool]:
        if case.keys.set or case.keys.fails is not None:
            # of another crew than the one that is served; or nothing that holds
            return {}
        coverage = CoverageCounts(self.units)
        expectations = [one for _, one in expectations_of(case)]
        expectations = expectations[1:] if case.keys.turns else expectations[:1]
        for story, expect in zip(judged.stories, expectations, strict=True):
            coverage.add(taken_units(self.units, story, expect))
        return coverage.taken

    def _play(self, case: Case, loaded: LoadedCrew) -> tuple[Played, Judged]:
        played, judged = self._play_once(case, loaded, self.invariants)
        if not judged.mismatches:
            kills = (one for one in enumerate(case.keys.faults) if one[1].kill == "each")
            for number, _ in kills:
                wrong = self._kill_each(case, loaded, played, judged, number)
                judged = Judged(judged.stories, wrong)
        return played, judged

    def _play_once(
        self,
        case: Case,
        loaded: LoadedCrew,
        invariants: Sequence[PlacedInvariant],
        kill_at: int = 0,
    ) -> tuple[Played, Judged]:
        """Play and judge it within its time of this machine; raises WallTimeOver."""
        with wall_limit(case.keys.expect.at_most.wall_seconds):
            played = play_case(case, loaded, may_act=self.may_act, kill_at=kill_at)
            return played, judge(played, invariants, self.texts)

    def _kill_each(
        self, case: Case, loaded: LoadedCrew, first: Played, judged: Judged, number: int
    ) -> list[Mismatch]:
        """Play a rehearsal once for every event, and compare how it ends."""
        wanted = [one.name for one in judged.steps if one.name != "pause"]
        answer, wire = first.turns[0].row.answer, first.turns[0].wire
        for seq in range(1, len(wire) + 1):
            played, again = self._play_once(case, loaded, (), kill_at=seq)
            path = [one.name for one in again.steps if one.name != "pause"]
            if path == wanted and played.turns[0].row.answer == answer:
                continue
            text = f"killed after event {seq} ({wire[seq - 1]['type']}), it ends another way"
            text = f"{text}: {' → '.join(path)}: {played.turns[0].row.answer}"
            return [Mismatch("kill", text, case.source("faults", number))]
        return []


def _with_remedy(problem: Problem) -> Problem:
    """Return a problem of the crew's files as a rehearsal can mend it."""
    if problem.code != "unset-variable":
        return problem
    text = f"{problem.message}; rehearsals have no variables but theirs: give it in `env`"
    return replace(problem, message=text)


def wrong_values(case: Case, loaded: LoadedCrew) -> list[Mismatch]:
    """Return what is wrong with the values that a rehearsal sets in the crew's files."""
    problems = [one for one in loaded.checked.problems if one.severity == "error"]
    found = [
        Mismatch("config", f"{one.file}:{one.line}: {one.message}", case.source("set"))
        for one in problems
    ]
    for change in loaded.checked.files.unmade:
        dotted = ".".join(map(str, change.path))
        text = f"there is no {dotted} in the crew's files"
        found.append(Mismatch("config", text, case.source("set", dotted)))
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing: what goes wrong by a rehearsal's own will is no news."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class _Shared:
    """What processes have from the one that makes them."""

    suite: Suite
    cases: Sequence[Case] = ()


def _play_shared(number: int) -> Result:
    return _Shared.suite.play(_Shared.cases[number])
