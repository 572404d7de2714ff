"""`crew lsp` under Neovim's own client: problems, fixes, hover, completion, without a screen."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.crews import ROOT, write_crew
from tests.support.processes import BIN, clean_environment

NEOVIM = shutil.which("nvim")
if NEOVIM is None and os.environ.get("CI"):
    raise AssertionError("CI needs Neovim: .ci/run installs it")
pytestmark = pytest.mark.skipif(NEOVIM is None, reason="there is no Neovim on this machine")
PROGRAM = ROOT / "tests" / "real" / "clients" / "crew.lua"


def test_a_mistake_is_seen_and_fixed(tmp_path: Path):
    """At its place, with its remedy; when it is applied, nothing is left."""
    assert NEOVIM is not None
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}})
    path = folder / "crew.yaml"
    right = path.read_text()
    path.write_text(right + "settings: { max_handofs: 3 }\n")
    place = {"CREW_PROGRAM": str(BIN / "crew"), "CREW_FOLDER": str(folder), "HOME": str(tmp_path)}
    ended = subprocess.run(
        [NEOVIM, "--headless", "-n", "-i", "NONE", "-u", PROGRAM],
        capture_output=True,
        text=True,
        timeout=240,
        env=clean_environment(**place),
        check=False,
    )
    lines = [one for one in ended.stdout.splitlines() if one.startswith("{")]
    assert lines, ended.stderr
    found = json.loads(lines[-1])
    problem = found["problem"]
    assert (problem["code"], problem["line"]) == ("unknown-key", right.count("\n"))
    assert "max_handofs" in problem["message"]
    assert any("max_handoffs" in one for one in found["fixes"]), found["fixes"]
    assert found["hover"]
    assert found["completes"]
    assert (found["left"], "max_handoffs: 3" in found["text"]) == (0, True)
