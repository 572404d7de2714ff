"""Files of a crew as they would be: which may be changed, and with which secrets."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.costs.shape import PRICES_FILE
from agents.providers.scripted import SCRIPT_FILE
from crew.config.errors import ConfigurationError
from crew.config.files.masking import Mask, hidden, put_back, unchanged
from crew.config.files.programs import PYTHON, is_run, run_files
from crew.config.files.sources import CREW_FILE, TOOLS_FILE, Sources, drafted, named_files
from crew.config.files.yaml_reader import read_text
from crew.config.problems import Problem
from server.editing.errors import WrongFile
from tools.kinds.mcp.lock import LOCK_FILE

# are written by commands, not by hand
NOT_EDITED = frozenset({LOCK_FILE, PRICES_FILE})
KINDS = re.compile(
    "|".join(
        (
            *(rf"{Path(name).stem}\.ya?ml" for name in (CREW_FILE, TOOLS_FILE, SCRIPT_FILE)),
            r"agents/[^/.][^/]*\.ya?ml",
        )
    )
)
TESTS = "tests"
TWINS = {".yaml": ".yml", ".yml": ".yaml"}
# of files that the crew's own name, and that are read as texts: all else may be a program
TEXTS = frozenset({".md", ".txt", ".csv", ".json", ".yaml", ".yml"})
# of a path: what no name of a file of a crew has
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|%]")
MAX_PATH = 200


@dataclass(frozen=True, slots=True)
class FilesDraft:
    """Files that are not written yet."""

    sources: Sources
    # by name, with their secrets
    changed: Mapping[str, bytes]
    gone: frozenset[str]
    # secrets that are nowhere to be found
    problems: Sequence[Problem]

    def require_secrets(self) -> None:
        """Raise ConfigurationError where a secret is not known."""
        if self.problems:
            texts = {name: content.decode() for name, content in self.changed.items()}
            raise ConfigurationError(self.problems, texts)


def shown_files(sources: Sources) -> dict[str, str]:
    """Return the texts of the files that people edit, without their secrets."""
    texts = {}
    for name, content in sources.files.items():
        document = read_text(name, content)
        if name not in NOT_EDITED and not document.problems:
            texts[name] = hidden(name, document.text)
    return texts


def make_draft(
    present: Sources, files: Mapping[str, str], gone: Collection[str], mask: Mask = unchanged
) -> FilesDraft:
    """Return the files of a folder with other ones in their place.

    Args:
        present: as they are.
        files: texts by name; their secrets may be stand-ins.
        gone: names of files to delete.
        mask: what was hidden, beside those, when the files were shown.

    Raises:
        WrongFile: one may not be changed, or is not there.
    """
    for name in gone:
        if name not in present.files:
            raise WrongFile(name, "there is no such file, so it cannot be deleted")
        if name in files:
            raise WrongFile(name, "is to be written and deleted")
    for name in (*files, *gone):
        _check_name(name, present)
    for name in files:
        # of two files that differ in their ending one is read
        path = Path(name)
        twin = str(path.with_suffix(TWINS.get(path.suffix, path.suffix)))
        if name not in present.files and twin in present.files and twin not in gone:
            raise WrongFile(name, f"would not be read beside {twin}")
    changed, problems = {}, []
    for name, text in files.items():
        was = read_text(name, present.files.get(name, b"")).text
        restored, unknown = put_back(name, text, was, mask)
        problems += unknown
        content = restored.encode()
        if content != present.files.get(name):
            changed[name] = content
    sources = drafted(present, changed, gone)
    if sources.find(CREW_FILE) is None:
        raise WrongFile(CREW_FILE, "no crew is without it")
    _require_texts(present, sources, changed, gone)
    return FilesDraft(sources, changed, frozenset(gone), problems)


def _require_texts(
    present: Sources, sources: Sources, changed: Collection[str], gone: Collection[str]
) -> None:
    """Raise WrongFile for files that the crew does not read as texts, or that its tools use.

    Args:
        present: the files as they are.
        sources: as they would be.
        changed: names of files that are written.
        gone: names of files that are deleted.
    """
    programs = run_files(present) | run_files(sources)
    for name in gone:
        if not KINDS.fullmatch(name) and is_run(name, programs):
            raise WrongFile(name, "is changed on the machine only")
    for name in changed:
        if KINDS.fullmatch(name):
            continue
        others = {one: content for one, content in sources.files.items() if one != name}
        if name not in named_files(others):
            raise WrongFile(name, "the crew reads no such file; it reads agents/NAME.yaml")
        if Path(name).suffix.lower() not in TEXTS or is_run(name, programs):
            raise WrongFile(name, "is changed on the machine only")


def rolled_back(present: Sources, earlier: Sources) -> FilesDraft:
    """Return the files of a folder with an earlier revision in their place."""
    files = shown_files(earlier)
    gone = [one for one in present.files if KINDS.fullmatch(one) and one not in files]
    return make_draft(present, files, gone)


def _check_name(name: str, present: Sources) -> None:
    """Raise WrongFile unless a name is one of a file that may be changed."""
    parts = name.split("/")
    if len(name) > MAX_PATH or FORBIDDEN.search(name) or not name.strip():
        raise WrongFile(name[:MAX_PATH], "is no name of a file of a crew")
    if any(not part or part.startswith(".") or part != part.strip() for part in parts):
        raise WrongFile(name, "is not below the crew's folder, or is hidden")
    if parts[0] == TESTS:
        # they may call real tools
        raise WrongFile(name, "is a rehearsal: they are changed on the machine only")
    if name in NOT_EDITED or Path(name).suffix.lower() == PYTHON:
        raise WrongFile(name, "is changed on the machine only")
    place = present.folder
    for part in parts:
        place = _below(place, part, name)
    if place.exists() and not place.is_file():
        raise WrongFile(name, "is no file")
    if any(one.casefold() == name.casefold() and one != name for one in present.files):
        raise WrongFile(name, "differs from another file only in upper and lower case")


def _below(folder: Path, part: str, name: str) -> Path:
    """Return what has a name in a folder; raises WrongFile for a link, or the twin of a name."""
    place = folder / part
    if place.is_symlink():
        raise WrongFile(name, "leads over a link")
    if folder.is_dir():
        for one in (found.name for found in folder.iterdir()):
            if one != part and one.casefold() == part.casefold():
                raise WrongFile(name, f"{one} is there, which differs only in upper and lower case")
    return place
