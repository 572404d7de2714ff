"""`crew replay` and `crew diff`, on a store that a command has written, and on git references."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.crew.rehearsal.test_replays import edit
from tests.support.crews import copy_example, write_crew
from tests.support.forked import crew


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", folder, *names, *words], check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crew in a repository, with two runs that a person has approved."""
    folder = copy_example("on-call", tmp_path)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    for query in ("The shop is slow", "error 502 of the shop"):
        assert crew("run", folder, query).returncode == 3
        assert crew("run", folder, "--answer", "last", "--decision", "approve").returncode == 0
    return folder


def test_a_tool_that_has_changed_is_named(tmp_path: Path):
    """Its calls are not made again: the replay says nothing of what it does now."""
    pay = {"kind": "python", "function": "own.py:pay"}
    rules = [{"after": "pay", "say": "{{result.pay}}"}, {"say": "", "calls": ["pay"]}]
    folder = write_crew(
        tmp_path, {"a": {"tools": ["pay"], "is_terminal": True}}, rules, {"pay": pay}
    )
    program = folder / "own.py"
    program.write_text('def pay() -> str:\n    """Pay."""\n    return "paid"\n')
    assert crew("run", folder, "go").returncode == 0
    assert "own.py" not in crew("replay", folder, "last").stdout
    program.write_text(program.read_text().replace("paid", "sent"))
    assert "  own.py has changed; calls of tools have" in crew("replay", folder, "last").stdout
    (found, _) = crew("replay", folder, "--all", "--json").stdout.splitlines()
    assert (json.loads(found)["verdict"], json.loads(found)["programs"]) == ("same", ["own.py"])


def test_runs_are_replayed_on_other_files(folder: Path):
    same = crew("replay", folder, "--all")
    assert same.stdout == "0 of 2 go another way (0 certain), 2 the same, 0 assumed\n"
    edit(folder, "crew.yaml", {"routing.signals.triage.1.target": "web"})
    received = crew("replay", folder, "--all", "--json")
    *runs, last = [json.loads(line) for line in received.stdout.splitlines()]
    assert sorted(one["verdict"] for one in runs) == ["other way", "same"]
    assert last["summary"]["verdicts"] == {"same": 1, "other way": 1}
    assert (
        last["summary"]["groups"][0]["text"]
        == "step 5: [DATABASE] → web, was [DATABASE] → database"
    )
    assert crew("replay", folder, "--all", "--fail-over", "50%").returncode == 0
    assert crew("replay", folder, "--all", "--fail-over", "49%").returncode == 1
    assert "same" in crew("replay", folder, "last", "--on", "HEAD").stdout
    revision = json.loads(
        crew("replay", folder, "--all", "--on", "HEAD", "--json").stdout.splitlines()[0]
    )
    assert revision["verdict"] == "same"
    one = crew("replay", folder, runs[1]["run"][:12], "--latency", "0").stdout
    assert "  step 5: [DATABASE] → web\n  was:    [DATABASE] → database\n" in one
    for wrong in (
        ["--all", "last"],
        [],
        ["last", "--since", "7d"],
        ["--all", "--since", "soon"],
        ["last", "--on", "nix"],
        ["last", "--on", "--upload-pack=x"],
    ):
        assert crew("replay", folder, *wrong).returncode == 2, wrong
    assert crew("replay", folder, "0000").returncode == 1
    assert crew("replay", folder.parent).returncode in (1, 2)


def test_what_differs_since_a_commit(folder: Path):
    assert crew("diff", "HEAD", folder).stdout == "nothing differs\n"
    assert crew("diff", "HEAD", folder, "--exit-code").returncode == 0
    edit(folder, "tools.yaml", {"tools.restart.requires_approval": None})
    shown = crew("diff", "HEAD", folder, "--exit-code", "--runs", "1d")
    assert shown.returncode == 1
    first, _, *rest = shown.stdout.splitlines()
    assert first == "tool restart: no longer asks a person ⚠  (was tools.yaml:19)" or "⚠" in first
    assert "2 of 2 go another way (2 certain), 0 the same, 0 assumed" in rest
    document = json.loads(crew("diff", "HEAD", folder, "--json").stdout)
    assert document["differences"][0]["more"] is True
    (folder / "crew.yaml").write_text("agents: [nix]\n")
    broken = crew("diff", "HEAD", folder)
    assert broken.returncode == 1
    assert "error[missing-agent]" in broken.stderr
    assert crew("diff", "nix", folder).returncode == 2


def test_a_run_is_kept_as_a_rehearsal_that_passes(folder: Path, tmp_path: Path):
    output = folder / "tests" / "new.yaml"
    made = crew("record", folder, "last", "--rehearsal", "-o", output)
    assert (made.returncode, made.stdout.splitlines()[0]) == (0, f"Wrote {output}.")
    assert made.stdout.splitlines()[1].startswith("1 passed, 0 failed")
    assert crew("record", folder, "last", "--rehearsal").stdout == output.read_text()
    again = crew("record", folder, "last", "-o", output)
    assert (again.returncode, "is there already" in again.stderr) == (1, True)
    edit(folder, "tools.yaml", {"tools.restart.requires_approval": None})
    failed = crew("test", folder, "tests/new.yaml")
    assert failed.returncode == 1
    assert "pause" in failed.stdout


def test_a_cassette_is_named_by_a_rehearsal(folder: Path):
    tests = folder / "tests"
    assert crew("record", folder, "last", "-o", tests / "runs" / "one.jsonl").returncode == 0
    (tests / "tape.yaml").write_text(
        "rehearsals:\n"
        "  - name: as it was\n"
        "    cassette: runs/one.jsonl\n"
        "    expect: { end: terminal, calls: [restart] }\n"
        "  - name: a person refuses\n"
        "    cassette: runs/one.jsonl\n"
        "    answers: [deny: true]\n"
        "    says: { web: [calls: [web_errors], calls: [{ tool: restart, arguments: "
        "{ service: web } }], Left alone.] }\n"
        "    expect: { never: [call: restart] }\n"
    )
    played = crew("test", folder, "tests/tape.yaml")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    no_yaml = crew("record", folder, "last", "--rehearsal", "-o", tests / "new.txt")
    assert (no_yaml.returncode, "rehearsals are read of files" in no_yaml.stderr) == (2, True)
    both = crew("record", folder, "last", "last")
    assert (both.returncode, "a cassette has one run" in both.stderr) == (2, True)
