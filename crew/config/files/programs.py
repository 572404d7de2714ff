"""The files that a crew uses and that are no part of its revision: Python, and pins of servers."""

import hashlib
from collections.abc import Iterator

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


def _python_files(sources: Sources) -> Iterator[str]:
    for file in (sources.find(CREW_FILE), sources.find(TOOLS_FILE)):
        data = read(file, sources.files[file]).data if file is not None else None
        entries = data.get("tools") if isinstance(data, dict) else None
        for entry in entries.values() if isinstance(entries, dict) else ():
            given = entry.get("function") if isinstance(entry, dict) else None
            place = given.partition(":")[0] if isinstance(given, str) else ""
            if place.endswith(PYTHON) and "\0" not in place:
                yield place
