"""Rehearsals of crews that others wrote: all pass, and check each route, and each answer of people."""

import shutil
from pathlib import Path

import pytest

from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.playing.suite import Suite
from tests.support.rehearsed import played
from tests.support.seeds import SEEDS, copied

WRITTEN = Path(__file__).parent / "seeds"
NAMES = sorted(path.stem for path in WRITTEN.glob("*.yaml"))

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed crews are not at hand")


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_crew_does_what_must_happen(name: str, tmp_path: Path):
    folder = copied(name, tmp_path)
    (folder / "tests").mkdir()
    shutil.copy(WRITTEN / f"{name}.yaml", folder / "tests" / "seed.yaml")
    suite = Suite.read(folder)
    results = played(suite)
    assert {one.id: one.mismatches for one in results if one.status != "passed"} == {}
    coverage = CoverageCounts(suite.units)
    for one in results:
        coverage.add(one.taken)
    assert [coverage.percent(area) for area in ("routes", "people")] == [100, 100], coverage
