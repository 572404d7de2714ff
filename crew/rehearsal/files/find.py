"""The files of a crew's rehearsals."""

import errno
from pathlib import Path

from crew.config.files.document import Document
from crew.config.files.sources import ENDINGS
from crew.config.files.yaml_reader import MAX_BYTES, read
from crew.config.problems import Problem

FOLDER = "tests"
# of the defaults of all files
CREW_WIDE = frozenset(f"{FOLDER}/defaults{ending}" for ending in ENDINGS)


def rehearsal_files(folder: Path) -> list[str]:
    """Return the names of a crew's files of rehearsals, relative to its folder, in order."""
    found = (path for path in (folder / FOLDER).rglob("*") if path.suffix in ENDINGS)
    return sorted(path.relative_to(folder).as_posix() for path in found if not path.is_dir())


def _leads_outside(path: Path, folder: Path) -> bool:
    return not path.resolve().is_relative_to(folder.resolve())


def read_rehearsal_file(folder: Path, name: str) -> Document:
    """Read one; what cannot be read is in its `problems`."""
    document, path = Document(name, ""), folder / name
    if _leads_outside(path, folder):
        text = "it is a link to a file outside the crew's folder; put the file itself here"
        document.problems.append(Problem(name, 1, 1, "outside-folder", text))
        return document
    try:
        if path.exists() and not path.is_file():
            # a pipe might never end
            raise OSError(errno.EINVAL, "it is not a regular file")
        with path.open("rb") as file:
            return read(name, file.read(MAX_BYTES + 1))
    except OSError as error:
        text = f"the file cannot be read: {error.strerror}"
        document.problems.append(Problem(name, 1, 1, "unreadable", text))
        return document
