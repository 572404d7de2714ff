"""Findings for the operator of the file."""

import shutil
from pathlib import Path

from crew.journal.records.rows import Finding

MOUNTS = Path("/proc/mounts")
# locks of files, on which everything rests, are not reliable there
NETWORK_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs"})
MIN_FREE_BYTES = 200_000_000


def examine(path: Path, check: str) -> list[Finding]:
    """Examine findings about a database file.

    Args:
        path: of the file.
        check: what SQLite says of it: "ok", or its first damage.
    """
    findings = [Finding("ok", f"{path} can be read and written")]
    if check != "ok":
        text = f"{path} is damaged ({check}): put a backup in its place"
        findings = [Finding("error", text)]
    system = _system_of(path.resolve())
    if system in NETWORK_SYSTEMS:
        text = (
            f"{path} is on a network file system ({system}), whose locks may fail: use a local disk"
        )
        findings.append(Finding("warning", text))
    free = shutil.disk_usage(path.parent).free
    if free < MIN_FREE_BYTES:
        text = f"the disk of {path} has {free // 1_000_000} MB left; runs wait when it is full"
        findings.append(Finding("warning", text))
    text = "SQLite is for one process; CREW_DATABASE_URL=postgresql://… is for several machines"
    return [*findings, Finding("note", text)]


def _system_of(path: Path) -> str:
    """Return the kind of file system that a path is on; "" where that is not known."""
    try:
        mounts = [line.split()[1:3] for line in MOUNTS.read_text().splitlines()]
    except OSError:
        return ""
    found = [mount for mount in mounts if path.is_relative_to(mount[0])]
    return max(found, key=lambda mount: len(mount[0]))[1] if found else ""
