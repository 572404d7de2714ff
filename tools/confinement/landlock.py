"""The kernel's Landlock: a thread, and what it starts, gives up rights for good.

Source: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import IntFlag
from functools import cache
from pathlib import Path

# the same on all architectures
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
# linux/prctl.h
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
# linux/capability.h, of root alone: SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, SYS_BOOT, MKNOD,
# PERFMON, BPF, CHECKPOINT_RESTORE. With one of them, a program reads the memory of others, the
# server's environment too, or changes the kernel
LEADING_OUT = (16, 17, 19, 21, 22, 27, 38, 39, 40)
# the first version of each part
NETWORK_VERSION, SCOPE_VERSION = 4, 6
BIND_AND_CONNECT_TCP = 3
ABSTRACT_SOCKETS_AND_SIGNALS = 3


class Access(IntFlag):
    """Rights on files: linux/landlock.h."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


# the version that brought a right
SINCE = {Access.REFER: 2, Access.TRUNCATE: 3, Access.IOCTL_DEV: 5}
READ = Access.EXECUTE | Access.READ_FILE | Access.READ_DIR
LIST = Access.READ_DIR
# device files are not made
WRITE = ~(Access.MAKE_CHAR | Access.MAKE_BLOCK)
DEVICE = Access.READ_FILE | Access.WRITE_FILE | Access.TRUNCATE | Access.IOCTL_DEV
OF_FILES = Access.EXECUTE | DEVICE


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


@cache
def version() -> int:
    """Return the version of the kernel's Landlock; 0 where it has none."""
    if sys.platform != "linux":
        return 0
    with suppress(OSError):
        return _call(CREATE_RULESET, None, 0, VERSION_FLAG)
    return 0


def restrict_thread(rights: Iterable[tuple[Path, Access]], *, network: bool) -> None:
    """Leave this thread, and what it starts from now on, only these rights on files.

    It may signal nothing outside either, nor read its memory. A path that is not there is left out.

    Args:
        rights: what it may do with a path and what is below it.
        network: whether it may use TCP.

    Raises:
        OSError: the kernel refuses.
    """
    handled = Access(0)
    for right in Access:
        if SINCE.get(right, 1) <= version():
            handled |= right
    attributes = _RulesetAttributes(int(handled), 0, 0)
    size = 8
    if version() >= NETWORK_VERSION:
        attributes.handled_access_net = 0 if network else BIND_AND_CONNECT_TCP
        size = 16
    if version() >= SCOPE_VERSION:
        attributes.scoped = ABSTRACT_SOCKETS_AND_SIGNALS
        size = 24
    ruleset = _call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, access in rights:
            _add_rule(ruleset, path, access & handled)
        for capability in LEADING_OUT:
            # refused where this is not root, who has none of them either
            _libc().prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        if _libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
        _call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, path: Path, access: Access) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= OF_FILES
        if access:
            rule = _PathBeneath(int(access), fd)
            _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(fd)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _call(*arguments: object) -> int:
    result: int = _libc().syscall(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
