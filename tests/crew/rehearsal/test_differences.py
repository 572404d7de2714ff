"""What differs between two versions of a crew, and what may be more than before."""

from pathlib import Path
from typing import Any

import pytest

from crew.rehearsal.differences.differences import Difference, differences
from crew.rehearsal.playing.loaded import CrewLoader
from tests.crew.rehearsal.test_replays import edit
from tests.support.rehearsed import repair_crew


def differing(folder: Path, file: str, change: dict[str, Any]) -> list[Difference]:
    repair_crew(folder / "a")
    repair_crew(folder / "b")
    edit(folder / "b", file, change)
    then, now = (CrewLoader.of(folder / name).load({}, {}).checked for name in "ab")
    return differences(then, now)


@pytest.mark.parametrize(
    ("file", "change", "texts", "more"),
    [
        ("crew.yaml", {"settings": {"max_rounds": 3}}, ["max_rounds 10 → 3"], False),
        ("crew.yaml", {"settings": {"max_rounds": 10}}, [], False),
        ("crew.yaml", {"routing.signals.desk.0.target": None}, ["route desk [FIX] → the end (was fixer)"], False),
        ("crew.yaml", {"routing.signals.desk": [{"signal": "[FIX]", "target": "fixer"}]}, ["route desk [DONE] → the end is gone"], False),
        ("crew.yaml", {"entry_point": "fixer"}, ["entry_point none → fixer"], False),
        ("crew.yaml", {"settings": {"after_untrusted": "allow"}}, [], False),
        ("crew.yaml", {"settings": {"allow_client_system": True}}, ["allow_client_system false → true"], True),
        ("agents/desk.yaml", {"system_prompt": "You are quick.\nAnd good."}, ["agent desk: system_prompt, 2 lines"], False),
        ("agents/desk.yaml", {"tools": ["look"]}, ["agent desk: tools: look more"], True),
        ("agents/fixer.yaml", {"tools": ["look"]}, ["agent fixer: tools: restart less"], False),
        ("agents/fixer.yaml", {"tools": ["look", "restart"]}, ["agent fixer: tools: in another order: look, restart"], False),
        ("agents/desk.yaml", {"temperature": 0.1}, ["agent desk: temperature none → 0.1"], False),
        ("tools.yaml", {"tools.restart.requires_approval": None}, ["tool restart: no longer asks a person"], True),
        ("tools.yaml", {"tools.look.requires_approval": True}, ["tool look: asks a person"], False),
        ("tools.yaml", {"tools.restart.requires_approval": True}, ["tool restart: approval: deadline_seconds 900.0 → none"], False),
        ("tools.yaml", {"tools.restart.effect": "read"}, ["tool restart: effect once → read"], True),
        ("tools.yaml", {"tools.restart.effect": "idempotent"}, ["tool restart: effect once → idempotent"], True),
        ("tools.yaml", {"tools.look.effect": "once"}, ["tool look: effect read → once"], True),
        ("tools.yaml", {"tools.restart.requires_approval": {"deadline_seconds": 60, "on_deadline": "refuse"}}, ["tool restart: approval: deadline_seconds 900.0 → 60.0"], False),
        ("tools.yaml", {"tools.new": {"kind": "command", "description": "x", "argv": ["true"]}}, ["tool new is new"], True),
    ],
)  # fmt: skip
def test_differences_are_in_the_crews_words(
    tmp_path: Path, file: str, change: dict[str, Any], texts: list[str], more: bool
):
    found = differing(tmp_path, file, change)
    assert [one.text for one in found] == texts
    assert any(one.is_more for one in found) == more
    assert all(one.now.startswith(file) or one.then.startswith(file) for one in found)


BOOK = {"kind": "http", "description": "x", "url": "https://a.example/", "method": "POST"}
CASES = {"kind": "command", "description": "x", "argv": ["true", "{n}"], "requires_approval": {}}
# by name: a file, a key with what it was and is; ⚠ this way, and not the other
WIDER: dict[str, tuple[str, str, Any, Any]] = {
    "addresses of the house": ("tools.yaml", "tools.book.allow_private", False, True),
    "more of them": (
        "tools.yaml",
        "tools.book.allow_private",
        ["10.1.0.0/16"],
        ["10.0.0.0/8", "10.1.0.0/16"],
    ),
    "where it may be led": ("tools.yaml", "tools.book.redirects", [], ["b.example"]),
    "what begins with a dash": ("tools.yaml", "tools.cases.dash_arguments", False, True),
    "higher amounts": (
        "tools.yaml",
        "tools.cases.requires_approval.when",
        {"n": {"above": 100}},
        {"n": {"above": 1000}},
    ),
    "tokens": ("crew.yaml", "budgets.b.tokens", 100, 1000),
    "what a budget does": ("crew.yaml", "budgets.b.then", "block", "warn"),
    "how it counts": ("crew.yaml", "budgets.b.reserve", "worst", "likely"),
    "how long talks are kept": ("crew.yaml", "conversations.keep_days", 3, 300),
    "what is kept of a person": ("crew.yaml", "memory", {}, {"recall": {}}),
}


