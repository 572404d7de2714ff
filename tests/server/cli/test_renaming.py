"""Agents and signals that get another name, in all files of a crew."""

from pathlib import Path

import pytest

from server.authoring.folders import view_crew
from server.authoring.names import Named, names_of
from server.authoring.renaming import RenameRefused, Renaming, rename
from tests.support.crews import copy_example, write_crew
from tests.support.logs_of_runs import EXAMPLES

REHEARSALS = """
defaults: { says: { b: [bye] } }
rehearsals:
  - name: one
    query: { text: x, agent: b }
    says: { a: ["on [GO]"] }
    expect: { path: [a, { b: "[GO]" }, end], never: [agent: b], asked: { b: { nth: 1 } } }
"""


def test_a_name_in_every_place(tmp_path: Path):
    """Budgets, waits, lists of the script; signals in other forms. What would break is refused."""
    folder = write_crew(
        tmp_path,
        {"a": {"system_prompt": "Say [go] or [ GO ]."}, "b": {"is_terminal": True}},
        [{"agent": ["a", "b"], "say": "x"}],
        routing={
            "signals": {"a": [{"signal": "[GO]", "target": "b"}, {"signal": "[BYE]"}]},
            "agent_behaviors": {
                "a": {"wait_for_signal": True, "on_wait_timeout": "b", "wait_timeout_seconds": 9}
            },
        },
        budgets={"one": {"scope": "crew", "per": "day", "calls": 5, "agents": ["b"]}},
    )
    (folder / "tests").mkdir()
    (folder / "tests" / "all.yaml").write_text(REHEARSALS)
    view = view_crew(folder, {})
    agent = next(one for one in names_of(view) if (one.kind, one.name) == ("agent", "b"))
    made = rename(view, agent, "front")
    files = {"crew.yaml", "agents/b.yaml", "script.yaml", "tests/all.yaml"}
    assert {edit.file for edit in made.edits} == files
    assert len([edit for edit in made.edits if edit.file == "tests/all.yaml"]) == 5
    assert len([edit for edit in made.edits if edit.file == "crew.yaml"]) == 4
    changing = (
        "rehearsals:\n  - { name: x, query: x, set: { agents.b.role: y }, expect: { end: END } }\n"
    )
    (folder / "tests" / "set.yaml").write_text(changing)
    with pytest.raises(RenameRefused, match=r"set.yaml:2 changes agents.b.role"):
        rename(view_crew(folder, {}), agent, "front")
    (folder / "tests" / "set.yaml").unlink()
    signal = next(one for one in names_of(view) if (one.kind, one.name) == ("signal", "[GO]"))
    edits = rename(view, signal, "[OUT]").edits
    assert len([edit for edit in edits if edit.file == "agents/a.yaml"]) == 2
    assert len([edit for edit in edits if edit.file == "tests/all.yaml"]) == 2
    for taken in ("[bye]", "[ BYE ]"):
        with pytest.raises(RenameRefused, match="already"):
            rename(view, signal, taken)
    (folder / "agents" / "front.yml").write_text("id: other\nname: x\nrole: y\n")
    with pytest.raises(RenameRefused, match="already"):
        rename(view_crew(folder, {}), agent, "front")


def test_a_list_of_one_tool_is_no_signal(tmp_path: Path):
    """`tools: [ping]` is YAML's own; the same in a prompt, or in quotes, is the signal."""
    routing = {"signals": {"a": [{"signal": "[PING]", "target": "b"}]}}
    folder = write_crew(tmp_path, {"a": {}, "b": {"is_terminal": True}}, [], routing=routing)
    agent = folder / "agents" / "a.yaml"
    agent.write_text(agent.read_text() + 'tools: [ping]\nbackstory: "Say [ping]."\n')
    view = view_crew(folder, {})
    signal = next(one for one in names_of(view) if one.kind == "signal")
    made = rename(view, signal, "[OUT]")
    assert [edit.file for edit in made.edits].count("agents/a.yaml") == 1
    written(folder, made)
    assert agent.read_text().endswith('tools: [ping]\nbackstory: "Say [OUT]."\n')


def written(folder: Path, made: Renaming) -> None:
    """Write a renaming to the files, as an editor does."""
    for name in {edit.file for edit in made.edits}:
        lines = (folder / name).read_text().splitlines(keepends=True)
        edits = [edit for edit in made.edits if edit.file == name]
        for edit in sorted(edits, key=lambda one: (one.line, one.column), reverse=True):
            line = lines[edit.line - 1]
            lines[edit.line - 1] = line[: edit.column - 1] + edit.text + line[edit.end - 1 :]
        (folder / name).write_text("".join(lines))
    if made.moved is not None:
        (folder / made.moved[0]).rename(folder / made.moved[1])


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_agent_of_each_example(tmp_path: Path, example: str):
    """Plans, blocks of contexts, variables of prompts, cases of rehearsals: nothing is forgotten."""
    folder = copy_example(example, tmp_path)
    for agent in list(view_crew(folder, {}).checked.files.agent_files):
        named = Named("agent", agent, f"agents/{agent}.yaml", 1, 1)
        written(folder, rename(view_crew(folder, {}), named, f"{agent}_next"))
    view = view_crew(folder, {})
    assert [one for one in view.problems if one.code != "tool-import"] == []
    for path in folder.rglob("*.yaml"):
        text = path.read_text()
        for agent in view.checked.files.agent_files:
            old = agent.removesuffix("_next")
            assert f"output.{old}." not in text
            assert f"[{old}]" not in text
