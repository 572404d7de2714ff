"""`crew init` for people: three questions in a terminal, or a runbook that they have."""

from pathlib import Path

import pytest
import yaml

from tests.server.cli.test_run import crew
from tests.server.cli.test_terminal import Terminal
from tests.support.commands import needs_linux

RUNBOOK = """
# The disk is full

Say {{this}} to nobody.

## Look

```sh
# how much there is
df -h
du -xk --max-depth=1 <folder>
```

## Clean

```console
$ truncate -s 0 <log file>
truncate: is no command here
$ rm -rf /tmp/x | cat
$ sudo reboot
$ frobnicate now
```

```python
print("no command")
```
"""


def keys_of(folder: Path) -> dict[str, object]:
    keys: dict[str, object] = yaml.safe_load((folder / "agents" / "operator.yaml").read_text())
    return keys


@needs_linux
def test_a_runbook_becomes_a_crew(tmp_path: Path):
    """Its commands are tools that a person approves; what needs a shell is named; a rehearsal plays it."""
    file, folder = tmp_path / "disk.md", tmp_path / "crew"
    file.write_text(RUNBOOK)
    made = crew("init", folder, "--from", file)
    assert made.returncode == 0, made
    for left_out in ("rm -rf /tmp/x | cat", "sudo reboot", "frobnicate now"):
        assert f"left out: {left_out}: " in made.stderr
    assert "print" not in made.stderr
    entries = yaml.safe_load((folder / "tools.yaml").read_text())["tools"]
    assert {name: one["argv"] for name, one in entries.items()} == {
        "df": ["df", "-h"],
        "du": ["du", "-xk", "--max-depth=1", "{folder}"],
        "truncate_0": ["truncate", "-s", "0", "{log_file}"],
    }
    assert all(one["requires_approval"] for one in entries.values())
    assert entries["du"]["description"] == "Look: du -xk --max-depth=1 <folder>"
    valid = crew("validate", "--strict", folder)
    assert (valid.returncode, valid.stderr) == (0, ""), valid
    # as the command says that it is tried
    assert f"crew run {folder} 'The disk is full: please begin' --dry" in made.stdout
    shown = crew("run", folder, "The disk is full: please begin", "--dry")
    assert (
        shown.returncode,
        "truncate -s 0 example" in shown.stdout.replace("/usr/bin/", ""),
    ) == (0, True), shown
    asked = crew("run", folder, "please begin")
    assert (asked.returncode, "? df {} needs your approval" in asked.stdout) == (3, True), (
        asked.stdout
    )


def test_a_runbook_that_is_none(tmp_path: Path):
    """Too long for a prompt, or not text: said, and nothing is written."""
    for content, told in ((b"x" * 30_001, "has 30,001 characters"), (b"\xff", "is not UTF-8")):
        (tmp_path / "x.md").write_bytes(content)
        refused = crew("init", tmp_path / "crew", "--from", tmp_path / "x.md")
        assert (refused.returncode, told in refused.stderr) == (2, True), refused
        assert not (tmp_path / "crew").exists()


def test_three_questions(tmp_path: Path):
    """In a terminal; an empty answer is the one that is offered."""
    terminal = Terminal("init", tmp_path / "crew")
    terminal.until("What is the crew for?")
    terminal.type("watch the {{disk}}\n")
    terminal.until("Which tools")
    terminal.until("Choose [1]")
    terminal.type("\n")
    terminal.until("Which model")
    terminal.type("4\n")
    terminal.until("The model's name")
    terminal.type("small-1\n")
    terminal.until("base URL")
    terminal.type("http://127.0.0.1:9/v1\n")
    assert terminal.end() == 0
    keys = keys_of(tmp_path / "crew")
    assert (keys["provider"], keys["model"]) == ("own", "small-1")
    assert str(keys["system_prompt"]).startswith("Your task: watch the ((disk)).")
    valid = crew("validate", "--strict", tmp_path / "crew")
    assert (valid.returncode, valid.stderr) == (0, ""), valid
    played = crew("run", tmp_path / "crew", "How is this machine?", "--provider", "scripted")
    assert (played.returncode, "Memory usage" in played.stdout) == (0, True)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (("x", "9"), "'9' is none of 1 to 5; nothing was written"),
        (("x", "2", "none.json"), "none.json cannot be read"),
        (("x", "4", "none.md"), "none.md cannot be read"),
    ],
)
def test_wrong_answers(tmp_path: Path, answers: tuple[str, ...], told: str):
    """Are explained, and nothing is written."""
    terminal = Terminal("init", tmp_path / "crew")
    for prompt, answer in zip(("crew for", "Choose [1]", "file"), answers, strict=False):
        terminal.until(prompt)
        terminal.type(f"{answer}\n")
    assert terminal.end() == 2
    assert told in " ".join(terminal.shown.split())
    assert not (tmp_path / "crew").exists()


def test_nothing_is_asked_where_nobody_answers(tmp_path: Path):
    """In a pipe, or with --yes: the small crew."""
    for folder, terminal in (
        ("piped", None),
        ("yes", Terminal("init", tmp_path / "yes", "--yes")),
    ):
        if terminal is None:
            assert crew("init", tmp_path / folder).returncode == 0
        else:
            assert terminal.end() == 0
        assert (tmp_path / folder / "agents" / "greeter.yaml").exists()
