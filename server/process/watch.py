"""Watches a crew's folder, and has the files read again after each change."""

import asyncio
import hashlib
import logging
import os
from pathlib import Path

from watchfiles import Change, awatch

from crew.config.errors import ConfigurationError
from crew.config.files.sources import read_sources
from crew.runs.errors import Draining
from crew.runs.upkeep.reload import Reloader

log = logging.getLogger(__name__)

# how often the files are compared even without a notice: network folders send none
LOOK_MILLIS = 5000
UNWATCHED = frozenset({"__pycache__", "node_modules"})


async def watch(reloader: Reloader) -> None:
    """Reload after changes, until this is cancelled."""
    folder = reloader.runs.crew.sources.folder.resolve()

    def is_watched(_: Change, path: str) -> bool:
        # no filter by file name: Kubernetes changes a mounted folder by one link of another name
        folders = Path(path).relative_to(folder).parts[:-1]
        return not any(is_unwatched(part) for part in folders)

    seen = await asyncio.to_thread(_fingerprint, folder)
    if read_sources(folder).revision != reloader.runs.crew.revision:
        # edited since it was loaded
        seen = ""
    changes = awatch(
        folder, watch_filter=is_watched, rust_timeout=LOOK_MILLIS, yield_on_timeout=True
    )
    async for _ in changes:
        found = await asyncio.to_thread(_fingerprint, folder)
        if found == seen:
            continue
        seen = found
        try:
            await reloader.reload("the files have changed")
        except (ConfigurationError, Draining):
            # logged; the next change may fix it
            continue
        except Exception:
            # whatever a tool's file does, the next edit must be noticed
            log.exception("the crew's files could not be read again")


def is_unwatched(folder: str) -> bool:
    """Return whether it is a folder of tools: the store's, caches, environments."""
    is_hidden = folder.startswith(".") and not folder.startswith("..")
    return is_hidden or folder in UNWATCHED


def _fingerprint(folder: Path) -> str:
    """Return of the crew's files and of its Python files: their contents, or when they changed."""
    digest = hashlib.sha256(read_sources(folder).revision.encode())
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_unwatched(name))
        for name in sorted(files):
            if name.endswith(".py"):
                digest.update(_state_of(Path(parent) / name))
    return digest.hexdigest()


def _state_of(path: Path) -> bytes:
    try:
        found = path.stat()
    except OSError:
        # deleted since it was listed
        return b""
    state = f"{path}\0{found.st_mtime_ns}\0{found.st_size}\0{found.st_ino}\0"
    return state.encode(errors="surrogateescape")
