"""The command `crew`: checks first that the four packages are this program's own, then starts it.

They have common names. A `tools.py` on PYTHONPATH, or another distribution, may stand before them;
nothing of that may run. This module imports none of them before the check.
"""

import gc
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("crew", "agents", "tools", "server")
# what programs import from here, by the module that has it
EXPORTS = {
    "Client": ("server.client.client", "CrewClient"),
    "ClientError": ("server.client.errors", "ClientError"),
}


def __getattr__(name: str) -> Any:
    """Import what a program asks for, not before."""
    if name not in EXPORTS:
        raise AttributeError(f"module 'crewline' has no attribute {name!r}")
    module, found = EXPORTS[name]
    return getattr(importlib.import_module(module), found)


def _open_closed_streams() -> None:
    """Give the standard streams that were closed nothing to read, and nowhere to write.

    Else the first files that are opened would be in their place.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            # for the processes that this one starts, too
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def main() -> None:
    """Start the command, unless something else would be imported in place of a package of ours."""
    home = Path(__file__).resolve().parent
    foreign = []
    for name in PACKAGES:
        # finds without running anything
        found = importlib.util.find_spec(name)
        place = Path(found.origin).resolve() if found is not None and found.origin else None
        if place != home / name / "__init__.py":
            foreign.append(f"{name} ({place or 'not found'})")
    if foreign:
        sys.exit(
            f"crew: another package hides one of ours: {', '.join(foreign)}; "
            "take its folder out of PYTHONPATH, "
            "or install crewline into an environment of its own"
        )
    _open_closed_streams()
    # what is imported stays: the collector would walk through it again and again
    gc.disable()
    importlib.import_module("server.cli.main").main()
