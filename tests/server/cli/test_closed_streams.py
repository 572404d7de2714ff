"""Commands that a supervisor starts without standard streams, or that find no room to write."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.crews import copy_example
from tests.support.forked import crew
from tests.support.processes import BIN, clean_environment, serving


def closed(command: str, streams: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command with some of its streams closed, as `<&-` of a shell does it."""
    words = ["bash", "-c", f"{shlex.quote(str(BIN / 'crew'))} {command} {streams}"]
    return subprocess.run(
        words, cwd=cwd, env=clean_environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("command", "streams", "status"),
    [
        ("run hello hi", "<&-", 0),
        ("run hello hi", "2>&-", 0),
        ("run hello hi", ">&-", 0),
        ("run hello hi", "<&- >&- 2>&-", 0),
        ("init new", "<&-", 0),
        ("validate hello --fix", "<&-", 0),
        ("run pausing table", "<&-", 3),
    ],
)
def test_closed_streams(tmp_path: Path, command: str, streams: str, status: int):
    for name in ("hello", "pausing"):
        copy_example(name, tmp_path)
    ended = closed(command, streams, tmp_path)
    assert ended.returncode == status, ended.stderr
    assert "mistake" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_programs_that_it_starts_have_all_streams():
    """Else their first files would stand in the place of one."""
    python = shlex.quote(sys.executable)
    started = "s.run([sys.executable, '-c', 'import sys; sys.stdin.read()'], check=True)"
    opened = "crewline._open_closed_streams()"
    code = f"import crewline, subprocess as s, sys; {opened}; {started}"
    words = ["bash", "-c", f"{python} -c {shlex.quote(code)} <&-"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_paused_run_at_a_server_is_left_with_the_way_back(tmp_path: Path):
    """As in a folder; with what its question needs."""
    with serving(copy_example("pausing", tmp_path)) as server:
        asked = crew("run", "--server", server.url, "Book me a table")
        assert asked.returncode == 3, asked.stderr
        assert "Paused. To answer:\n  crew answer " in asked.stderr
        assert f'--server {server.url} "your answer"' in asked.stderr
        line = next(one for one in asked.stderr.splitlines() if "crew answer" in one)
        words = shlex.split(line.replace("your answer", "two, at eight"))
        again = crew(*words[1:])
        assert again.returncode == 3, again.stderr
        approve = next(one for one in again.stderr.splitlines() if "--decision approve" in one)
        assert crew(*shlex.split(approve)[1:]).returncode == 0
        lines = crew("run", "--server", server.url, "--json", "Book me a table")
        assert "To answer" not in lines.stderr, "for programs the events say it"


def test_half_a_crew_is_not_left_behind(tmp_path: Path):
    """No room to write: the message has the file, and the next try finds nothing in its way."""
    words = f"ulimit -f 0; {shlex.quote(str(BIN / 'crew'))} init full --yes"
    ended = subprocess.run(
        ["bash", "-c", words],
        cwd=tmp_path,
        env=clean_environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("crew: full/"), ended.stderr
    assert "nothing was written" in ended.stderr
    assert crew("init", "full", "--yes", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "--since", "foo"), "7d"),
        (("runs", "--until", "2026-13-01"), "2026-01-31"),
        (("validate", "--server", "http://127.0.0.1:1"), "is local"),
        (("backup", "--profile=prod"), "is local"),
    ],
)
def test_words_that_are_wrong_usage(tmp_path: Path, words: tuple[str, ...], said: str):
    copy_example("hello", tmp_path)
    ended = crew(words[0], tmp_path / "hello", *words[1:])
    assert ended.returncode == 2
    assert said in " ".join(ended.stderr.split())
