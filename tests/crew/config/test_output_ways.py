"""Rules by typed answers that are right, or have no effect where they stand."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.output_problems import LAST, problems

GOOD_RULES = [
    {"when": {"kind": ["NEW"], "ok": True, "count": {"min": 1, "max": 3}}, "target": "b"},
    {"when": {"names": {"has": ["ann"], "max_items": 2}, "note": {"absent": False}}, "pause": True},
    {"when": {"kind": {"not": "old"}, "who": {"absent": True}}, "target": None},
    LAST,
]


def test_right_rules_have_no_problems(tmp_path: Path):
    assert problems(tmp_path, GOOD_RULES) == {}


def test_defaults_say_where_the_others_go(tmp_path: Path):
    rules = [{"when": {"kind": "new"}, "target": "b"}]
    assert problems(tmp_path, rules, routing={"defaults": {"a": "b"}}) == {}


@pytest.mark.parametrize("agent", [{"on_invalid": "b"}, {}])
def test_a_wrong_scripted_answer_may_be_meant(tmp_path: Path, agent: dict[str, Any]):
    """Where it leads somewhere."""
    script = [{"agent": "a", "say": "no JSON"}, {"say": "x"}]
    found = problems(tmp_path, [LAST], {"a": agent}, script)
    assert ("script-output" in found) == (not agent)


def test_words_in_brackets_are_no_signals_here(tmp_path: Path):
    script = [{"agent": "a", "say": {"kind": "new", "ok": True, "note": "[DONE]"}}, {"say": "x"}]
    prompt = {"system_prompt": "Say [NOTHING] of it."}
    assert problems(tmp_path, [LAST], {"a": prompt}, script) == {}


def test_what_a_member_of_a_group_cannot_do(tmp_path: Path):
    """It does not pause, and a wrong answer leads nowhere."""
    rules = [{"when": {"ok": True}, "pause": True}, {"target": "b"}]
    found = problems(
        tmp_path,
        rules,
        {"a": {"on_invalid": "b"}, "s": {}},
        entry_point="s",
        routing={"parallel_groups": {"g": {"agents": ["a"]}}, "defaults": {"s": "g"}},
    )
    said = [words for _, words in found["ignored-key"]]
    assert any("on_invalid has no effect: a speaks only in g" in one for one in said), said
    assert any("pause has no effect: a speaks only in g" in one for one in said), said


def test_rules_that_take_all_are_followed_by_nothing(tmp_path: Path):
    """As one without `when`: the order of the list leads nowhere from there."""
    rules = [{"when": {"ok": True}, "target": "b"}, {"when": {"ok": False}, "target": "b"}]
    found = problems(tmp_path, rules, {"c": {}}, routing={"defaults": {"a": "c"}})
    assert found.keys() == {"ignored-key", "unreachable"}, found


def test_large_bounds_cost_nothing(tmp_path: Path):
    output = {
        "properties": {
            "tags": {"type": "array", "maxItems": 1_000_000, "items": {"enum": ["x", "y", "z"]}},
            "count": {"type": "integer", "minimum": 1_234_567, "maximum": 1_234_570},
        },
        "required": ["tags", "count"],
    }
    rules = [{"when": {"tags": {"has": ["x", "y"]}, "count": {"min": 1_234_569}}, "target": "b"}]
    found = problems(tmp_path, rules, {"a": {"output": output}}, vocabularies=None)
    ((_, words),) = found["output-gap"]
    assert "count 1234567 or between 1234567 and 1234569" in words


def test_who_was_wrong_has_spoken(tmp_path: Path):
    """What its answer would have said is empty then, as its file knows."""
    reader = {"system_prompt": "{{output.a.kind}}"}
    assert problems(tmp_path, [LAST], {"a": {"on_invalid": "b"}, "b": reader}) == {}
