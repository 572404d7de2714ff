"""The console in Firefox: another engine, another event stream, another layout."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.real.installed import HOME, NODE, needs_real
from tests.support.crews import ROOT, copy_example
from tests.support.processes import serving

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
if FIREFOX is None and os.environ.get("CI"):
    raise AssertionError("CI needs Firefox: .ci/run installs it")
pytestmark = [
    needs_real,
    pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox on this machine"),
]
PROGRAM = ROOT / "tests" / "real" / "clients" / "firefox.mjs"


def test_a_run_is_started_approved_and_shown(tmp_path: Path):
    """Its graph, its lanes, its end after a reload; every page opens, and no script breaks."""
    assert FIREFOX is not None
    program, picture = tmp_path / "firefox.mjs", tmp_path / "run.png"
    shutil.copyfile(PROGRAM, program)
    (tmp_path / "node_modules").symlink_to(HOME / "node_modules")
    with serving(copy_example("on-call", tmp_path / "crew")) as server:
        ended = subprocess.run(
            [NODE, program, server.url, FIREFOX, picture],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
            env={**os.environ, "HOME": str(tmp_path)},
        )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["broken"] == []
    assert "/runs/" in found["address"]
    seen = found["seen"]
    assert (seen["nodes"], seen["lanes"], seen["isWide"]) == (5, 2, False)
    assert seen["bars"] > 8
    assert seen["answer"]
    assert len(set(found["titles"].values())) > 5, found["titles"]
    assert picture.read_bytes().startswith(b"\x89PNG")
