"""The mutants of the defences are in step with the code; `make mutants` runs them all."""

import pytest

from tests.defences.mutant import Mutant
from tests.defences.mutants import MUTANTS
from tests.support.crews import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_place_and_its_test_are_there(mutant: Mutant):
    """Once."""
    mutant.check()
    file, _, name = mutant.test.partition("::")
    assert f"def {name or 'test_'}" in (ROOT / file).read_text()


def test_a_defence_that_is_gone_is_seen():
    """One of them, whole: the harness sees what it is to see."""
    (mutant,) = [one for one in MUTANTS if one.name == "marks of who speaks can be forged"]
    assert mutant.is_seen()
