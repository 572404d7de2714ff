"""Clocks of machines that are wrong, by libfaketime."""

import os
from pathlib import Path

import pytest

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
if LIBRARY is None and os.environ.get("CI"):
    raise AssertionError("CI needs faketime: .ci/run installs it")
needs_faketime = pytest.mark.skipif(
    LIBRARY is None, reason="there is no libfaketime on this machine"
)


def skewed(by: str) -> dict[str, str]:
    """The environment of a process whose clock is off, such as by `+3d`."""
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME": by,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
