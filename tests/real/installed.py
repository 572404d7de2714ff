"""Where `make real` has put what others wrote; tests that need it skip where it is not."""

import os
import sys
from pathlib import Path

import pytest

HOME = Path(sys.prefix) / "real"
NODE_PROGRAMS = HOME / "node_modules" / ".bin"
NODE = NODE_PROGRAMS / "node"
PYTHON_PROGRAMS = HOME / "python" / "bin"
IS_HERE = (HOME / ".installed").exists()
if not IS_HERE and os.environ.get("CI"):
    raise AssertionError("CI needs the servers of others: .ci/run makes `make real`")
needs_real = pytest.mark.skipif(not IS_HERE, reason="`make real` has not been run here")
