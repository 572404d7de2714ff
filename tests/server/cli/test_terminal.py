"""Runs in a terminal and in a pipe: what is shown, how a run is named, found, answered and retried."""

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.cli.hints import answer_commands, command_here
from server.cli.playing.answers import CALL_DECISION
from tests.server.cli.test_run import ASKING, PAUSING
from tests.support.crews import copy_example, write_crew
from tests.support.forked import crew
from tests.support.processes import BIN, PROCESS_SECONDS, clean_environment

ACTS = '''
def pay(to: str) -> str:
    """Pay."""
    return f"paid {to}"
'''


def paying(folder: Path, *calls: str) -> Path:
    """A crew whose every call waits for a person."""
    entry = {"kind": "python", "function": "acts.py:pay", "requires_approval": True}
    made = [{"tool": "pay", "arguments": {"to": to}} for to in calls]
    rules = [{"after": "pay", "say": "{{result.pay}}"}, {"say": "", "calls": made}]
    write_crew(folder, {"a": {"tools": ["pay"]}}, rules, {"pay": entry})
    (folder / "acts.py").write_text(ACTS)
    return folder


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *command: Any, **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [BIN / "crew", *map(str, command)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=clean_environment(TERM="xterm-256color", COLUMNS="90", **environment),
        )
        os.close(slave)
        self.shown, self._found = "", 0

    def until(self, text: str) -> None:
        """Read until a text is shown."""
        while text not in self.shown:
            self._read()

    def until_next(self, text: str) -> None:
        """Read until a text is shown behind what the last such call found."""
        while (found := self.shown.find(text, self._found)) < 0:
            self._read()
        self._found = found + len(text)

    def end(self) -> int:
        """Read all; the exit code."""
        try:
            while True:
                self._read()
        except OSError:
            pass
        os.close(self.master)
        return self.process.wait(PROCESS_SECONDS)

    def interrupt(self) -> None:
        """Interrupt it until it ends: a program that is about to read misses the first."""
        while self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def _read(self) -> None:
        self.shown += os.read(self.master, 4096).decode(errors="replace")


def test_a_pipe_gets_whole_lines(tmp_path: Path):
    """The crew, the run and the question first; no line is wrapped; members name their lines."""
    folder = copy_example("on-call", tmp_path)
    shown = crew("run", folder, "the site is slow", COLUMNS="40").stdout.splitlines()
    assert re.fullmatch(r"on-call, run [0-9a-f]{32}", shown[0])
    assert shown[1] == "» the site is slow"
    assert any(re.match(r"  Hans │  ✓ GetCPUUsage", line) for line in shown)
    assert any(re.match(r"  Nina │    localhost", line) for line in shown)
    (end,) = [line for line in shown if line.startswith("⏸ paused")]
    assert re.search(r"tokens: \d+, [0-9.]+ s\)$", end)


def test_a_wrapped_line_stays_in_its_lane(tmp_path: Path):
    """In a narrow terminal each line of a member has its name, and goes on under its first word."""
    words = " ".join(f"word{n}" for n in range(30))
    routing = {
        "defaults": {"s": "g"},
        "parallel_groups": {"g": {"agents": ["a", "b"], "next_agent": "e"}},
    }
    rules = [{"agent": "a", "say": words}, {"say": "done"}]
    folder = write_crew(
        tmp_path, {"s": {}, "a": {}, "b": {}, "e": {"is_terminal": True}}, rules, routing=routing
    )
    terminal = Terminal("run", folder, "look")
    terminal.end()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown)
    lines = [line.rstrip() for line in plain.replace("\r", "\n").split("\n") if "word" in line]
    assert len(lines) > 2
    assert all(re.match(r"  A │  word\d+", line) for line in lines), lines
    assert max(map(len, lines)) <= 90


def test_a_terminal_shows_who_is_at_work(tmp_path: Path):
    """A line that moves: how long, who speaks, which tool has how long left; gone at the end."""
    rules: list[dict[str, Any]] = [
        {"after": "GetCPUUsage", "say": "well\nand good", "delay_seconds": 1},
        {"say": "", "calls": ["GetCPUUsage"]},
    ]
    folder = write_crew(tmp_path, {"a": {"tools": ["GetCPUUsage"]}}, rules)
    terminal = Terminal("run", folder, "look")
    terminal.until("A speaks")
    assert terminal.end() == 0
    assert "A: GetCPUUsage, " in terminal.shown
    assert "s left" in terminal.shown
    # the line is taken away at the end: up, and erased
    assert terminal.shown.endswith("\x1b[1A\x1b[2K")
    for line in ("well", "and good"):
        assert f"  {line}" in terminal.shown


def test_ctrl_d_keeps_the_run_and_says_how_to_go_on(tmp_path: Path):
    """In commands that a shell takes as they are."""
    terminal = Terminal("run", paying(tmp_path / "my crew", "bob"), "go")
    terminal.until("> ")
    assert '"to": "bob"' in terminal.shown
    terminal.type("\x04")
    assert terminal.end() == 3
    lines = [line.strip() for line in terminal.shown.splitlines()]
    commands = [line for line in lines if line.startswith("crew run ")]
    assert [line.rsplit(" ", 1)[1] for line in commands] == ["approve", "deny"]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        commands[0],
        shell=True,
        capture_output=True,
        text=True,
        env=clean_environment(PATH=path),
        stdin=subprocess.DEVNULL,
    )
    assert (ended.returncode, "paid bob" in ended.stdout) == (0, True), ended.stderr


