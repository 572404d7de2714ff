"""The client scenarios of the protocol's own conformance suite, played by our tools.

Not played: elicitation defaults of the older era (a question in the middle of a call is declined
there), and all of `auth`: a server's token is a header of its entry; there is no login.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real.installed import NODE, NODE_PROGRAMS, needs_real
from tests.support.commands import needs_linux
from tests.support.crews import ROOT

pytestmark = [needs_real, needs_linux, pytest.mark.timeout(180)]
SCENARIOS = (
    "initialize",
    "tools_call",
    "sse-retry",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
)


@pytest.mark.parametrize(
    ("scenario", "protocol"),
    [
        *((one, "auto") for one in SCENARIOS),
        *((one, "2025-11-25") for one in ("initialize", "tools_call", "sse-retry")),
    ],
)
def test_a_scenario_passes(scenario: str, protocol: str, tmp_path: Path):
    """With every check."""
    client = shlex.join([sys.executable, "-m", "tests.real.client"])
    command: list[str | Path] = [NODE, NODE_PROGRAMS / "conformance", "client"]
    command += ["--scenario", scenario, "--command", client]
    command += ["--timeout", "60000", "--output-dir", tmp_path, "--force"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "CREW_TEST_PROTOCOL": protocol},
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    (found,) = tmp_path.rglob("checks.json")
    checks = json.loads(found.read_text())
    assert checks, said
    # what is skipped is about what a client need not offer: sampling, resources
    assert {one["status"] for one in checks} <= {"SUCCESS", "INFO", "SKIPPED"}, checks
    assert any(one["status"] == "SUCCESS" for one in checks), checks
