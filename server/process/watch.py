"""Watches a crew's folder and has it read again after each change of what its files say."""

import asyncio
import hashlib
import logging
import os
from pathlib import Path

from watchfiles import Change, awatch

from crew.config.sources import gather
from crew.errors import ConfigurationError, Draining
from crew.runs.reload import Reloader

log = logging.getLogger(__name__)

# how often the files are looked at even if nothing is told of them: network folders tell of nothing
LOOK_MILLIS = 5000


async def watch(reloader: Reloader) -> None:
    """Reload after changes, until this is cancelled."""
    folder = reloader.runs.crew.sources.folder.resolve()

    def counts(_: Change, path: str) -> bool:
        # no filter by file name: a folder that Kubernetes mounts is changed by one link of another
        # name
        return not any(_unwatched(part) for part in Path(path).relative_to(folder).parts[:-1])

    seen = await asyncio.to_thread(_fingerprint, folder)
    if gather(folder).revision != reloader.runs.crew.revision:
        # edited since it was loaded
        seen = ""
    async for _ in awatch(
        folder, watch_filter=counts, rust_timeout=LOOK_MILLIS, yield_on_timeout=True
    ):
        if (found := await asyncio.to_thread(_fingerprint, folder)) == seen:
            continue
        seen = found
        try:
            await reloader.reload("the files have changed")
        except (ConfigurationError, Draining):
            # told; the next change may mend it
            continue
        except Exception:
            # whatever a tool's file does, the next edit must be seen
            log.exception("the crew's files could not be read again")


def _unwatched(folder: str) -> bool:
    """Folders of tools: the store's own, which changes all the time, caches, environments."""
    return (folder.startswith(".") and not folder.startswith("..")) or folder in (
        "__pycache__",
        "node_modules",
    )


def _fingerprint(folder: Path) -> str:
    """What the crew's files say, and which Python files are there, as of when."""
    digest = hashlib.sha256(gather(folder).revision.encode())
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _unwatched(name))
        for path in sorted(Path(parent) / name for name in files if name.endswith(".py")):
            try:
                found = path.stat()
            except OSError:
                # gone since it was listed
                continue
            digest.update(
                f"{path}\0{found.st_mtime_ns}\0{found.st_size}\0{found.st_ino}\0".encode(
                    errors="surrogateescape"
                )
            )
    return digest.hexdigest()
