"""`crew fork`: a stored run goes on another way, from one of its events."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.rehearsed import repair_crew

ACTS = '''
def restart(service: str, delay: int = 0) -> str:
    """Restart a service."""
    with open("acted.txt", "a") as file:
        print(service, file=file)
    return f"restarted {service}"


def look(where: str) -> str:
    """Look somewhere."""
    return "nothing"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crew with a run that a person has let restart a service."""
    made = repair_crew(tmp_path / "crew")
    text = ACTS.replace("acted.txt", str(made / "acted.txt"))
    (made / "acts.py").write_text(text)
    assert crew("run", made, "It is broken").returncode == 3
    assert crew("run", made, "--answer", "last", "--decision", "approve").returncode == 0
    assert acted(made) == ["web"]
    return made


def acted(folder: Path) -> list[str]:
    """What was restarted, in order."""
    path = folder / "acted.txt"
    return path.read_text().splitlines() if path.exists() else []


def numbers(folder: Path) -> dict[str, int]:
    """The number of the first event of each type and agent."""
    listed = crew("fork", folder, "last")
    assert listed.returncode == 0
    found: dict[str, int] = {}
    for line in listed.stdout.splitlines():
        number, kind, *rest = line.split()
        found.setdefault(f"{kind} {rest[0] if rest else ''}", int(number))
    return found


def forked(folder: Path, *options: Any) -> "tuple[int, list[dict[str, Any]]]":
    """How it ends, and the events that it prints."""
    ended = crew("fork", folder, *options, "--json")
    assert "Traceback" not in ended.stderr
    return ended.returncode, [json.loads(one) for one in ended.stdout.splitlines()]


def test_another_answer_of_a_model(folder: Path):
    """It stands in the place of the one that was given; the first run stays as it was."""
    answer = numbers(folder)["agent_response desk"]
    ended = crew("fork", folder, "last", "--at", answer, "--say", "Nothing to do. [DONE]", "--yes")
    assert (ended.returncode, acted(folder)) == (0, ["web"])
    assert "✔ signal" in ended.stdout
    shown = crew("runs", folder, "last").stdout
    assert "Nothing to do. [DONE]" in shown
    assert "For Fay" not in shown
    first, second = crew("runs", folder, "--json").stdout.splitlines()
    assert json.loads(second)["reason"] == "terminal"
    source = json.loads(first)["source"]
    assert "fork" in json.dumps(source)
    handoff = numbers_of_run(folder, second)["handoff desk"]
    wrong = crew(
        "fork", folder, json.loads(second)["run_id"], "--at", handoff, "--say", "x", "--yes"
    )
    assert (wrong.returncode, "is no answer of an agent, but handoff" in wrong.stderr) == (1, True)


def numbers_of_run(folder: Path, listed: str) -> dict[str, int]:
    """The same of a run that is listed."""
    run_id = json.loads(listed)["run_id"]
    found: dict[str, int] = {}
    for line in crew("fork", folder, run_id).stdout.splitlines():
        number, kind, *rest = line.split()
        found.setdefault(f"{kind} {rest[0] if rest else ''}", int(number))
    return found


def test_another_answer_of_a_person(folder: Path):
    """At the pause, or at its answer; what was approved then is no approval now."""
    pause = numbers(folder)["pause fixer"]
    run_id = json.loads(crew("runs", folder, "--json").stdout)["run_id"]
    waits, _ = forked(folder, run_id, "--at", pause, "--yes")
    assert (waits, acted(folder)) == (3, ["web"])
    for at in (pause, pause + 2):
        code, events = forked(folder, run_id, "--at", at, "--yes", "--decision", "deny")
        assert code == 0
        (result,) = [one for one in events if one["type"] == "tool_result"]
        assert result["metadata"]["status"] == "denied"
    code, _ = forked(folder, run_id, "--at", pause, "--yes", "--decision", "approve")
    assert (code, acted(folder)) == (0, ["web", "web"])


