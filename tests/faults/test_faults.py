"""A slice of `make faults`: a few faults, and mistakes of ours that must be seen."""

import tempfile
from pathlib import Path

import pytest

from tests.faults.acting_crew import MAX_RECOVERIES
from tests.faults.harness import play
from tests.faults.hazards import Hazards
from tests.faults.histories import Report
from tests.faults.mutants import MUTANTS, Mutant, mutated
from tests.support.clocks import needs_faketime
from tests.support.postgres import needs_postgres
from tests.support.slow_disk import needs_compiler

pytestmark = pytest.mark.timeout(400)


def whole(report: Report) -> None:
    assert report.wrong == []
    assert (report.lost, report.holes) == (0, 0)
    assert report.effects["once"] > 0


def test_nothing_is_lost():
    """Killed and stopped at random points; every run ends, every history is whole, nothing is paid twice unasked."""
    report = play(5, seed=1, hazards=Hazards(poison=10))
    whole(report)
    assert report.poison_claims <= MAX_RECOVERIES


@needs_compiler
def test_nothing_is_lost_on_a_slow_disk():
    """The writes go to a thread, and back, in the middle of everything."""
    whole(play(3, seed=6, hazards=Hazards(slow_disk=True)))


@needs_postgres
def test_nothing_is_lost_on_several_machines():
    """A server and two workers, killed, stopped and frozen."""
    whole(play(5, seed=3, postgres=True))


@needs_postgres
@needs_faketime
def test_nothing_is_lost_with_stalls_a_wrong_clock_and_a_bad_network():
    """All at once."""
    whole(play(4, seed=5, postgres=True, hazards=Hazards(stalls=10, skewed=True, network=True)))


@needs_postgres
def test_nothing_is_lost_when_the_database_restarts():
    """In the middle of everything."""
    whole(play(3, seed=4, postgres=True, restarts=True))


def test_a_mistake_is_seen():
    """One that the first run shows; `make faults` has them all."""
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "a number that is left out"]
    with tempfile.TemporaryDirectory() as folder:
        assert play(8, seed=2, code=mutated(mutant, Path(folder))).wrong


@needs_postgres
def test_a_mistake_is_seen_by_the_suite_of_the_stores():
    """One that only shows when two write the same run."""
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "an epoch that is not compared"]
    with tempfile.TemporaryDirectory() as folder:
        seen = mutant.seen_by_suite(mutated(mutant, Path(folder)))
    assert seen is not None
    assert "a_former_writer_is_refused" in seen


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_has_its_place(mutant: Mutant, tmp_path: Path):
    """The code that it changes is still there."""
    mutated(mutant, tmp_path)
