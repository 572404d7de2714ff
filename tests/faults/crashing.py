"""Named points at which a process kills itself, as a power cut would: FAULT=name:count in the environment."""

import os
import signal
import threading

POINTS = (
    "before_store",
    "after_store",
    "before_dispatch",
    "after_dispatch",
    "before_send",
    "after_send",
)
_name, _, _count = os.environ.get("FAULT", ":").partition(":")
_left = int(_count or 0)
_lock = threading.Lock()


def reach(name: str) -> None:
    """Be at a point; the process ends here if it is the one, the so-many-th time."""
    global _left
    if name != _name:
        return
    with _lock:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