def test_what_acts_once_is_not_called_again_unasked(folder: Path):
    """Behind the event is a call that has acted: nothing begins without --yes; a dry run acts on nothing."""
    start = numbers(folder)["agent_start desk"]
    refused = crew("fork", folder, "last", "--at", start)
    assert refused.returncode == 2
    assert 'restart({"service":"web"})' in refused.stderr
    assert "give --yes, or --dry" in refused.stderr
    before = crew("runs", folder).stdout
    dry, events = forked(folder, "last", "--at", start, "--dry")
    assert dry in (0, 3)
    assert events[-1]["type"] == "done"
    assert acted(folder) == ["web"]
    assert crew("runs", folder).stdout == before


def test_other_files(folder: Path):
    """Other values; a folder; a git reference; a run's own revision is the default."""
    start = numbers(folder)["agent_start desk"]
    code, events = forked(folder, "last", "--at", start, "--dry", "--set", "settings.max_rounds=1")
    assert (code, events[-1]["metadata"]["reason"]) == (4, "max_rounds")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    script = (folder / "script.yaml").read_text()
    (folder / "script.yaml").write_text(script.replace("For Fay. [FIX]", "No. [DONE]"))
    ends = {
        version: forked(folder, "last", "--at", start, "--dry", *options)[1][-1]["metadata"][
            "reason"
        ]
        for version, options in {"own": (), ".": ("--on", folder), "HEAD": ("--on", "HEAD")}.items()
    }
    assert ends == {"own": ends["HEAD"], ".": "signal", "HEAD": ends["HEAD"]}
    assert ends["HEAD"] != "signal"
    for options, text in (
        (("--set", "settings"), "is no PATH=VALUE"),
        (("--set", "agents.nix.role=x"), "there is no agents.nix.role in the crew's files"),
        (("--set", "settings.max_round=3"), "error[unknown-key]"),
        (("--on", "nowhere"), "is no folder and no git reference"),
        (("--say", "x", "--answer", "y"), "an agent says it, or a person answers"),
    ):
        wrong = crew("fork", folder, "last", "--at", start, "--dry", *options)
        assert wrong.returncode in (1, 2)
        assert text in " ".join(wrong.stderr.replace("│", " ").split()), options


def test_a_changed_copy_goes_on_later(folder: Path):
    """The other values are kept with it, also for the process that resumes it."""
    pause = numbers(folder)["agent_start fixer"]
    options = ("--set", "agents.fixer.name=Fred", "--yes")
    code, _ = forked(folder, "last", "--at", pause, *options)
    assert code == 3
    ended = crew("run", folder, "--answer", "last", "--decision", "approve")
    assert (ended.returncode, acted(folder)) == (0, ["web", "web"])
    assert "● Fred (round" in ended.stdout


def test_what_is_not_there(folder: Path):
    for options, text in (
        (("nope", "--at", 1), "there is no run nope"),
        (("last", "--at", 999), "there is no event 999"),
    ):
        wrong = crew("fork", folder, *options)
        assert (wrong.returncode, text in wrong.stderr) == (1, True), wrong.stderr
    end = len(crew("fork", folder, "last").stdout.splitlines())
    assert "had ended at event" in crew("fork", folder, "last", "--at", end).stderr


def test_an_exchange(tmp_path: Path):
    """It knows what was said before it, in a dry run, too, which keeps nothing."""
    rules = [
        {"hears": "I am Ann", "say": "Hello."},
        {"seen": "I am Ann", "say": "You are Ann."},
        {"say": "Who?"},
    ]
    context = {"blocks": [{"kind": "history"}]}
    made = write_crew(
        tmp_path, {"a": {"is_terminal": True}}, rules, conversations={}, context=context
    )
    for text in ("I am Ann", "who am I"):
        ended = crew("run", made, text, "--conversation", "c1", "--user", "ann")
        assert ended.returncode == 0
    start = numbers(made)["agent_start a"]
    for options in (("--dry",), ()):
        code, events = forked(made, "last", "--at", start, *options)
        said = [one["content"] for one in events if one["type"] == "agent_response"]
        assert (code, said) == (0, ["You are Ann."])
        assert events[-1]["metadata"]["exchange"] == 2
        assert events[-1]["metadata"]["conversation_id"] != "c1"
    assert len(crew("runs", made, "--json").stdout.splitlines()) == 3
