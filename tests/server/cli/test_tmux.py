"""A session of `crew run` in tmux, as a person sees it: lanes, a pause with its arguments, the end."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.crews import ROOT, copy_example
from tests.support.processes import BIN, clean_environment, until

TMUX = shutil.which("tmux")
if TMUX is None and os.environ.get("CI"):
    raise AssertionError("CI needs tmux: .ci/run installs it")
pytestmark = pytest.mark.skipif(TMUX is None, reason="there is no tmux on this machine")
RECORDING = ROOT / "docs" / "images" / "terminal.txt"


class Session:
    """One window of a tmux of its own."""

    def __init__(self, folder: Path) -> None:
        # short: the path of a socket has 100 characters
        self.tmux = [str(TMUX), "-S", str(folder / "s"), "-f", "/dev/null"]

    def ask(self, *words: str) -> str:
        asked = [*self.tmux, *words]
        environment = clean_environment(TERM="xterm-256color", LC_ALL="C.UTF-8")
        return subprocess.run(
            asked, capture_output=True, text=True, check=True, env=environment
        ).stdout

    def screen(self) -> str:
        """All that is and was on it, without the empty lines at its end."""
        return self.ask("capture-pane", "-p", "-J", "-S", "-").rstrip()

    def type(self, text: str) -> None:
        self.ask("send-keys", "-l", text)
        self.ask("send-keys", "Enter")


@contextmanager
def session(folder: Path) -> Iterator[Session]:
    """Of a plain shell, 90 columns wide."""
    opened = Session(folder)
    opened.ask("new-session", "-d", "-x", "90", "-y", "50", "-c", str(folder), "sh")
    try:
        yield opened
    finally:
        opened.ask("kill-server")


def test_a_session(tmp_path: Path):
    """CREW_PICTURES=1 writes it to where docs/guides/terminal.md has it from."""
    copy_example("on-call", tmp_path)
    with session(tmp_path) as seen:
        # what is typed before the shell reads may be lost
        until(lambda: seen.screen() != "")
        seen.type(f"PATH={shlex.quote(str(BIN))}:$PATH PS1='$ '")
        until(lambda: seen.screen().splitlines()[-1:] == ["$"])
        seen.type('crew run on-call "checkout is slow"')
        until(lambda: seen.screen().endswith("or no and why>"))
        asked = seen.screen()
        assert re.search(r"^  Hans │  ✓ GetCPUUsage", asked, re.MULTILINE)
        assert re.search(r"^  Nina │    localhost", asked, re.MULTILINE)
        assert '? restart {"service": "database"} needs your approval' in asked
        seen.type("yes")
        until(lambda: "✔" in seen.screen() and seen.screen().endswith("$"))
        shown = seen.screen()
        assert "The queries waited for one lock." in shown
        assert "s left" not in shown
        seen.type("crew inbox on-call; echo code $?")
        until(lambda: "code 0" in seen.screen())
    if "CREW_PICTURES" in os.environ:
        lines = shown.splitlines()
        begin = next(place for place, line in enumerate(lines) if line.startswith("$ crew run"))
        RECORDING.write_text("\n".join(line.rstrip() for line in lines[begin:-1]) + "\n")
    assert RECORDING.read_text().startswith('$ crew run on-call "checkout is slow"')
