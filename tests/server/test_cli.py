"""What an operator types and sees: each command as a process of its own, its output, its exit code."""

import importlib.metadata
import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.stage import BIN, ROOT, clean_environment, write_crew

ASKING: list[dict[str, Any]] = [{"hears": "enough", "say": "thanks [E]"}, {"say": "tell me more"}]
PAUSING = {
    "routing": {
        "signals": {"a": [{"signal": "[E]"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
}


def crew(*arguments: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command; no traceback may ever be seen."""
    ended = subprocess.run(
        [BIN / "crew", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean_environment(**environment),
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in ended.stderr + ended.stdout
    return ended


def test_help_names_every_command():
    """With a line each; every command has an example."""
    told = crew("--help").stdout
    for command in ("serve", "run", "validate", "explain", "graph", "schema", "init", "runs"):
        assert command in told
        assert "Example: crew " + command in " ".join(crew(command, "--help").stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["rn"],
        ["run"],
        ["serve", ".", "--port", "x"],
        ["graph", ".", "--format", "png"],
        ["schema", "nope"],
        ["validate", "--nope"],
    ],
)
def test_wrong_usage_is_2(arguments: list[str]):
    """With what is known."""
    assert crew(*arguments).returncode == 2


def test_run_shows_the_run(tmp_path: Path):
    """Plain in a pipe; each event as a line with --json; 1 where it fails."""
    folder = write_crew(
        tmp_path,
        {"a": {"tools": ["GetSystemInfo"]}},
        [
            {"hears": "fail", "fail": "refused"},
            {"after": "GetSystemInfo", "say": "all fine"},
            {"say": "", "calls": ["GetSystemInfo"]},
        ],
    )
    shown = crew("run", folder, "look")
    assert shown.returncode == 0
    assert "\x1b" not in shown.stdout
    for part in ("● A (round 1", "✓ GetSystemInfo", "Host: ", "all fine", "✔ no_next_agent"):
        assert part in shown.stdout
    events = [
        json.loads(line) for line in crew("run", folder, "look", "--json").stdout.splitlines()
    ]
    assert [events[0]["type"], events[-1]["type"]] == ["start", "done"]
    failed = crew("run", folder, "fail")
    assert failed.returncode == 1
    assert "scripted failure: refused" in failed.stdout


def test_a_paused_run_is_answered_later(tmp_path: Path):
    """By its id, in another process; runs lists and shows it."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    assert crew("runs", folder).stdout == ""
    assert not (folder / ".crew").exists()
    paused = crew("run", folder, "help")
    run_id = paused.stderr.split("--answer ")[1].split()[0]
    assert paused.returncode == 0
    assert "paused" in crew("runs", folder).stdout
    done = crew("run", folder, "enough", "--answer", run_id)
    assert "thanks [E]" in done.stdout
    assert "completed" in crew("runs", folder).stdout
    shown = crew("runs", folder, run_id).stdout
    assert "tell me more" in shown
    assert "thanks [E]" in shown
    again = crew("run", folder, "enough", "--answer", run_id)
    assert (again.returncode, "not paused" in again.stderr) == (1, True)
    assert crew("runs", folder, "nope").returncode == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["yes"], "paid bob"),
        (["--decision", "approve"], "paid bob"),
        (["no, thanks"], "Denied by a person: no, thanks"),
    ],
)
def test_a_call_is_decided_later(tmp_path: Path, words: list[str], told: str):
    """In the words of the prompt, or by option; the hint says how."""
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    rules: list[dict[str, Any]] = [
        {"after": "pay", "say": "{{result.pay}}"},
        {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    folder = write_crew(tmp_path, {"a": {"tools": ["pay"]}}, rules, tools=tools)
    (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return f'paid {to}'\n")
    paused = crew("run", folder, "go")
    assert "--decision approve|deny" in paused.stderr
    assert (
        told
        in crew(
            "run", folder, *words, "--answer", paused.stderr.split("--answer ")[1].split()[0]
        ).stdout
    )
    assert crew("run", folder, "x", "--decision", "approve").returncode == 2


def test_on_a_terminal_it_asks(tmp_path: Path):
    """The person's line goes on with the run, in colour, as the words are written."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [BIN / "crew", "run", folder, "help"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=clean_environment(TERM="xterm", COLUMNS="100"),
    )
    os.close(slave)
    shown = b""
    while b"> " not in shown:
        shown += os.read(master, 1000)
    os.write(master, b"enough\n")
    while True:
        try:
            shown += os.read(master, 1000)
        except OSError:
            break
    assert process.wait(10) == 0
    os.close(master)
    text = shown.decode()
    assert "\x1b[" in text
    assert "tell me more" in text
    assert "thanks [E]" in text


def test_validate(tmp_path: Path):
    """Every problem with its line; JSON for programs; --strict fails on warnings; several folders at once."""
    good = write_crew(tmp_path / "good", {"a": {}})
    warned = write_crew(tmp_path / "warned", {"a": {"system_prompt": ""}})
    bad = write_crew(tmp_path / "bad", {"a": {"tools": ["Nope"], "temprature": 1}}, nam="x")
    assert crew("validate", good).returncode == 0
    assert crew("validate", warned).returncode == 0
    assert crew("validate", warned, "--strict").returncode == 1
    told = crew("validate", good, bad)
    assert told.returncode == 1
    assert (
        f"{bad}/crew.yaml:4:1: error[unknown-key]: unknown key 'nam'\n    nam: x\n    ^\n    did you mean 'name'?"
        in told.stdout
    )
    assert "temprature" in told.stdout
    assert told.stdout.splitlines()[-1] == f"{bad}: 2 errors, 0 warnings"
    document = json.loads(crew("validate", bad, "--json").stdout)
    assert {problem["code"] for problem in document["problems"]} == {"unknown-key"}
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


def test_the_it_support_crew_shows_real_readings():
    """What `make run` runs: three agents' crew, this machine's own numbers."""
    shown = crew(
        "run", ROOT / "examples" / "it-support", "Kiểm tra máy này", CREW_DATABASE_URL="memory:"
    ).stdout
    for part in (
        "● My",
        "● Trang",
        "CPU usage: ",
        "Memory usage: ",
        "Disk usage of /",
        "processes; the 5 largest",
        "✅ Khuyến nghị",
        "✔ terminal",
    ):
        assert part in shown
    asked = crew(
        "run", ROOT / "examples" / "it-support", "máy chậm", CREW_DATABASE_URL="memory:"
    ).stdout
    assert "● Ngân" in asked
    assert "⏸ paused" in asked


def test_a_crew_with_errors_does_not_run(tmp_path: Path):
    """All of them are told, and nothing is started."""
    folder = write_crew(tmp_path, {"a": {"tools": ["Nope"]}}, entry_point="b")
    for command in (["run", folder, "x"], ["serve", folder, "--port", "0"], ["graph", folder]):
        ended = crew(*command)
        assert ended.returncode == 1
        assert "unknown-tool" in ended.stderr
        assert "unknown-agent" in ended.stderr


def test_a_database_that_cannot_be_used(tmp_path: Path):
    """One sentence."""
    folder = write_crew(tmp_path, {"a": {}}, [{"say": "x"}])
    ended = crew("run", folder, "x", CREW_DATABASE_URL="sqlite:////proc/nope/x.db")
    assert (ended.returncode, "cannot be used" in ended.stderr) == (1, True)


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
    mended = crew("validate", folder, "--fix", "--yes")
    assert (mended.returncode, "0 errors" in mended.stdout) == (0, True)
    assert file.read_text() == BROKEN.replace("setings", "settings")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in folder.glob(".crew.yaml*")] == []
    assert "@@" not in crew("validate", folder, "--fix").stdout


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
    assert crew("explain").stdout.count("\n## ") > 50
    wrong = crew("explain", "trp")
    assert (wrong.returncode, "did you mean trap?" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("options", [("--json", "--sarif"), ("--fix", "--json"), ("--yes",)])
def test_options_that_do_not_go_together(options: tuple[str, ...], tmp_path: Path):
    """Wrong usage, said so."""
    assert crew("validate", write_crew(tmp_path, {"a": {}}), *options).returncode == 2


def test_the_version():
    """As the package has it."""
    ended = subprocess.run([BIN / "crew", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == importlib.metadata.version("crewline")


def test_a_misspelt_variable_is_told_by_every_command(tmp_path: Path):
    """It would be taken for no variable at all, and another database be used."""
    for command in (["run", str(tmp_path), "x"], ["runs", str(tmp_path)]):
        environment = clean_environment(CREW_DATABSE_URL="sqlite:///x.db")
        write_crew(tmp_path, {"a": {}})
        ended = subprocess.run(
            [BIN / "crew", *command], capture_output=True, text=True, env=environment
        )
        assert ended.returncode == 2
        assert "did you mean CREW_DATABASE_URL?" in ended.stderr
