"""Defences that are taken away one by one, and the tests that must go red."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.crews import ROOT
from tests.support.processes import clean_environment

COPIED = (
    "agents",
    "crew",
    "tools",
    "server",
    "tests",
    "examples",
    "configs",
    "docs",
    "crewline.py",
    "pyproject.toml",
    "README.md",
)
# of one test; where a defence against slowness is gone, it does not end
TEST_SECONDS = 40
FAILED = 1


@dataclass(frozen=True)
class Mutant:
    """A defence that is not there."""

    name: str
    file: str
    old: str
    new: str
    # a file of tests, or one test
    test: str

    def check(self, root: Path = ROOT) -> None:
        """Raises AssertionError where its place has changed."""
        count = (root / self.file).read_text().count(self.old)
        assert count == 1, f"{self.name}: its place in {self.file} stands there {count} times"

    def is_seen(self) -> bool:
        """Whether its test fails on a copy of the code without the defence."""
        self.check()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for part in COPIED:
                subprocess.run(["cp", "-r", ROOT / part, copy / part], check=True)
            path = copy / self.file
            path.write_text(path.read_text().replace(self.old, self.new))
            return _run(copy, self.test) == FAILED


def _run(code: Path, test: str) -> int:
    """The exit code of a test on the code of a folder."""
    # the command `crew` finds its packages there, too
    environment = clean_environment(PYTHONPATH=str(code), PYTHONDONTWRITEBYTECODE="1")
    options = ["-x", "-q", "--timeout", str(TEST_SECONDS), "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, test]
    return subprocess.run(command, cwd=code, env=environment, capture_output=True).returncode


def own(name: str, file: str, old: str, new: str, test: str) -> Mutant:
    """A mutant whose tests are in `tests/`."""
    return Mutant(name, file, old, new, f"tests/{test}")
