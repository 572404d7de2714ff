"""A filter of system calls: a process makes no socket or process, and changes nothing of others.

Source: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import sys

# linux/prctl.h, linux/seccomp.h
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
SECCOMP_MODE_FILTER = 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
# linux/bpf_common.h: load a word, jump if equal or greater, return
LOAD, EQUALS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
# of struct seccomp_data: the number of the call, and the architecture
NUMBER, ARCHITECTURE = 0, 4
# by machine: its number (linux/audit.h), and the numbers of calls that are refused
MACHINES = {
    "x86_64": (
        0xC000003E,
        (
            # socket, socketpair, and io_uring_setup, which opens sockets in another way
            *(41, 53, 425),
            # clone, clone3, fork, vfork, execve, execveat
            *(56, 435, 57, 58, 59, 322),
            # files, by names and modes: chmod, chown, utime, xattr, truncate, and those of folders
            *(90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 280, 261, 188, 189, 190, 197, 198, 199),
            *(76, 77, 82, 83, 84, 86, 87, 88, 133, 258, 259, 263, 264, 265, 266, 316, 304),
            # other processes: kill, tkill, tgkill, sigqueue, pidfd, ptrace, process_vm, prlimit,
            # priorities
            *(62, 200, 234, 129, 297, 434, 424, 438, 101, 310, 311, 302, 203, 144, 142, 314),
            *(141, 251),
            # shared memory; keys; the machine: mount, modules, bpf, time, names, swap, namespaces
            *(29, 30, 319, 248, 249, 250, 165, 166, 155, 161, 175, 313, 176, 321, 298, 323, 246),
            *(169, 167, 168, 164, 227, 159, 170, 272, 308),
        ),
    ),
    "aarch64": (
        0xC00000B7,
        (
            *(198, 199, 425, 220, 435, 221, 281),
            *(
                52,
                53,
                452,
                54,
                55,
                88,
                5,
                6,
                7,
                14,
                15,
                16,
                45,
                46,
                33,
                34,
                35,
                36,
                37,
                38,
                276,
                265,
            ),
            *(
                129,
                130,
                131,
                138,
                240,
                434,
                424,
                438,
                117,
                270,
                271,
                261,
                122,
                119,
                118,
                274,
                140,
                30,
            ),
            *(194, 196, 279, 217, 218, 219, 40, 39, 41, 51, 105, 273, 106, 280, 241, 282, 104),
            *(142, 224, 225, 170, 112, 171, 161, 97, 268),
        ),
    ),
}
# calls of x86_64 in another form of numbers
X32 = 0x40000000


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("when_true", ctypes.c_uint8),
        ("when_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(_Instruction)))


def forbid_calls() -> bool:
    """Let this thread only read and compute from now on; return whether the kernel sees to it.

    Raises:
        OSError: the kernel refuses.
    """
    known = MACHINES.get(platform.machine())
    if sys.platform != "linux" or known is None:
        return False
    architecture, calls = known
    # a jump goes over so many instructions; the last one refuses
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        # another architecture has other numbers: nothing is known of its calls
        (EQUALS, 0, len(calls) + 3, architecture),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, len(calls) + 1, 0, X32),
        *((EQUALS, len(calls) - place, 0, call) for place, call in enumerate(calls)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ERRNO | errno.EPERM),
    ]
    instructions = (_Instruction * len(steps))(*(_Instruction(*one) for one in steps))
    program = _Program(len(steps), instructions)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        number = ctypes.get_errno()
        if number == errno.EINVAL:
            # a kernel without it
            return False
        raise OSError(number, os.strerror(number))
    return True
