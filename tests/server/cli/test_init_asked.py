"""`crew init` for people: three questions in a terminal, or a runbook that they have."""

from pathlib import Path

import yaml

from tests.server.cli.test_terminal import Terminal
from tests.support.commands import needs_linux
from tests.support.forked import crew

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

## Count

```sh
wc -c "SELECT count(*) FROM pg_stat_activity"  # how many there are
grep -c "ERROR *" '/var/log/a #1; b'
grep "$HOME" /etc/passwd
find /var/log -name \\*.log
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
    assert set(made.stderr.replace("left out: ", "").splitlines()) == {
        "rm -rf /tmp/x | cat: needs a shell or more rights; tools have neither",
        "sudo reboot: needs a shell or more rights; tools have neither",
        'grep "$HOME" /etc/passwd: needs a shell or more rights; tools have neither',
        "frobnicate now: there is no program 'frobnicate' in "
        "/usr/local/bin:/usr/bin:/bin; write its path",
    }
    entries = yaml.safe_load((folder / "tools.yaml").read_text())["tools"]
    assert {name: one["argv"] for name, one in entries.items()} == {
        "df": ["df", "-h"],
        "du": ["du", "-xk", "--max-depth=1", "{folder}"],
        "truncate_0": ["truncate", "-s", "0", "{log_file}"],
        "wc_select_count_from_pg_stat_activity": [
            "wc",
            "-c",
            "SELECT count(*) FROM pg_stat_activity",
        ],
        "grep_error": ["grep", "-c", "ERROR *", "/var/log/a #1; b"],
        "find_log": ["find", "/var/log", "-name", "*.log"],
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


@needs_linux
def test_braces_of_a_program_are_no_argument_of_a_tool(tmp_path: Path):
    """Nor read from the environment: the command is left out, with why."""
    (tmp_path / "rb.md").write_text("```sh\nawk '{print}' /etc/hosts\necho '${HOME}'\n```\n")
    made = crew("init", tmp_path / "crew", "--from", tmp_path / "rb.md")
    why = "its braces would be an argument or a variable in tools.yaml"
    assert made.stderr.splitlines() == [
        f"left out: awk '{{print}}' /etc/hosts: {why}",
        f"left out: echo '${{HOME}}': {why}",
    ]
    assert crew("validate", tmp_path / "crew").returncode == 0


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


def test_a_wrong_answer_is_followed_by_its_question(tmp_path: Path):
    """The answers before it are kept; Ctrl-C ends, and nothing is written."""
    (tmp_path / "rb.md").write_text("# Wait\n\n```sh\ntrue\n```\n")
    terminal = Terminal("init", tmp_path / "crew")
    terminal.until_next("crew for")
    terminal.type("count\n")
    for prompt, answer, told in (
        ("Choose [1]", "banana!!", "'banana!!' is none of 1 to 5"),
        ("Choose [1]", "4", ""),
        ("Its file", "none.md", "none.md cannot be read"),
        ("Its file", str(tmp_path / "rb.md"), ""),
        ("Which model", "9", "'9' is none of 1 to 4"),
        ("Choose [1]", "4", ""),
        ("model's name", "small-1", ""),
        ("base URL", "my machine", "'my machine' is no http or https URL"),
    ):
        terminal.until_next(prompt)
        terminal.type(f"{answer}\n")
        terminal.until_next(told)
    terminal.until_next("base URL")
    terminal.interrupt()
    assert terminal.end() == 130, terminal.shown
    assert "ended; nothing was written" in terminal.shown
    assert not (tmp_path / "crew").exists()
    assert "Traceback" not in terminal.shown


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
