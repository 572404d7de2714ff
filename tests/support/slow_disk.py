"""Processes whose disk is slow now and then, by a library that delays their writes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

COMPILER = shutil.which("cc")
if COMPILER is None and os.environ.get("CI"):
    raise AssertionError("CI needs a C compiler: .ci/run installs it")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler on this machine"
)


def slow_disk(folder: Path) -> dict[str, str]:
    """The environment of a process with such a disk; the library is compiled into `folder`."""
    assert COMPILER is not None, "a C compiler makes the library"
    library = folder / "slow_disk.so"
    source = Path(__file__).with_suffix(".c")
    command: list[str | Path] = [COMPILER, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library)}
