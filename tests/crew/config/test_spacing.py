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
