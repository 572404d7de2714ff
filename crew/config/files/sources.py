"""The files of a crew as they were written: read from its folder, or kept with a run."""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agents.costs.shape import PRICES_FILE
from agents.providers.scripted import SCRIPT_FILE
from crew.config.files.changes import Change
from crew.config.files.saving import finish_save
from crew.config.files.unread import unread_files
from crew.config.files.yaml_reader import MAX_BYTES, read
from crew.config.problems import Problem
from tools.config.openapi import DOCUMENT_ENDINGS
from tools.kinds.mcp.lock import LOCK_FILE

CREW_FILE = "crew.yaml"
TOOLS_FILE = "tools.yaml"
ENDINGS = (".yaml", ".yml")
# that may describe tools
CONFIGURED = frozenset({Path(CREW_FILE).stem, Path(TOOLS_FILE).stem})
# of the file of a vocabulary
MAX_VOCABULARY_BYTES = 16 * 2**20
# stands where a secret was
NOT_KEPT = "not-kept"


@dataclass(frozen=True, slots=True)
class Sources:
    """A crew's files."""

    # the crew's folder, which has the Python tools
    folder: Path
    # by name relative to the folder, agents in the order of their names
    files: Mapping[str, bytes]
    # files that cannot be read, among others
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    # values in place of those that are written
    changes: tuple[Change, ...] = ()

    @property
    def revision(self) -> str:
        """16 hex digits that follow from the files' contents."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            head = f"{name}\0{len(content)}\0".encode(errors="surrogateescape")
            digest.update(head + content)
        return digest.hexdigest()[:16]

    def without(self, secrets: Collection[str]) -> "Sources":
        """Return the files as they may be kept.

        With NOT_KEPT in place of secrets that stand in them.
        """
        files = dict(self.files)
        for name in files:
            for secret in secrets:
                files[name] = files[name].replace(secret.encode(), NOT_KEPT.encode())
        return Sources(self.folder, files)

    def find(self, name: str) -> str | None:
        """Find the file of this name, with either of the endings."""
        names = [Path(name).stem + ending for ending in ENDINGS]
        return next((found for found in names if found in self.files), None)

    @property
    def agents(self) -> list[str]:
        """The files of the agents."""
        names = (name for name in self.files if name.startswith("agents/"))
        return [name for name in names if name.endswith(ENDINGS)]

    def to_json(self) -> str:
        """Return the files as JSON; only for a crew without errors, so that they are UTF-8."""
        texts = {name: content.decode() for name, content in self.files.items()}
        return json.dumps(texts, ensure_ascii=False)

    @classmethod
    def from_json(cls, folder: Path, text: str) -> "Sources":
        """Return the inverse of `to_json`; raises ValueError."""
        return cls(folder, {name: content.encode() for name, content in json.loads(text).items()})


def read_sources(folder: Path) -> Sources:
    """Read a crew's files: at most MAX_BYTES + 1 of each, enough to see that one is too large."""
    problems: list[Problem] = []
    files: dict[str, bytes] = {}
    try:
        finish_save(folder)
    except OSError as error:
        text = f"a save that was interrupted cannot be finished: {error.strerror}"
        problems.append(Problem(CREW_FILE, 1, 1, "unreadable", text))
    if _is_there(folder) and folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
        text = f"the folder {folder} cannot be read: permission denied"
        return Sources(folder, files, (Problem(CREW_FILE, 1, 1, "unreadable", text),))
    for path in _paths(folder, problems):
        name = path.relative_to(folder).as_posix()
        if leads_outside(path, folder):
            # its lines would be shown beside its errors
            text = "it is a link to a file outside the crew's folder; put the file itself here"
            problems.append(Problem(name, 1, 1, "outside-folder", text))
            continue
        try:
            files[name] = _read_file(path)
        except OSError as error:
            text = f"the file cannot be read: {error.strerror}"
            problems.append(Problem(name, 1, 1, "unreadable", text))
    _read_named(folder, files)
    problems += unread_files(folder, (CREW_FILE, TOOLS_FILE, SCRIPT_FILE), ENDINGS, "agents")
    if not any(Path(name).stem == Path(CREW_FILE).stem for name in _top_names(files, problems)):
        problems.append(Problem(CREW_FILE, 1, 1, "no-crew", _no_crew(folder)))
    return Sources(folder, files, tuple(problems))


def drafted(sources: Sources, changed: Mapping[str, bytes], gone: Collection[str]) -> Sources:
    """Return a folder's files as they would be with some changed, new, or gone."""
    files = {name: content for name, content in sources.files.items() if name not in gone}
    files |= changed
    agents = sorted(name for name in files if name.startswith("agents/"))
    ordered = [*(name for name in files if name not in agents), *agents]
    files = {name: files[name] for name in ordered}
    _read_named(sources.folder, files, gone)
    return Sources(sources.folder, files, sources.problems)


