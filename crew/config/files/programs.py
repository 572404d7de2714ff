"""The programs that files of a crew name; Python and pins are no part of a revision."""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources, leads_outside
from crew.config.files.yaml_reader import read
from tools.kinds.mcp.lock import LOCK_FILE

PYTHON = ".py"


def program_digests(sources: Sources) -> dict[str, str]:
    """Return the SHA-256 of each of these files that is there, by its name."""
    found = {}
    for name in sorted({*_python_files(sources), LOCK_FILE}):
        path = sources.folder / name
        if leads_outside(path, sources.folder):
            # of another folder, which has its own history
            continue
        try:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            continue
    return found


def run_files(sources: Sources) -> set[str]:
    """Return the files of the folder that the command lines of tools and of MCP servers name."""
    folder, found = sources.folder, set()
    for entry in _entries(sources):
        cwd = entry.get("cwd")
        places = [folder, *([folder / cwd] if isinstance(cwd, str) else [])]
        given = [entry.get(key) for key in ("argv", "args", "command")]
        words = [one for value in given for one in (value if isinstance(value, list) else [value])]
        texts = [one for one in words if isinstance(one, str) and "\0" not in one]
        # as it is, and as in --config=FILE
        for word in filter(None, (*texts, *(one.rpartition("=")[2] for one in texts))):
            paths = (os.path.relpath(os.path.normpath(place / word), folder) for place in places)
            found |= {Path(one).as_posix() for one in paths}
    return found


def is_run(name: str, files: Collection[str]) -> bool:
    """Return whether a file is one of `run_files`, or stands in a folder that is."""
    return name in files or any(str(one) in files for one in Path(name).parents if one.name)


def _python_files(sources: Sources) -> Iterator[str]:
    for entry in _entries(sources):
        given = entry.get("function")
        place = given.partition(":")[0] if isinstance(given, str) else ""
        if place.endswith(PYTHON) and "\0" not in place:
            yield place


def _entries(sources: Sources) -> Iterator[dict[str, Any]]:
    for file in (sources.find(CREW_FILE), sources.find(TOOLS_FILE)):
        data = read(file, sources.files[file]).data if file is not None else None
        entries = data.get("tools") if isinstance(data, dict) else None
        for entry in entries.values() if isinstance(entries, dict) else ():
            if isinstance(entry, dict):
                yield entry
