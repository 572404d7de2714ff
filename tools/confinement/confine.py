"""A process of our own that only computes: it gives up files, sockets, memory and time."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.confinement import landlock
from tools.confinement.calls import forbid_calls

MIB = 1 << 20
# linux/prctl.h
PR_SET_PDEATHSIG = 1
# linux/capability.h
CAPABILITY_VERSION = 0x20080522


def confine(memory_mb: int, cpu_seconds: int, readable: Sequence[Path]) -> None:
    """Let this process write nothing, reach nothing and use only so much, from now on.

    It has no environment, starts no process, and ends with the one that has started it. What the
    kernel cannot do is left out: Landlock before Linux 5.13, all but memory and time elsewhere.

    Args:
        memory_mb: of its data, x 1,048,576 bytes.
        cpu_seconds: then it is ended (SIGXCPU).
        readable: folders that it still imports from.

    Raises:
        OSError: the kernel refuses.
    """
    os.environ.clear()
    # the address space would count what is only reserved
    memory = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    lower_limit(memory, memory_mb * MIB)
    # it is ended by a signal that says why, and killed a little later
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    # what is shared with no one is memory, too
    lower_limit(resource.RLIMIT_AS, 4 * memory_mb * MIB)
    # of files; a pipe is none
    lower_limit(resource.RLIMIT_FSIZE, 0)
    lower_limit(resource.RLIMIT_CORE, 0)
    end_with_parent()
    if sys.platform != "linux":
        return
    if landlock.version():
        landlock.restrict_thread([(one, landlock.READ) for one in readable], network=False)
    _drop_capabilities()
    forbid_calls()


def _drop_capabilities() -> None:
    """Give up what root may do, for good."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, nothing) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_with_parent() -> None:
    """Have this process killed when the one that has started it is gone; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def lower_limit(kind: int, limit: int, *, is_final: bool = True) -> None:
    """Set a limit of this process; the machine's own may be lower.

    Args:
        kind: of resource.
        limit: what it may use.
        is_final: the process cannot raise it again.
    """
    _, hard = resource.getrlimit(kind)
    wanted = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (wanted, wanted if is_final else hard))
