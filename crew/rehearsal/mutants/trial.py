"""A change is made in a crew's files, and the rehearsals are played until one notices."""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from crew.config.problems import has_failed
from crew.rehearsal.files.bound import Case
from crew.rehearsal.mutants.changes import OF_WORDS, Mutant, mutants_of
from crew.rehearsal.mutants.reach import has_same_routing, is_out_of_reach
from crew.rehearsal.pins import changed_pins, pins_of
from crew.rehearsal.playing.loaded import CrewLoader, LoadedCrew
from crew.rehearsal.playing.suite import Suite

TrialEnd = Literal["caught", "pinned", "warned", "survived", "same"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant."""

    mutant: Mutant
    end: TrialEnd
    # the id of the rehearsal, or `crew validate`
    by: str = ""


@dataclass(slots=True)
class Trials:
    """Tries the mutants of a crew."""

    suite: Suite
    base: LoadedCrew
    # tests/asked.lock is there, and holds
    is_pinned: bool

    def mutants(self, most: int) -> list[Mutant]:
        """Return the mutants; `most`: so many, evenly chosen."""
        every = mutants_of(self.base.checked)
        if len(every) <= most:
            return every
        return [every[place * len(every) // most] for place in range(most)]

    def run(self, mutants: Sequence[Mutant], jobs: int = 1) -> Iterator[Trial]:
        """Try mutants, and yield what becomes of each, in their order."""
        if jobs < 2 or len(mutants) < 2:
            yield from map(self.try_one, mutants)
            return
        _Shared.trials, _Shared.mutants = self, mutants
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            yield from pool.map(_try_shared, range(len(mutants)))

    def try_one(self, mutant: Mutant) -> Trial:
        """Try a mutant."""
        sources = replace(self.suite.loader.sources, changes=(mutant.change,))
        loader = CrewLoader(sources)
        loaded = loader.load({}, {})
        if loaded.checked.files.unmade:
            # it is not written, and is not needed
            return Trial(mutant, "same")
        if has_failed(loaded.checked.problems):
            return Trial(mutant, "caught", "crew validate")
        if self._is_same(mutant, loaded):
            return Trial(mutant, "same")
        for case in self._cases(mutant):
            if self._notices(case, loader):
                return Trial(mutant, "caught", case.id)
        if self.is_pinned and any(changed_pins(pins_of(self.base), pins_of(loaded))):
            return Trial(mutant, "pinned", "tests/asked.lock")
        known = {(one.code, one.message) for one in self.base.checked.problems}
        new = [one for one in loaded.checked.problems if (one.code, one.message) not in known]
        if new:
            return Trial(mutant, "warned", new[0].code)
        return Trial(mutant, "survived")

    def _cases(self, mutant: Mutant) -> list[Case]:
        """Return the rehearsals that may notice; of words, those that look at them."""
        cases = [one for one in self.suite.cases if not (one.keys.skip or one.keys.fails)]
        if mutant.kind not in OF_WORDS:
            return cases
        return [one for one in cases if one.keys.expect.asked or one.keys.turns]

    def _is_same(self, mutant: Mutant, loaded: LoadedCrew) -> bool:
        path = mutant.change.path
        if path[0] == "settings":
            crew = self.base.checked.files.crew
            assert crew is not None, "only of a crew without errors"
            name = str(path[1])
            value = getattr(crew.settings, name)
            return is_out_of_reach(self.base.checked, name, value, mutant.change.value)
        if mutant.kind not in ("route", "group"):
            return False
        return has_same_routing(self.base.checked, loaded.checked) and not any(
            changed_pins(pins_of(self.base), pins_of(loaded))
        )

    def _notices(self, case: Case, loader: CrewLoader) -> bool:
        """Return whether a rehearsal fails on the changed files; taking too long is no sign."""
        suite = replace(self.suite, loader=loader)
        result = suite.play(case)
        return result.status != "passed" and any(
            "of this machine's time" not in one.text for one in result.mismatches
        )


class _Shared:
    """What processes have from the one that makes them."""

    trials: Trials
    mutants: Sequence[Mutant] = ()


def _try_shared(number: int) -> Trial:
    return _Shared.trials.try_one(_Shared.mutants[number])
