"""What people write at night, and the remedy that stands in the first line of what they read."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from crew import check
from tests.support.crews import write_crew

TOOL = "kind: command, description: x"


def said(folder: Path) -> list[str]:
    """Each problem, with its place."""
    return [
        f"{one.file}:{one.line}: {one.severity}: {one.message}"
        + (f" ({one.suggestion})" if one.suggestion else "")
        for one in check(folder).problems
    ]


def crew_with(folder: Path, prompt: str, tools: str = "") -> Path:
    """A crew of one agent; its prompt, and its tool, as they are written in the files."""
    write_crew(folder, {"a": {"is_terminal": True, "tools": ["t"] if tools else []}})
    file = folder / "agents" / "a.yaml"
    lines = [one for one in file.read_text().splitlines() if "system_prompt" not in one]
    file.write_text("\n".join([*lines, f"system_prompt: {prompt}", ""]))
    if tools:
        (folder / "tools.yaml").write_text(f"tools:\n  t: {{ {tools} }}\n")
    return folder


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("You answer ticket #12.", "the text ends before '#12.'"),
        ("Ask in #ops, # not here", "the text ends before '#ops,'"),
        ("prompts/a.md", "no file is read here"),
        ("a.prompt.txt", "no file is read here"),
        ("You answer. # the tone is set elsewhere", None),
        ('"You answer ticket #12."', None),
        ("Read a.md, and answer.", None),
        ("|\n  You answer\n  ticket #12.", None),
        ("issue#12 is answered", None),
    ],
)
def test_a_text_that_is_not_what_was_meant(tmp_path: Path, prompt: str, expected: str | None):
    found = said(crew_with(tmp_path, prompt))
    if expected is None:
        assert found == []
    else:
        (one,) = found
        assert ": warning: " in one
        assert expected in one


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (f'{TOOL}, argv: ["df -h"]', "each of its arguments by itself: [df, -h]"),
        (f'{TOOL}, argv: ["df | sort"]', "there is no shell for |, > or &&"),
        (f"{TOOL}, argv: df -h", "expected a list of words; write [df, -h]"),
        (f"{TOOL}, argv: 'df -h /my disk'", "write [df, -h, /my, disk]"),
        (f"{TOOL}, argv: 'df | sort'", "expected a list of words"),
        (f'{TOOL}, argv: [df, "|", sort]', "| is an argument here: there is no shell"),
        (f'{TOOL}, argv: [df, "2>&1"]', "2>&1 is an argument here: there is no shell"),
        ("kind: http, description: x, url: https:/h/x", "a URL begins with https://HOST/"),
        ("kind: http, description: x, url: http://127.0.0.1/, expect: {status: 2xx}", "such as [200, 404]"),
        ('kind: mcp, command: npx -y "@x/y"', 'write npx, and args: [-y, "@x/y"]'),
    ],
)  # fmt: skip
def test_a_tool_that_is_called_otherwise(tmp_path: Path, tools: str, expected: str):
    found = said(crew_with(tmp_path, "You help.", tools))
    assert any(expected in one for one in found), found


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("type: integer, default: five", "'five' is no integer"),
        ("type: integer, enum: [a, 2]", "'a' is no integer"),
        ("type: boolean, default: maybe", "'maybe' is no boolean"),
        ("type: array, default: x", "'x' is no array"),
        ("type: string, default: [x]", "['x'] is no string"),
        ("type: number, enum: [true]", "True is no number"),
        ("type: integer, default: '5'", None),
        ("type: integer, default: 5.0", None),
        ("type: number, enum: [1, 2.5]", None),
        ("type: boolean, default: 'yes'", None),
        ("type: string, enum: [1, x]", None),
        ("type: integer, default: null", None),
        ("type: [integer, 'null'], default: x", None),
    ],
)
def test_a_value_of_another_type(tmp_path: Path, schema: str, expected: str | None):
    parameters = f"{{type: object, properties: {{n: {{{schema}}}}}}}"
    tools = f'{TOOL}, argv: [df, "{{n}}"], parameters: {parameters}'
    found = said(crew_with(tmp_path, "You help.", tools))
    if expected is None:
        assert found == []
    else:
        assert [one for one in found if expected in one and ": error: " in one], found


def test_arguments_that_stand_where_the_schema_does(tmp_path: Path):
    tools = f'{TOOL}, argv: [df, "{{n}}"], parameters: {{n: {{type: integer}}}}'
    found = said(crew_with(tmp_path, "You help.", tools))
    assert any("arguments stand below `properties`" in one for one in found), found


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ({"crew.yaml": "Crew.yaml"}, "Crew.yaml:1: warning: it is not read: its name is not crew.yaml"),
        ({"crew.yaml": "crew.YAML"}, "crew.YAML:1: warning: it is not read: its name is not crew.yaml"),
        ({"crew.yaml": "crew.yaml.txt"}, "crew.yaml.txt:1: warning: it is not read: its name is not crew"),
        ({"tools.yaml": "tool.yaml"}, "tool.yaml:1: warning: it is not read: its name is not tools.yaml"),
        ({"script.yaml": "scripts.yml"}, "scripts.yml:1: warning: it is not read: its name is not script"),
        ({"agents": "agent"}, "agent:1: warning: it is not read: its name is not agents"),
        ({"agents": "Agents"}, "Agents:1: warning: it is not read: its name is not agents"),
        ({"agents/a.yaml": "agents/a.YML"}, "agents/a.YML:1: warning: it is not read: its name is not a.yaml"),
        ({"agents/a.yaml": "agents/a.yaml.txt"}, "agents/a.yaml.txt:1: warning: it is not read"),
        ({"crew.yaml": "crew.yml"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_a_name_that_is_nearly_right(
    tmp_path: Path, moved: Mapping[str, str], expected: str | None
):
    folder = crew_with(tmp_path, "You help.", f"{TOOL}, argv: [df]")
    (folder / "notes.yaml").write_text("x: 1\n")
    (folder / "agents" / ".a.yaml.swp.YAML").write_text("x: 1\n")
    for name, other in moved.items():
        (folder / name).rename(folder / other)
    found = said(folder)
    if expected is None:
        assert found == []
    else:
        assert any(one.startswith(expected) for one in found), found


def test_a_file_that_is_there_is_enough(tmp_path: Path):
    """Another one beside it, of nearly its name, may be for anything."""
    folder = crew_with(tmp_path, "You help.", f"{TOOL}, argv: [df]")
    (folder / "tool.yaml").write_text("x: 1\n")
    (folder / "agent").mkdir()
    assert said(folder) == []


@pytest.mark.parametrize("target", ["none", "END", "__end__", "exit", "null_", "terminal"])
def test_an_end_that_has_a_name(tmp_path: Path, target: str):
    routing = {"signals": {"a": [{"signal": "[X]", "target": target}]}}
    write_crew(tmp_path, {"a": {}}, routing=routing)
    assert any("leave it empty to end the run" in one for one in said(tmp_path))


def test_a_key_around_all_others(tmp_path: Path):
    """Is one mistake."""
    folder = crew_with(tmp_path, "You help.")
    file = folder / "agents" / "a.yaml"
    file.write_text("agent:\n" + "".join(f"  {one}\n" for one in file.read_text().splitlines()))
    (one,) = said(folder)
    assert one.startswith("agents/a.yaml:1: error: unknown key 'agent': take it away")


def test_a_key_without_its_plural(tmp_path: Path):
    write_crew(tmp_path, {"a": {}}, routing={"signal": {"a": [{"signal": "[X]", "target": ""}]}})
    assert any("unknown key 'signal' (signals)" in one for one in said(tmp_path))
