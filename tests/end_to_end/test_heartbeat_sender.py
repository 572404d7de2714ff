"""The process that sends a worker's heartbeats, where the worker ends before it wrote its settings."""

import subprocess
import sys

import pytest

from crew.backends.postgres.jobs.heartbeat import SENDER


@pytest.mark.parametrize("written", [b"", b'{"url": "postgresql://'])
def test_it_ends_with_a_worker_that_ended_at_its_start(written: bytes):
    ended = subprocess.run(
        [sys.executable, "-P", str(SENDER)], input=written, capture_output=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
