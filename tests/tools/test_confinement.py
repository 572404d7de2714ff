"""What a process can no longer do once it has given everything up."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.commands import needs_landlock
from tests.support.crews import ROOT

ATTEMPTS = {
    "socket": "import socket; socket.socket()",
    "socketpair": "import socket; socket.socketpair()",
    "fork": "import os; os.fork()",
    "thread": "import threading; threading.Thread(target=int).start()",
    "program": "import os; os.execv('/bin/true', ['true'])",
    "write": "open('/tmp/crew-escaped', 'w')",
    "write beside": "open('escaped', 'w')",
    "read": "open('/etc/hostname')",
    "memory": "bytearray(2 << 30)",
    "environment": "import os; os.environ['PATH']",
    "mode": "os.chmod('/tmp/crew-confined', 0o644)",
    "time of a file": "os.utime('/tmp/crew-confined')",
    "signal": "os.kill(os.getppid(), 0)",
    "priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, 0))",
    "limits": "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
    "shared memory": "import mmap; mmap.mmap(-1, 5 << 30)",
    "parent": "import os; open(f'/proc/{os.getppid()}/environ', 'rb').read()",
}


@needs_landlock
@pytest.mark.parametrize("what", ATTEMPTS)
def test_nothing_is_left(what: str):
    """Each raises; without `confine` each would do."""
    Path("/tmp/crew-confined").touch()
    for is_confined in (True, False):
        script = textwrap.dedent(f"""
            import socket, threading, os, sys, sysconfig
            from pathlib import Path
            from tools.confinement.confine import confine
            if {is_confined}:
                confine(512, 30, [Path(sysconfig.get_path("stdlib"))])
            try:
                {ATTEMPTS[what]}
            except (OSError, RuntimeError, MemoryError, KeyError) as error:
                print("refused", type(error).__name__)
            else:
                print("done")
        """)
        if not is_confined and what in ("fork", "program"):
            continue
        ended = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            cwd=ROOT if is_confined else "/tmp",
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            timeout=60,
        )
        assert ended.stdout.startswith("refused" if is_confined else "done"), ended


def test_time_of_the_cpu_ends():
    """By a signal, whatever the process does."""
    script = (
        "import time\nfrom tools.confinement.confine import confine\n"
        "confine(512, 1, [])\nwhile True: pass"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(ROOT)}, cwd=ROOT, timeout=60
    )
    assert ended.returncode < 0
