"""A slice of `make faults`: a few kills, and mistakes of ours that must be seen."""

import tempfile
from pathlib import Path

import pytest

from tests.faults.harness import MUTANTS, Mutant, mutated, play


@pytest.mark.timeout(240)
def test_nothing_is_lost():
    """Killed at random points; every run ends, every history is whole, nothing is paid twice unasked."""
    report = play(kills=8, seed=1)
    assert report.wrong == []
    assert (report.lost, report.holes) == (0, 0)
    assert report.effects["once"] > 0


@pytest.mark.timeout(240)
def test_a_mistake_is_seen():
    """One that the first run shows; `make faults` has them all."""
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "a number that is left out"]
    with tempfile.TemporaryDirectory() as folder:
        assert play(kills=8, seed=2, code=mutated(mutant, Path(folder))).wrong


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_has_its_place(mutant: Mutant, tmp_path: Path):
    """The code that it changes is still there."""
    mutated(mutant, tmp_path)
