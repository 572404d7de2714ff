"""Prometheus's own tool finds nothing wrong with the metrics, of a crew that has everything."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.crews import ROOT
from tests.support.processes import client, serving

PROMTOOL = shutil.which("promtool")
if PROMTOOL is None and os.environ.get("CI"):
    raise AssertionError("CI needs promtool: .ci/run installs it")


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool on this machine")
def test_every_family_is_as_prometheus_wants_it(tmp_path: Path):
    """With conversations, hooks, schedules, channels and tools; after runs that used them."""
    folder = tmp_path / "crew"
    shutil.copytree(ROOT / "server" / "cli" / "starting" / "starters" / "full", folder)
    options = ("--provider", "scripted")
    with serving(folder, *options, GATEWAY_KEY="k" * 20) as server, client(server) as http:
        for query in ("hello", "our web is slow"):
            http.post("/api/crew/run", json={"query": query})
        metrics = http.get("/metrics").text
    checked = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=metrics, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool on this machine")
def test_the_rules_are_as_prometheus_wants_them():
    checked = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(ROOT / "configs" / "alerts.yml")],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert "SUCCESS" in checked.stdout
