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
