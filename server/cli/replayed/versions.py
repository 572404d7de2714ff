"""A version of a crew: a folder, a git reference, or a revision that a run was started with."""

import contextlib
import io
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from crew.config.files.sources import Sources, read_sources
from crew.journal.store import RunStore
from server.cli.exits import fail

REVISION = re.compile(r"[0-9a-f]{16}")
# of what git prints of a mistake
MAX_CHARS = 300


class UnknownVersion(ValueError):
    """A name is of no version."""


@contextlib.contextmanager
def opened_version(name: str, folder: Path) -> Iterator[Sources]:
    """Read the files of a folder or a git reference; what git has is there as long as the block.

    Args:
        name: a folder, or a reference of the repository that the crew's folder is in.
        folder: the crew's.

    Raises:
        UnknownVersion: it is neither.
    """
    if Path(name).is_dir():
        yield read_sources(Path(name))
        return
    with tempfile.TemporaryDirectory(prefix="crew-") as made:
        _extract(name, folder, Path(made))
        yield read_sources(Path(made))


def _extract(name: str, folder: Path, into: Path) -> None:
    if name.startswith("-"):
        raise UnknownVersion(f"{name!r} is no folder and no git reference")
    try:
        archived = subprocess.run(
            ["git", "-C", str(folder), "archive", "--format=tar", name, "."],  # noqa: S607
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UnknownVersion(f"{name!r} is no folder, and git does not run: {error}") from None
    if archived.returncode:
        why = " ".join(archived.stderr.decode(errors="replace").split())[:MAX_CHARS]
        raise UnknownVersion(f"{name!r} is no folder and no git reference: {why}")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
        files.extractall(into, filter="data")


async def revision_of(name: str, folder: Path, store: RunStore | None) -> Sources | None:
    """Return the files of a revision that the store has; None: it is the name of none."""
    if store is None or not REVISION.fullmatch(name):
        return None
    files = await store.revisions.files(name)
    if files is None:
        return None
    try:
        return Sources.from_json(folder, files)
    except ValueError:
        fail(f"the store has no readable files of revision {name}")
