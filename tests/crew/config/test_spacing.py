"""Spaces that are missing, or are none to YAML: one error at their place, with what to do."""

from pathlib import Path

import pytest

from crew import check

NBSP, IDEOGRAPHIC = "\u00a0", "\u3000"
# the agent's file, its only error
MISTAKES = {
    "behind a colon": (
        f"id: a\nname:{NBSP}W\nrole: w\nsystem_prompt: x\nprovider: scripted\n",
        (2, 6, "U+00A0 (no-break space)"),
    ),
    "behind another colon": (
        f"id: a\nname:{IDEOGRAPHIC}W\nrole: w\nsystem_prompt: x\nprovider: scripted\n",
        (2, 6, "U+3000 (ideographic space)"),
    ),
    "before a key": (
        f"id: a\nname: W\n{NBSP}role: w\nsystem_prompt: x\nprovider: scripted\n",
        (3, 1, "U+00A0"),
    ),
    "missing": (
        "id:a\nname: W\nrole: w\nsystem_prompt: x\nprovider: scripted\n",
        (1, 4, "a space is missing behind id: write `id: a`"),
    ),
    "missing behind a dash": (
        "id: a\nname: W\nrole: w\nsystem_prompt: x\ntools:\n  - disk\n  -memory\n",
        (7, 4, "a space is missing behind -: write `- memory`"),
    ),
    "too many before a key": (
        "id: a\nname: W\n  role: w\nsystem_prompt: x\nprovider: scripted\n",
        (3, 3, "name has its value already, so nothing can stand below it: begin this line right"),
    ),
    "a text that goes on": (
        "id: a\nname: W\nrole: w\nsystem_prompt: Be kind\n  Note: be nice\nprovider: scripted\n",
        (5, 3, "or put quotes around a text of both"),
    ),
    "too many within a mapping": (
        "id: a\nname: W\nrole: w\noutput:\n max_retries: 1\n  type: object\n",
        (6, 3, "max_retries has its value already"),
    ),
    "a colon that is missing": (
        "id: a\nname W\nrole: w\nsystem_prompt: x\n",
        (2, 1, "a ':' is missing behind a key"),
    ),
    "a star in front of a text": (
        "id: a\nname: *W\nrole: w\n",
        (2, 7, "put quotes around a text that begins with *"),
    ),
    "a backslash in double quotes": (
        'id: a\nname: "C:\\q"\nrole: w\n',
        (2, 10, "or use single ones"),
    ),
    "a list on the line of its key": (
        "id: a\nname: W\ntools: - disk\n",
        (3, 8, "begin a list on a line of its own"),
    ),
    "missing in the middle": (
        "id: a\nname:W\nrole: w\nsystem_prompt: x\nprovider: scripted\n",
        (2, 6, "a space is missing behind name:"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_space_is_named(tmp_path: Path, name: str):
    """Not the key as unknown or missing, nor the line below."""
    text, (line, column, said) = MISTAKES[name]
    (tmp_path / "agents").mkdir()
    (tmp_path / "crew.yaml").write_text("agents: [a]\n")
    (tmp_path / "agents" / "a.yaml").write_text(text)
    (tmp_path / "script.yaml").write_text("rules: [{say: x}]\n")
    problems = [one for one in check(tmp_path).problems if one.file == "agents/a.yaml"]
    assert [(one.line, one.column, one.code) for one in problems] == [(line, column, "syntax")]
    assert said in problems[0].message


def test_a_dash_that_goes_on_with_a_value(tmp_path: Path):
    """A space behind it would not help."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "crew.yaml").write_text("agents: [a]\n")
    agent = "id: a\nname: W\nrole: w\nsystem_prompt: Be\n-kind\nprovider: scripted\n"
    (tmp_path / "agents" / "a.yaml").write_text(agent)
    (tmp_path / "script.yaml").write_text("rules: [{say: x}]\n")
    (problem,) = (one for one in check(tmp_path).problems if one.file == "agents/a.yaml")
    assert (problem.code, "behind -" in problem.message) == ("syntax", False)


@pytest.mark.parametrize("text", [f"a{NBSP}b", f"{IDEOGRAPHIC}こんにちは"])
def test_such_a_space_in_a_text_stays(tmp_path: Path, text: str):
    """Where it is meant."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "crew.yaml").write_text("agents: [a]\n")
    agent = f"id: a\nname: W\nrole: w\nprovider: scripted\nsystem_prompt: |\n  x\n  {text}\n"
    (tmp_path / "agents" / "a.yaml").write_text(agent)
    (tmp_path / "script.yaml").write_text("rules: [{say: x}]\n")
    checked = check(tmp_path)
    assert checked.problems == ()
    assert text in checked.files.agents["a"].system_prompt


def test_a_list_whose_dashes_have_no_space(tmp_path: Path):
    """It is one text to YAML."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "crew.yaml").write_text("agents:\n  -a\n  -b\n")
    problem = check(tmp_path).problems[0]
    assert (problem.line, problem.code) == (2, "wrong-type")
    assert "write a space behind each -" in problem.message
