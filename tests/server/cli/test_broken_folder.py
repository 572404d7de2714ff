"""A folder with files that have errors: what is kept is shown, and an earlier revision comes back."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew, write_yaml
from tests.support.forked import crew
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment, until

WAITS = '''
import pathlib
import time


def wait() -> str:
    """Wait."""
    pathlib.Path(__file__).with_name("waits").touch()
    time.sleep(1000)
    return "over"
'''


def written(folder: Path, prompt: str = "You write.") -> Path:
    agents: dict[str, Any] = {"a": {"is_terminal": True, "system_prompt": prompt}}
    return write_crew(folder, agents, [{"say": "one two"}])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crew of two revisions, with errors in its files now."""
    made = written(tmp_path / "crew")
    crew("run", made, "look")
    written(made, "You write worse.")
    crew("run", made, "look")
    with (made / "crew.yaml").open("a") as file:
        file.write("bogus: 1\n")
    return made


@pytest.mark.parametrize(
    "words",
    [
        *(("why", ".", "last"), ("show", "last"), ("export", "last"), ("search", "look")),
        *(("compare", "last", "last"), ("revisions",), ("budgets",)),
    ],
    ids=lambda words: words[0],
)
def test_what_is_kept_is_shown(folder: Path, words: tuple[str, ...]):
    """By the newest revision without errors, and that is said."""
    ran = crew(*words, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "the files have an error (crew validate says which)" in ran.stderr
    assert "by revision 2" in ran.stderr


@pytest.mark.parametrize("damage", ["key", "syntax", "gone"])
def test_an_earlier_revision_comes_back(folder: Path, damage: str):
    if damage == "syntax":
        (folder / "crew.yaml").write_text("agents: [a\nbogus: - [")
    if damage == "gone":
        (folder / "agents" / "a.yaml").unlink()
    ran = crew("rollback", "1", ".", "--why", "it was better", "--yes", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "+system_prompt: You write." in ran.stdout
    assert crew("validate", ".", cwd=folder).returncode == 0
    assert "You write." in (folder / "agents" / "a.yaml").read_text()


def test_the_difference_is_what_will_be_written(tmp_path: Path):
    """From the present files to the earlier ones."""
    made = written(tmp_path / "crew")
    crew("run", made, "look")
    written(made, "You write worse.")
    crew("run", made, "look")
    ran = crew("rollback", "1", ".", "--why", "it was better", "--yes", cwd=made)
    lines = ran.stdout.splitlines()
    assert "-system_prompt: You write worse." in lines
    assert "+system_prompt: You write." in lines


def test_a_rollback_shows_no_secrets(tmp_path: Path):
    """Of neither revision, wherever they stand."""
    made = written(tmp_path / "crew")
    second = "CANARY-second-0123456789"
    addresses = ("https://api.example/x", f"https://api.example/x?token={second}")
    for key, url in zip(("CANARY-first-0123456789", second), addresses, strict=True):
        headers = {"Authorization": f"Bearer {key}"}
        entry = {"kind": "http", "description": "A page.", "url": url, "headers": headers}
        write_yaml(made / "tools.yaml", {"tools": {"page": entry}})
        crew("run", made, "look")
    ran = crew("rollback", "1", ".", "--why", "it was better", cwd=made)
    assert "CANARY" not in ran.stdout + ran.stderr


def test_a_backup_comes_back_where_nothing_can_be_read(folder: Path, tmp_path: Path):
    """Neither the files of the crew nor its database."""
    kept = tmp_path / "kept.crewbackup"
    assert crew("backup", ".", kept, cwd=folder).returncode == 0
    (folder / ".crew" / "crew.db").write_bytes(b"no database at all" * 1000)
    ran = crew("restore", ".", kept, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "2 runs" in ran.stdout


def test_without_any_revision_the_errors_are_shown(tmp_path: Path):
    made = written(tmp_path / "crew")
    (made / "crew.yaml").write_text("agents: [a]\nbogus: 1\n")
    ran = crew("revisions", ".", cwd=made)
    assert ran.returncode == 1
    assert "crew.yaml:2:1: error[unknown-key]" in ran.stderr


def test_a_run_under_way_is_shown_as_far_as_it_is(tmp_path: Path):
    """Also where the process that played it was killed."""
    tools = {"wait": {"kind": "python", "function": "t.py:wait"}}
    rules = [{"say": "Let me wait.", "calls": ["wait"]}]
    made = write_crew(tmp_path, {"a": {"tools": ["wait"], "is_terminal": True}}, rules, tools)
    (made / "t.py").write_text(WAITS)
    environment = clean_environment()
    playing = subprocess.Popen([BIN / "crew", "run", made, "go"], env=environment)
    try:
        until(lambda: (made / "waits").exists())
    finally:
        playing.kill()
        playing.wait(PROCESS_SECONDS)
    with subprocess.Popen(
        [BIN / "crew", "show", "last"],
        cwd=made,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as showing:
        assert showing.stdout is not None
        seen = any("Let me wait." in line for line in showing.stdout)
        showing.kill()
    assert seen
