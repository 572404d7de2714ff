"""The commands about a crew's files: validate, graph, explain, init."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import BIN, clean_environment


def test_validate(tmp_path: Path):
    """Every problem with its line; JSON for programs; --strict fails on warnings; several folders at once."""
    good = write_crew(tmp_path / "good", {"a": {}})
    warned = write_crew(tmp_path / "warned", {"a": {"system_prompt": ""}})
    bad = write_crew(tmp_path / "bad", {"a": {"tools": ["Nope"], "temprature": 1}}, nam="x")
    assert crew("validate", good).returncode == 0
    assert crew("validate", warned).returncode == 0
    assert crew("validate", warned, "--strict").returncode == 1
    received = crew("validate", good, bad)
    assert received.returncode == 1
    assert (
        f"{bad}/crew.yaml:4:1: error[unknown-key]: unknown key 'nam'\n    nam: x\n    ^\n    did you mean 'name'?"
        in received.stdout
    )
    assert "temprature" in received.stdout
    assert received.stdout.splitlines()[-1] == f"{bad}: 3 errors, 0 warnings"
    document = json.loads(crew("validate", bad, "--json").stdout)
    assert {problem["code"] for problem in document["problems"]} == {"unknown-key", "unknown-tool"}
    assert crew("validate", tmp_path / "none").returncode == 1


def test_imports_can_be_left_out(tmp_path: Path):
    """Importing runs the file."""
    folder = write_crew(
        tmp_path, {"a": {"tools": ["t"]}}, tools={"t": {"kind": "python", "function": "t.py:t"}}
    )
    (folder / "t.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef t() -> str:\n    return ''\n"
    )
    assert crew("validate", folder, "--no-import").returncode == 0
    entry = {"kind": "http", "url": "https://{host}/"}
    other = write_crew(tmp_path / "other", {"a": {"tools": ["t"]}}, tools={"t": entry})
    # what runs no code is checked all the same
    told = crew("validate", other, "--no-import")
    assert "error[url-host]" in told.stdout + told.stderr
    assert not (folder / "ran").exists()
    assert crew("validate", folder).returncode == 0
    assert (folder / "ran").exists()


@pytest.mark.parametrize(
    ("picture", "parts"),
    [
        (
            "text",
            ["a  (entry)", "[B] → b", "b  (terminal)", "└─ terminal → (end)", "c  (unreachable)"],
        ),
        ("mermaid", ["flowchart TD", '-->|"[B]"|', "class n2 unreachable"]),
        ("dot", ["digraph crew {", '"a" -> "b" [label="[B]", style=solid]']),
        ("json", ['"reachable": false']),
    ],
)
def test_graph(tmp_path: Path, picture: str, parts: list[str]):
    """Entry, terminals, signals on the arrows, what cannot be reached."""
    routing = {"signals": {"a": [{"signal": "[B]", "target": "b"}]}, "defaults": {"a": "b"}}
    folder = write_crew(tmp_path, {"a": {}, "b": {"is_terminal": True}, "c": {}}, routing=routing)
    drawn = crew("graph", folder, "--format", picture)
    assert drawn.returncode == 0
    for part in parts:
        assert part in drawn.stdout
    if picture == "json":
        assert {edge["to"] for edge in json.loads(drawn.stdout)["edges"]} >= {"b", "(end)"}


def test_init_writes_a_crew_that_plays(tmp_path: Path):
    """Valid without a warning; it never writes over anything."""
    folder = tmp_path / "new"
    assert crew("init", folder).returncode == 0
    assert crew("validate", folder, "--strict").returncode == 0
    assert "I have looked" in crew("run", folder, "How is this machine?").stdout
    again = crew("init", folder)
    assert (again.returncode, "nothing was written" in again.stderr) == (1, True)


BROKEN = "agents: [a]\nsetings: {max_rounds: 3} # few\n"


def test_problems_as_sarif(tmp_path: Path):
    """Each with its rule and its place, of all crews in one run; secrets stay out."""
    one, two = write_crew(tmp_path / "one", {"a": {}}), write_crew(tmp_path / "two two", {"a": {}})
    (one / "crew.yaml").write_text(BROKEN)
    (two / "crew.yaml").write_text("agents: [a]\nproviders: {p: {api_key: sk-written}}\n")
    ended = crew("validate", one, two, "--sarif")
    assert ended.returncode == 1
    assert "sk-written" not in ended.stdout
    (run,) = json.loads(ended.stdout)["runs"]
    first, second = run["results"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [(r["ruleId"], r["level"], rules[r["ruleIndex"]]) for r in (first, second)] == [
        ("unknown-key", "error", "unknown-key"),
        ("unused-provider", "warning", "unused-provider"),
    ]
    place = first["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 1}
    assert place["artifactLocation"]["uri"] == (one / "crew.yaml").as_uri()
    assert (
        second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == (two / "crew.yaml").as_uri()
    )
    assert "Did you mean 'settings'?" in first["message"]["text"]
    assert "relatedLocations" not in first
    (one / "crew.yaml").write_text("name: a\nagents: [a]\nname: b\n")
    (run,) = json.loads(crew("validate", one, "--sarif").stdout)["runs"]
    ((related,),) = [found["relatedLocations"] for found in run["results"]]
    place = related["physicalLocation"]
    assert place["region"] == {"startLine": 1, "startColumn": 1}
    assert place["artifactLocation"]["uri"] == (one / "crew.yaml").as_uri()
    assert related["message"]["text"]


def test_mending_shows_what_it_does_first(tmp_path: Path):
    """Off a terminal only --yes writes; rights and everything else of the file stay."""
    folder = write_crew(tmp_path, {"a": {}})
    file = folder / "crew.yaml"
    file.write_text(BROKEN)
    file.chmod(0o640)
    shown = crew("validate", folder, "--fix")
    assert shown.returncode == 1
    assert "-setings: {max_rounds: 3} # few\n+settings: {max_rounds: 3} # few\n" in shown.stdout
    assert "--yes" in shown.stderr
    assert file.read_text() == BROKEN
    fixed_files = crew("validate", folder, "--fix", "--yes")
    assert (fixed_files.returncode, "0 errors" in fixed_files.stdout) == (0, True)
    assert file.read_text() == BROKEN.replace("setings", "settings")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in folder.glob(".crew.yaml*")] == []
    assert "@@" not in crew("validate", folder, "--fix").stdout


def test_a_blank_line_is_no_secret(tmp_path: Path):
    """Only lines that may hold one are hidden in a diff."""
    folder = write_crew(tmp_path, {"a": {}})
    text = "agents: [a]\n\nsetings: {max_rounds: 3}\n\nx-api_key: sk-written\n"
    (folder / "crew.yaml").write_text(text)
    shown = crew("validate", folder, "--fix").stdout
    assert shown.count("(a line that may hold a secret)") == 1
    assert "sk-written" not in shown


@pytest.mark.parametrize(("word", "written"), [("y", True), ("n", False), ("", False)])
def test_mending_asks_on_a_terminal(word: str, written: bool, tmp_path: Path):
    """Anything but a yes is a no."""
    folder = write_crew(tmp_path, {"a": {}})
    (folder / "crew.yaml").write_text(BROKEN)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [BIN / "crew", "validate", folder, "--fix"],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=clean_environment(),
    )
    os.close(slave)
    os.write(master, f"{word}\n".encode())
    out, _ = process.communicate(timeout=30)
    os.close(master)
    assert b"Write this?" in out
    assert ((folder / "crew.yaml").read_text() != BROKEN) is written
    assert process.returncode == (0 if written else 1)


def test_codes_are_explained():
    """One, all of them, and one that is misspelt."""
    one = crew("explain", "trap")
    assert (one.returncode, "can be entered and never left" in one.stdout) == (0, True)
    for block in re.findall(r"```yaml\n(.*?)```", one.stdout, re.DOTALL):
        assert isinstance(yaml.safe_load(block), dict)
    assert crew("explain").stdout.count("\n## ") > 50
    wrong = crew("explain", "trp")
    assert (wrong.returncode, "did you mean trap?" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("options", [("--json", "--sarif"), ("--fix", "--json"), ("--yes",)])
def test_options_that_do_not_go_together(options: tuple[str, ...], tmp_path: Path):
    """Wrong usage, said so."""
    assert crew("validate", write_crew(tmp_path, {"a": {}}), *options).returncode == 2
