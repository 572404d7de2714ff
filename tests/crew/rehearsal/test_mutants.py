"""Files with a mistake: a rehearsal notices, the pins do, or nothing does, which is told with its line and a remedy."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crew.rehearsal.mutants.changes import mutants_of
from crew.rehearsal.mutants.trial import Trial, Trials
from crew.rehearsal.pins import changed_pins, pins_of, read_pins, write_pins
from crew.rehearsal.playing.suite import Suite
from tests.crew.rehearsal.test_replays import edit
from tests.support.crews import copy_example
from tests.support.rehearsed import rehearse, repair_crew

BROKEN = {
    "query": "it is broken",
    "returns": {"restart": "up"},
    "answers": [{"approve": True}],
}


def tried(suite: Suite, jobs: int = 1) -> dict[str, Trial]:
    assert suite.problems == []
    base = suite.loader.load({}, {})
    pins = read_pins(suite.folder)
    trials = Trials(suite, base, pins is not None and not any(changed_pins(pins, pins_of(base))))
    return {one.mutant.text: one for one in trials.run(trials.mutants(500), jobs)}


@pytest.mark.parametrize("name", ["on-call", "it-support"])
def test_the_rehearsals_of_an_example_notice_every_mistake(tmp_path: Path, name: str):
    """Routes, groups, limits, approvals and tools by a rehearsal; prompts and sampling by the pins."""
    trials = tried(Suite.read(copy_example(name, tmp_path)), jobs=2)
    ends = Counter(one.end for one in trials.values())
    assert ends["survived"] == ends["warned"] == 0, trials
    by_pins = {one.mutant.kind for one in trials.values() if one.end == "pinned"}
    assert by_pins <= {"prompt", "sampling"}
    assert len(trials) > 40


def test_what_no_rehearsal_checks_survives(tmp_path: Path):
    suite = rehearse(repair_crew(tmp_path), {"name": "one", **BROKEN, "expect": {"answer": "up"}})
    trials = tried(suite)
    assert trials["desk [FIX] → the end"].end == "caught"
    assert trials["desk [FIX] → the end"].by == "tests/a.yaml::one"
    assert trials["desk [DONE] is gone"].end in ("survived", "warned")
    assert trials["restart: asks no person"].end == "caught", (
        "the answer of the person is left over"
    )
    assert trials["restart: deadline × 0.3"].end == "survived"
    assert trials["restart: deadline × 0.3"].mutant.source.startswith("tools.yaml:")
    assert trials["fixer: has no look"].end == "warned", "it is used by no agent then"
    suite = rehearse(
        tmp_path,
        {"name": "one", **BROKEN, "expect": {"asked": {"fixer": {"tools": ["restart", "look"]}}}},
        {"name": "two", **BROKEN, "answers": [{"nobody": "1h"}], "says": {"fixer": [{"calls": [{"tool": "restart", "arguments": {"service": "web"}}]}, "Left."]}, "expect": {"seconds": {"min": 900, "max": 901}}, "returns": {}},
    )  # fmt: skip
    trials = tried(suite)
    assert trials["restart: deadline × 0.3"].by == "tests/a.yaml::two"
    assert trials["fixer: has no look"].by == "tests/a.yaml::one"


def test_what_can_make_no_difference_is_the_same(tmp_path: Path):
    suite = Suite.read(copy_example("routing", tmp_path))
    trials = tried(suite)
    assert {name for name, one in trials.items() if one.end == "same"} >= {
        "settings.max_handoffs 5 → 1",
        "settings.max_handoffs 5 → 50",
        "settings.max_rounds 10 → 3",
        "settings.max_rounds 10 → 100",
    }


def test_what_validate_refuses_is_caught_by_it(tmp_path: Path):
    suite = rehearse(repair_crew(tmp_path), {"name": "one", **BROKEN, "expect": {"answer": "up"}})
    base = suite.loader.load({}, {})
    assert all(one.source.rpartition(":")[2].isdecimal() for one in mutants_of(base.checked))
    trials = tried(suite)
    wrong = [one for one in trials.values() if one.by == "crew validate"]
    assert all(one.end == "caught" for one in wrong)


def test_pins_are_of_words_tools_and_sampling(tmp_path: Path):
    folder = repair_crew(tmp_path)
    suite = rehearse(folder)
    before = pins_of(suite.loader.load({}, {}))
    write_pins(folder, before)
    assert read_pins(folder) == before
    edits: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
        ("agents/desk.yaml", {"system_prompt": "Other."}, [("desk", "prompt")]),
        ("agents/fixer.yaml", {"tools": ["restart"]}, [("fixer", "prompt"), ("fixer", "tools")]),
        ("agents/desk.yaml", {"temperature": 0.9}, [("desk", "sampling")]),
        ("agents/desk.yaml", {"model": "large"}, [("desk", "sampling")]),
        ("tools.yaml", {"tools.look.description": "Look well."}, [("fixer", "tools")]),
        ("crew.yaml", {"settings": {"max_rounds": 3}}, []),
    ]
    for file, change, found in edits:
        shutil.rmtree(tmp_path / "b", ignore_errors=True)
        repair_crew(tmp_path / "b")
        edit(tmp_path / "b", file, change)
        now = pins_of(rehearse(tmp_path / "b").loader.load({}, {}))
        assert set(changed_pins(before, now)) <= set(found) | {("fixer", "prompt")}, file
        assert set(changed_pins(before, now)) >= {
            one for one in found if one[1] != "prompt" or "prompt" in str(change)
        }
    (folder / "tests" / "asked.lock").write_text(json.dumps([1]))
    with pytest.raises(ValueError, match="no file of pins"):
        read_pins(folder)
