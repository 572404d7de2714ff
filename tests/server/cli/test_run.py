"""`crew run` and `crew runs`: what is shown, what is asked, how they end."""

import contextlib
import importlib.metadata
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import ROOT, write_crew
from tests.support.forked import crew
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment

ASKING: list[dict[str, Any]] = [{"hears": "enough", "say": "thanks [E]"}, {"say": "tell me more"}]


PAUSING = {
    "routing": {
        "signals": {"a": [{"signal": "[E]"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
}


COMMANDS = ("serve", "run", "validate", "explain", "graph", "schema", "init", "runs", "doctor")


def test_help_names_every_command():
    """With a line each."""
    received = crew("--help").stdout
    assert [command for command in COMMANDS if command not in received] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command: str):
    """In its help."""
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
    assert paused.returncode == 3
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
    assert process.wait(PROCESS_SECONDS) == 0
    os.close(master)
    text = shown.decode()
    assert "\x1b[" in text
    assert "tell me more" in text
    assert "thanks [E]" in text


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
    """All of them are reported, and nothing is started."""
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


def test_the_version():
    """As the package has it."""
    ended = subprocess.run([BIN / "crew", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == importlib.metadata.version("crewline")


def test_a_misspelt_variable_is_reported_by_every_command(tmp_path: Path):
    """It would be taken for no variable at all, and another database be used."""
    for command in (["run", str(tmp_path), "x"], ["runs", str(tmp_path)]):
        environment = clean_environment(CREW_DATABSE_URL="sqlite:///x.db")
        write_crew(tmp_path, {"a": {}})
        ended = subprocess.run(
            [BIN / "crew", *command], capture_output=True, text=True, env=environment
        )
        assert ended.returncode == 2
        assert "did you mean CREW_DATABASE_URL?" in ended.stderr


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_goes_does_not_end_the_run(tmp_path: Path, form: list[str]):
    """`| head -1` has read enough; the run is completed all the same."""
    folder = write_crew(tmp_path, {"a": {}, "b": {}}, [{"say": "x", "delay_seconds": 0.3}])
    process = subprocess.Popen(
        [BIN / "crew", "run", folder, "hello", *form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    shown = process.stderr.read()
    process.stderr.close()
    assert (process.wait(PROCESS_SECONDS), shown) == (0, "")
    assert "completed" in crew("runs", folder).stdout


def test_an_interrupt_at_a_pause_ends_at_once(tmp_path: Path):
    """The run stays paused, and it is said how to answer later."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [BIN / "crew", "run", folder, "help"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=clean_environment(),
    )
    os.close(slave)
    shown = b""
    while b"> " not in shown:
        shown += os.read(master, 1000)
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):
        while more := os.read(master, 1000):
            shown += more
    assert process.wait(PROCESS_SECONDS) == 3
    os.close(master)
    assert b"--answer" in shown
    assert "paused" in crew("runs", folder).stdout


@pytest.mark.parametrize("command", [["run", "{}", "x"], ["serve", "{}", "--port", "0"]])
def test_a_provider_that_nobody_has(tmp_path: Path, command: list[str]):
    """The option is named, not a file."""
    folder = write_crew(tmp_path, {"a": {}})
    ended = crew(*(word.format(folder) for word in command), "--provider", "nope")
    assert ended.returncode == 2
    assert "--provider" in ended.stderr
    assert "no provider 'nope'" in ended.stderr
    assert "crew.yaml:" not in ended.stderr


def test_the_provider_of_a_run_is_kept(tmp_path: Path):
    """An answer to a run that was started with --provider goes to the same provider."""
    providers = {"gateway": {"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}}
    agents = {"a": {"provider": "gateway"}}
    folder = write_crew(tmp_path, agents, ASKING, providers=providers, **PAUSING)
    paused = crew("run", folder, "help", "--provider", "scripted")
    assert paused.returncode == 3
    run_id = paused.stderr.split("--answer ")[1].split()[0]
    answered = crew("run", folder, "enough", "--answer", run_id)
    assert (answered.returncode, "thanks [E]" in answered.stdout) == (0, True)


def test_what_a_tool_prints_is_no_line_of_json(tmp_path: Path):
    """Nor does an error of megabytes hold up the run."""
    rules = [
        {"after": "shout", "say": "done"},
        {"calls": [{"tool": "shout", "arguments": {}}]},
    ]
    tools = {"shout": {"kind": "python", "function": "t.py:shout"}}
    folder = write_crew(tmp_path, {"a": {"tools": ["shout"], "is_terminal": True}}, rules, tools)
    (folder / "t.py").write_text(
        'def shout() -> str:\n    """Shout."""\n    print("progress 10%")\n'
        '    raise ValueError("y" * 5_000_000)\n'
    )
    done = crew("run", folder, "go", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["type"] == "done"
    assert "progress 10%" in done.stderr
    assert len(done.stderr) < 100_000
