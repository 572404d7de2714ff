"""The files of the crew's folder that a collection names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# entries that are looked at, of all patterns of a collection
MAX_ENTRIES = 50_000


class FilesRefused(Exception):
    """Patterns that name nothing that may be read."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a collection."""

    # below the crew's folder, with /
    name: str
    path: Path
    size: int


def find_files(folder: Path, patterns: Sequence[str]) -> list[FoundFile]:
    """Return the files that patterns name, each once, by their names.

    What begins with a dot is left out, and so is a link that leads out of the folder.

    Args:
        folder: the crew's.
        patterns: as `Path.glob` has them, relative to it.

    Raises:
        FilesRefused: a pattern is none of this folder, or names too much.
    """
    root = folder.resolve()
    found: dict[str, FoundFile] = {}
    for path in _matches(folder, patterns):
        name = path.relative_to(folder).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        try:
            real = path.resolve(strict=True)
            if not real.is_relative_to(root) or not real.is_file():
                continue
            found[name] = FoundFile(name, real, real.stat().st_size)
        except OSError:
            # it is gone, or may not be read
            continue
    return [found[name] for name in sorted(found)]


def _matches(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    looked_at = 0
    for pattern in patterns:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            text = f"{pattern} leads out of the crew's folder; put the files there"
            raise FilesRefused(text)
        try:
            for path in folder.glob(pattern):
                looked_at += 1
                if looked_at > MAX_ENTRIES:
                    raise FilesRefused(f"{pattern} names more than {MAX_ENTRIES} files")
                yield path
        except (ValueError, NotImplementedError) as error:
            raise FilesRefused(f"{pattern} is no pattern of files: {error}") from error