def test_the_query_from_a_pipe(tmp_path: Path):
    """All of it, up to what a query may have; what is no text is refused."""
    folder = write_crew(tmp_path, {"a": {}}, [{"hears": "line two", "say": "both"}, {"say": "x"}])

    def piped(content: bytes) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [BIN / "crew", "run", folder, "-"],
            input=content,
            capture_output=True,
            env=clean_environment(),
        )

    assert b"both" in piped(b"line one\nline two\n").stdout
    for wrong, told in ((b"", b"is empty"), (b"\xff\xfe", b"UTF-8"), (b"x" * 10_001, b"10,000")):
        ended = piped(wrong)
        assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr


def test_runs_are_named_shortly(tmp_path: Path):
    """By `last`, or by a beginning that is theirs alone."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    assert crew("runs", folder, "last").returncode == 1
    first = crew("run", folder, "help").stderr.split("--answer ")[1].split()[0]
    crew("run", folder, "help me")
    several = crew("runs", folder, first[:6])
    assert (several.returncode, "several runs begin so" in several.stderr) == (1, True)
    assert "» help me" in crew("runs", folder, "last").stdout
    done = crew("run", folder, "enough", "--answer", first[:20])
    assert (done.returncode, "thanks [E]" in done.stdout) == (0, True)
    assert crew("runs", folder, first[:20]).stdout.startswith(f"test-crew, run {first}")
    assert "Cancelled" in crew("cancel", "last", folder).stdout
    assert crew("runs", folder, "x%").returncode == 1


def test_runs_of_a_status(tmp_path: Path):
    """Only those; an unknown one is a wrong option."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    crew("run", folder, "help")
    crew("run", folder, "enough")
    assert crew("runs", folder, "--status", "paused").stdout.count("\n") == 1
    assert "enough" in crew("runs", folder, "--status", "completed").stdout
    assert crew("runs", folder, "--status", "open").returncode == 2
    assert crew("runs", folder, "last", "--watch").returncode == 2


def test_runs_are_watched(tmp_path: Path):
    """New ones, and those that change, until Ctrl-C."""
    folder = write_crew(tmp_path, {"a": {}}, ASKING, **PAUSING)
    crew("run", folder, "help")
    terminal = Terminal("runs", folder, "--watch")
    terminal.until("paused")
    crew("run", folder, "enough", "--answer", "last")
    terminal.until("completed")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown


def test_the_inbox(tmp_path: Path):
    """Each run that waits, oldest first, with every argument and how it is answered."""
    folder = paying(tmp_path, "bob", "eve")
    assert crew("inbox", folder).stdout == ""
    crew("run", folder, "pay both")
    shown = crew("inbox", folder).stdout
    assert "pay both" in shown
    assert '"to": "bob"' in shown
    assert '"to": "eve"' in shown
    (document,) = [json.loads(line) for line in crew("inbox", folder, "--json").stdout.splitlines()]
    assert len(document["waiting"]["calls"]) == 2
    commands = [line.strip() for line in shown.splitlines() if "--answer" in line]
    assert len(commands) == 3
    words = commands[2].split()[1:]
    ended = crew(*words)
    assert "paid eve" in ended.stdout
    assert crew("inbox", folder).stdout == ""


@pytest.mark.parametrize("named", ["last", "beginning"])
def test_a_failed_run_is_retried(tmp_path: Path, named: str):
    """At the step that failed; one that did not fail is refused."""
    rules = [{"say": "slow", "delay_seconds": 1}]
    folder = write_crew(tmp_path, {"a": {}}, rules, settings={"timeout_seconds": 0.2})
    failed = crew("run", folder, "go")
    assert failed.returncode == 1
    run_id = failed.stdout.split("run ")[1].split()[0]
    again = crew("retry", "last" if named == "last" else run_id[:24], folder)
    assert again.returncode == 1
    assert "took longer" in again.stdout
    shown = crew("runs", folder, run_id).stdout
    assert shown.count("took longer") == 2
    assert crew("retry", "nope", folder).returncode == 1


def words_of(command: str, shell: str = "bash") -> list[str]:
    """How a shell reads a command."""
    script = f"printf '%s\\0' {command}"
    read = subprocess.run([shell, "-c", script], capture_output=True, check=True).stdout
    return read.decode(errors="replace").split("\0")[:-1]


@settings(deadline=None, max_examples=15)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_pasted_command_runs_nothing_else(call_id: str):
    """The ids of calls are the model's: a shell reads them as text."""
    calls = [{"agent_id": agent, "call_id": call_id, "may": ["approve", "deny"]} for agent in "ab"]
    for question in ("approval", "form"):
        for command in answer_commands(command_here(Path("my crew"), "r1"), question, calls):
            words = words_of(command)
            assert len(words_of(command, "sh")) == len(words)
            assert words[:5] == ["crew", "run", "my crew", "--answer", "r1"]
            given_ids = [word for word in words[5:] if word[1:].startswith(f"/{call_id}=")]
            assert len(given_ids) == words.count("--call")
    words = words_of(answer_commands(command_here(Path("-x"), "r1"), "approval", calls)[-1])
    assert words[2] == "./-x"
    read = [CALL_DECISION.fullmatch(word) for word in words[6::2]]
    assert [one and one["agent"] for one in read] == ["a", "b"]
    if "=" not in call_id:
        assert [one and (one["call"], one["decision"]) for one in read] == [
            (call_id, "approve"),
            (call_id, "approve"),
        ]


def test_an_answer_that_does_not_fit_is_asked_for_again(tmp_path: Path):
    """The run stays where it is, and the person at the prompt."""
    terminal = Terminal("run", paying(tmp_path, "bob"), "go")
    terminal.until("> ")
    terminal.type('{"too": "eve"}\n')
    terminal.until("too")
    terminal.until("do not fit")
    terminal.type('{"to": "eve"}\n')
    assert terminal.end() == 0
    assert "paid eve" in terminal.shown
