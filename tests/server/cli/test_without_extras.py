"""A plain install has no extra: every command that needs none works, and the others say which to install."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.cli.main import COMMANDS
from tests.support.crews import copy_example
from tests.support.processes import BIN, clean_environment

# the packages that only extras install, as they are imported
EXTRAS = (
    *("watchfiles", "jwt", "mcp", "openpyxl", "pypdfium2", "docx", "pptx", "numpy", "tiktoken"),
    "genai_prices",
    "opentelemetry",
    *("asyncpg", "procrastinate", "psycopg", "psycopg_pool"),
)
# is imported by each Python that starts
SITE = f"""
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
"""


def plain(
    tmp_path: Path, *arguments: Any, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """A command of an install without extras."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(SITE)
    ended = subprocess.run(
        [BIN / "crew", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean_environment(PYTHONPATH=str(site), **environment),
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in ended.stdout + ended.stderr, ended
    return ended


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(tmp_path: Path, name: str):
    """So its module is imported."""
    assert plain(tmp_path, name, "--help").returncode == 0


def test_the_main_commands_work(tmp_path: Path):
    folder = copy_example("on-call", tmp_path)
    for arguments, code in (
        (("validate", folder), 0),
        (("test", folder), 0),
        (("run", folder, "The shop is slow"), 3),
        (("replay", folder, "last"), 0),
        (("record", folder, "last", "--rehearsal"), 0),
        (("fork", folder, "last"), 0),
        (("diff", folder, folder), 0),
        (("graph", folder, "--coverage"), 0),
        (("runs", folder), 0),
        (("doctor", folder), 0),
    ):
        ended = plain(tmp_path, *arguments)
        assert ended.returncode == code, ended


def test_what_an_extra_is_for_says_so(tmp_path: Path):
    folder = copy_example("on-call", tmp_path)
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    traced = plain(tmp_path, "run", folder, "The shop is slow", **endpoint)
    # a run goes on without what looks on
    assert (traced.returncode, "pip install 'crewline[otel]'" in traced.stderr) == (3, True)
    watching = plain(tmp_path, "test", folder, "--watch")
    assert (watching.returncode, "pip install 'crewline[reload]'" in watching.stderr) == (2, True)