def named_files(files: Mapping[str, bytes]) -> dict[str, int]:
    """Return the files that others name and that are not among them, and how much is read."""
    named = dict.fromkeys((*_documents(files), *_context_texts(files)), MAX_BYTES)
    return {**named, **dict.fromkeys(_word_files(files), MAX_VOCABULARY_BYTES)}


def is_hidden(name: str) -> bool:
    """Return whether a name has a part that begins with a dot: secrets and our own data have."""
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def why_not_read(name: str) -> str:
    """Return why a file that others name was not read."""
    if is_hidden(name):
        return f"{name} is hidden, and no such file is read; give it a name without a dot before it"
    return f"there is no file {name} in the crew's folder that can be read"


def _read_named(folder: Path, files: dict[str, bytes], gone: Collection[str] = ()) -> None:
    for name, most in named_files(files).items():
        # the loader says what is wrong with one that is not there
        with suppress(OSError, ValueError):
            path = folder / name
            # also over a link
            real = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
            is_kept = is_hidden(name) or is_hidden(real) or leads_outside(path, folder)
            if name not in gone and not is_kept:
                files[name] = _read_file(path, most)


def _top_names(files: Mapping[str, bytes], problems: Sequence[Problem]) -> list[str]:
    """Return the names of the files beside crew.yaml, also of those that cannot be read."""
    names = [*files, *(problem.file for problem in problems)]
    return [name for name in names if "/" not in name]


def _read_file(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return its first bytes, one more than may be read; raises OSError."""
    _require_file(path)
    with path.open("rb") as file:
        return file.read(max_bytes + 1)


def _documents(files: Mapping[str, bytes]) -> list[str]:
    """Return the OpenAPI documents that the files name."""
    found: dict[str, None] = {}
    for name, content in files.items():
        if Path(name).stem in CONFIGURED and b"openapi" in content:
            data = read(name, content).data
            entries = data.get("tools") if isinstance(data, dict) else None
            for entry in entries.values() if isinstance(entries, dict) else ():
                given = entry.get("document") if isinstance(entry, dict) else None
                if isinstance(given, str) and given.endswith(DOCUMENT_ENDINGS):
                    found[given] = None
    return [name for name in found if name not in files]


def _context_texts(files: Mapping[str, bytes]) -> list[str]:
    """Return the text files that blocks of `context` name."""
    found: dict[str, None] = {}
    for name, content in files.items():
        is_agent = name.startswith("agents/")
        if not (is_agent or Path(name).stem == Path(CREW_FILE).stem) or b"context" not in content:
            continue
        data = read(name, content).data
        context = data.get("context") if isinstance(data, dict) else None
        blocks = context.get("blocks") if isinstance(context, dict) else None
        for block in blocks if isinstance(blocks, list) else ():
            given = block.get("file") if isinstance(block, dict) else None
            if isinstance(given, str) and given:
                found[given] = None
    return [name for name in found if name not in files]


def _word_files(files: Mapping[str, bytes]) -> list[str]:
    """Return the files of the vocabularies that crew.yaml names."""
    found: dict[str, None] = {}
    for name, content in files.items():
        if Path(name).stem != Path(CREW_FILE).stem or b"vocabularies" not in content:
            continue
        data = read(name, content).data
        entries = data.get("vocabularies") if isinstance(data, dict) else None
        for entry in entries.values() if isinstance(entries, dict) else ():
            given = entry.get("file") if isinstance(entry, dict) else None
            if isinstance(given, str) and given:
                found[given] = None
    return [name for name in found if name not in files]


def _require_file(path: Path) -> None:
    """Refuse what is not a file; a device or a pipe might never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def _paths(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    yield from (folder / name for name in (LOCK_FILE, PRICES_FILE) if _is_there(folder / name))
    for name in (CREW_FILE, TOOLS_FILE, SCRIPT_FILE):
        candidates = [folder / (Path(name).stem + ending) for ending in ENDINGS]
        found = [path for path in candidates if _is_there(path)]
        yield from found[:1]
        for path in found[1:]:
            text = f"{found[0].name} is there too, and is the one that is read"
            problems.append(Problem(path.name, 1, 1, "ignored-file", text))
    agents = folder / "agents"
    if not _is_there(agents):
        return
    try:
        found = [path for path in agents.iterdir() if path.suffix in ENDINGS]
    except OSError as error:
        text = f"the folder cannot be read: {error.strerror}"
        problems.append(Problem("agents", 1, 1, "unreadable", text))
        return
    # editors keep copies under hidden names
    yield from sorted(path for path in found if not path.name.startswith("."))


def leads_outside(path: Path, folder: Path) -> bool:
    """Return whether a path ends outside a folder, over links or by its name."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath((real, root)) != root


def _is_there(path: Path) -> bool:
    """Return whether something has this name, or it cannot be known."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True


def _no_crew(folder: Path) -> str:
    if not _is_there(folder):
        return f"there is no folder {folder}"
    if folder.is_dir():
        return f"there is no crew.yaml in {folder}; `crew init DIR` makes one"
    return f"{folder} is a file; give its folder, {folder.parent}"
