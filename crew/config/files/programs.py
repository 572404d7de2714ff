"""The programs that files of a crew name; Python and pins are no part of a revision."""

import hashlib
import os
from collections.abc import Iterator
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
        given = [entry.get(key) for key in ("argv", "args", "command")]
        words = [one for value in given for one in (value if isinstance(value, list) else [value])]
        for word in words:
            if isinstance(word, str) and word and "\0" not in word:
                path = os.path.relpath(os.path.normpath(folder / word), folder)
                found.add(Path(path).as_posix())
    return found


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
