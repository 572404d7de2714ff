"""What of a crew is taken, and what of that is checked; the examples check all of their routes and people."""

from dataclasses import replace
from pathlib import Path

import pytest

from crew.rehearsal.covering.counts import CoverageCounts
from crew.rehearsal.playing.suite import Result, Suite
from tests.support.crews import ROOT, SHARED_CREWS, copy_example
from tests.support.rehearsed import played, rehearse, repair_crew
from tests.support.seeds import copied

EXAMPLES = sorted(
    path.name for path in (ROOT / "examples").iterdir() if (path / "crew.yaml").exists()
)


def counted(suite: Suite, results: list[Result]) -> CoverageCounts:
    coverage = CoverageCounts(suite.units)
    for one in results:
        coverage.add(one.taken)
    return coverage


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_checks_all_of_its_routes_and_people(tmp_path: Path, name: str):
    suite = Suite.read(copy_example(name, tmp_path))
    results = played(suite)
    assert [one.mismatches for one in results if one.status != "passed"] == []
    coverage = counted(suite, results)
    left = [unit.text for unit, _ in coverage.unchecked() if unit.area in ("routes", "people")]
    assert left == []


@pytest.mark.parametrize("name", ["routing", "it-support", "pausing"])
def test_order_and_processes_change_nothing(tmp_path: Path, name: str):
    suite = Suite.read(copy_example(name, tmp_path))
    cases = suite.cases * (101 // len(suite.cases) + 1)
    many = list(suite.play_all(cases, jobs=8))[-len(suite.cases) :]
    one = list(suite.play_all(suite.cases, jobs=1))
    backwards = list(suite.play_all(suite.cases[::-1]))[::-1]
    first = [replace(result, wall_millis=0.0) for result in one]
    assert first == [replace(result, wall_millis=0.0) for result in many]
    assert first == [replace(result, wall_millis=0.0) for result in backwards]


def test_what_is_taken_counts_only_where_it_is_checked(tmp_path: Path):
    folder = repair_crew(tmp_path)
    broken = {"query": "broken", "returns": {"restart": "up"}, "answers": [{"approve": True}]}
    taken = rehearse(folder, {"name": "taken", **broken, "expect": {"answer": "up"}})
    coverage = counted(taken, played(taken))
    assert coverage.counts()["routes"] == (0, 3)
    is_taken = {unit.text: was for unit, was in coverage.unchecked()}
    assert is_taken["desk [FIX] → fixer"]
    assert not is_taken["desk [DONE] → the end"]
    checked = rehearse(
        folder,
        {"name": "a", **broken, "expect": {"path": ["desk", {"fixer": "[FIX]"}, "…", "end"]}},
        {"name": "b", "query": "thanks", "expect": {"end": "signal"}},
        {"name": "c", "query": "x", "says": {"desk": ["What?", "Bye. [DONE]"]}, "answers": ["nothing"], "expect": {"pauses": [{}]}},
    )  # fmt: skip
    coverage = counted(checked, played(checked))
    assert coverage.percent("routes") == 100
    left = [(unit.text, unit.source) for unit, _ in coverage.unchecked() if unit.area == "people"]
    assert left == [(f"restart: {how}", "tools.yaml:2") for how in ("denied", "deadline", "edited")]
    failed = rehearse(folder, {"name": "a", **broken, "expect": {"path": ["desk", "end"]}})
    assert failed.problems == []
    assert counted(failed, list(failed.play_all(failed.cases))).counts()["routes"] == (0, 3)


def test_limits_and_faults_are_units(tmp_path: Path):
    suite = Suite.read(copy_example("parallel", tmp_path))
    areas = {unit.text for unit in suite.units if unit.area == "limits"}
    assert areas == {"panel: a member is too late", "panel: all members fail"}
    suite = rehearse(repair_crew(tmp_path / "b"))
    assert {unit.text for unit in suite.units if unit.area == "faults"} == {
        "restart: its process is killed while it acts"
    }


@pytest.mark.skipif(not SHARED_CREWS.is_dir(), reason="the crews of others are not here")
@pytest.mark.parametrize("name", ["healer", "langgraph-chatbot", "supabase-flow"])
def test_the_graph_of_a_crew_that_others_wrote_is_counted(tmp_path: Path, name: str):
    folder = copied(name, tmp_path)
    suite = rehearse(folder, {"name": "hello", "query": "hello", "expect": {"path": ["…", "end"]}})
    codes = {problem.code for problem in suite.problems}
    assert codes <= {"unset-variable"}
    assert suite.units or codes