@pytest.mark.parametrize("name", WIDER)
def test_what_lets_a_crew_do_more_is_marked(tmp_path: Path, name: str):
    file, key, narrow, wide = WIDER[name]
    for folder, value in (("a", narrow), ("b", wide)):
        repair_crew(tmp_path / folder)
        edit(tmp_path / folder, "tools.yaml", {"tools.book": BOOK, "tools.cases": CASES})
        budget = {"scope": "crew", "per": "day", "tokens": 100, "reserve": "worst"}
        edit(tmp_path / folder, "crew.yaml", {"budgets": {"b": budget}, "conversations": {}})
        edit(tmp_path / folder, file, {key: value})
    then, now = (CrewLoader.of(tmp_path / one).load({}, {}).checked for one in "ab")
    assert any(one.is_more for one in differences(then, now)), differences(then, now)
    assert not any(one.is_more for one in differences(now, then)), differences(now, then)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("tools.yaml", {"tools.book.method": "DELETE"}),
        ("crew.yaml", {"providers.lab.base_url": "https://evil.example/v1"}),
        ("crew.yaml", {"budgets": None}),
    ],
)
def test_what_goes_elsewhere_is_marked(tmp_path: Path, file: str, change: dict[str, Any]):
    for folder in "ab":
        repair_crew(tmp_path / folder)
        edit(tmp_path / folder, "tools.yaml", {"tools.book": BOOK})
        budget = {"b": {"scope": "crew", "per": "day", "tokens": 100}}
        lab = {"lab": {"base_url": "https://lab.example/v1"}}
        edit(tmp_path / folder, "crew.yaml", {"budgets": budget, "providers": lab})
    edit(tmp_path / "b", file, change)
    then, now = (CrewLoader.of(tmp_path / one).load({}, {}).checked for one in "ab")
    assert any(one.is_more for one in differences(then, now)), differences(then, now)


def test_what_a_tool_reaches_is_named(tmp_path: Path):
    reads = {"kind": "command", "description": "x", "argv": ["cat", "a"], "read": ["/srv"]}
    for name in "ab":
        repair_crew(tmp_path / name)
        edit(tmp_path / name, "tools.yaml", {"tools.cat": reads})
    edit(
        tmp_path / "b",
        "tools.yaml",
        {"tools.cat.read": ["/srv", "/opt"], "tools.cat.network": True},
    )
    then, now = (CrewLoader.of(tmp_path / name).load({}, {}).checked for name in "ab")
    texts = {one.text: one.is_more for one in differences(then, now)}
    assert texts["tool cat: reads /opt, too"]
    assert any(text.startswith("tool cat: hosts ") for text in texts)


def test_a_changed_program_is_named(tmp_path: Path):
    """By its digest: a tool of Python may do anything else."""
    for name in "ab":
        repair_crew(tmp_path / name)
    program = next((tmp_path / "b").glob("*.py"))
    program.write_text(program.read_text() + "\n# another one\n")
    then, now = (CrewLoader.of(tmp_path / name).load({}, {}).checked for name in "ab")
    (found,) = differences(then, now)
    assert (found.text, found.then, found.now) == (f"{program.name} differs", *[program.name] * 2)


def test_comments_and_forms_are_no_difference(tmp_path: Path):
    for name in "ab":
        repair_crew(tmp_path / name)
    file = tmp_path / "b" / "crew.yaml"
    file.write_text(
        "# a comment\n"
        + file.read_text().replace("name: ", 'name:   "').replace("test-crew", 'test-crew"')
    )
    then, now = (CrewLoader.of(tmp_path / name).load({}, {}).checked for name in "ab")
    assert differences(then, now) == []


def test_a_script_differs_by_its_lines(tmp_path: Path):
    """Scripted models answer by it; its comments say nothing."""
    for name in "ab":
        repair_crew(tmp_path / name)
    path = tmp_path / "b" / "script.yaml"
    text = path.read_text()
    loaders = [CrewLoader.of(tmp_path / name) for name in "ab"]

    def found() -> list[str]:
        then, now = (CrewLoader.of(one.sources.folder).load({}, {}).checked for one in loaders)
        return [one.text for one in differences(then, now)]

    path.write_text("# a comment\n" + text)
    assert found() == []
    path.write_text(text.replace("What is wrong?", "What is it?"))
    assert found() == ["script: 1 line"]
    path.unlink()
    assert found() == ["script: gone"]
    loaders.reverse()
    assert found() == ["script: new"]
