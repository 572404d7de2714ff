"""A run of which the process has ended: what commands say of it, and in which order their words stand."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.forking import CREW
from tests.support.processes import PROCESS_SECONDS, clean_environment, until

SLOWLY = [{"say": "at last", "delay_seconds": 600}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crew with a run of which the process has ended by SIGTERM."""
    written = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, SLOWLY)
    with subprocess.Popen(
        [CREW, "run", written, "hello"],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: "running" in crew("runs", written).stdout)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PROCESS_SECONDS)
    assert process.returncode == -signal.SIGTERM
    assert f"ended by SIGTERM: `crew serve {written}` goes on with the run" in errors
    return written


def test_what_is_said_of_it(folder: Path):
    """It says what goes on with it, and what ends it; then it is ended."""
    for command in (("retry", "last"), ("answer", "last", "yes")):
        ended = crew(*command, folder)
        assert ended.returncode == 1
        assert "is running" in ended.stderr
        assert "crew serve goes on with it, and crew cancel ends it" in ended.stderr
    looked = crew("doctor", folder, "--database").stdout
    assert "1 runs are at work" in looked
    assert crew("cancel", "last", folder).returncode == 0
    assert "are at work" not in crew("doctor", folder, "--database").stdout


@pytest.mark.parametrize("command", ["retry", "show", "cancel", "export"])
def test_the_folder_before_the_run(command: str, tmp_path: Path):
    """Says the order."""
    folder = write_crew(tmp_path, {"a": {"is_terminal": True}}, [{"say": "x"}])
    ended = crew(command, folder, "last")
    assert ended.returncode == 2
    assert "there is no folder last: DIR stands last" in ended.stderr
    assert f"{command} --help" in ended.stderr
