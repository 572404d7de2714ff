"""Files that are nearly named as those that are read."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from crew.config.problems import Problem

# entries of a folder that are looked at
MAX_ENTRIES = 1000
# what editors and downloads put behind a name
ADDED = ".txt"


def unread_files(
    folder: Path, names: Sequence[str], endings: Sequence[str], agents: str
) -> Iterator[Problem]:
    """Yield a warning for each file or folder that is not read since its name is another one.

    Args:
        folder: the crew's.
        names: the files of a crew that are read.
        endings: what they may end with.
        agents: the folder of the agents.
    """
    found = _entries(folder)
    missing = [
        name for name in names if not any((folder / _ending(name, one)).exists() for one in endings)
    ]
    for name in found:
        plain = name.lower().removesuffix(ADDED)
        meant = next((one for one in missing if _is_near(plain, one, endings)), None)
        if meant is not None and (folder / name).is_file():
            yield _problem(name, meant)
    if not (folder / agents).exists():
        for name in found:
            if _bare(name.lower()) == _bare(agents) and (folder / name).is_dir():
                yield _problem(name, agents)
    for name in _entries(folder / agents):
        plain = name.lower().removesuffix(ADDED)
        # hidden ones are copies of editors
        is_read = name.startswith(".") or name.endswith(tuple(endings))
        if not is_read and plain.endswith(tuple(endings)):
            yield _problem(f"{agents}/{name}", f"{name[: len(Path(plain).stem)]}{endings[0]}")


def _entries(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(one.name for one in islice(entries, MAX_ENTRIES))
    except OSError:
        # that it cannot be read is said elsewhere
        return []


def _ending(name: str, ending: str) -> str:
    return Path(name).stem + ending


def _is_near(plain: str, name: str, endings: Sequence[str]) -> bool:
    """Return whether a name in small letters differs in its case, ending or plural alone."""
    return plain.endswith(tuple(endings)) and _bare(Path(plain).stem) == _bare(Path(name).stem)


def _bare(stem: str) -> str:
    return stem.removesuffix("s")


def _problem(name: str, meant: str) -> Problem:
    text = f"it is not read: its name is not {meant}; rename it"
    return Problem(name, 1, 1, "ignored-file", text)
