"""The files of a crew as they were written: gathered from its folder, or kept with a run."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.providers.scripted import SCRIPT_FILE
from crew.config.problems import Problem
from crew.config.yaml_reader import MAX_BYTES

CREW_FILE = "crew.yaml"
TOOLS_FILE = "tools.yaml"
ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Sources:
    """A crew's files."""

    # the crew's folder, where Python tools lie
    folder: Path
    # by name relative to the folder, agents in the order of their names
    files: Mapping[str, bytes]
    # files that are there and cannot be read, among others
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def revision(self) -> str:
        """16 hex digits that follow from what the files say."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape") + content)
        return digest.hexdigest()[:16]

    def named(self, name: str) -> str | None:
        """The file of this name, whichever of the endings it has."""
        return next(
            (found for ending in ENDINGS if (found := Path(name).stem + ending) in self.files), None
        )

    @property
    def agents(self) -> list[str]:
        """The files of the agents."""
        return [name for name in self.files if name.startswith("agents/")]

    def packed(self) -> str:
        """The files as JSON; only those of a crew without errors, which are UTF-8."""
        return json.dumps(
            {name: content.decode() for name, content in self.files.items()}, ensure_ascii=False
        )

    @classmethod
    def unpacked(cls, folder: Path, text: str) -> "Sources":
        """What `packed` made."""
        return cls(folder, {name: content.encode() for name, content in json.loads(text).items()})


def gather(folder: Path) -> Sources:
    """Read the files of a crew's folder.

    At most MAX_BYTES + 1 of each, enough to see that it is too large.
    """
    problems: list[Problem] = []
    files: dict[str, bytes] = {}
    for path in _paths(folder, problems):
        name = path.relative_to(folder).as_posix()
        try:
            with path.open("rb") as file:
                files[name] = file.read(MAX_BYTES + 1)
        except OSError as error:
            problems.append(
                Problem(name, 1, 1, "unreadable", f"the file cannot be read: {error.strerror}")
            )
    if not any((folder / f"crew{ending}").is_file() for ending in ENDINGS):
        problems.append(Problem(CREW_FILE, 1, 1, "no-crew", _no_crew(folder)))
    return Sources(folder, files, tuple(problems))


def _paths(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    for name in (CREW_FILE, TOOLS_FILE, SCRIPT_FILE):
        found = [
            path for ending in ENDINGS if (path := folder / (Path(name).stem + ending)).is_file()
        ]
        yield from found[:1]
        problems += [
            Problem(
                path.name,
                1,
                1,
                "ignored-file",
                f"{found[0].name} is there too, and is the one that is read",
            )
            for path in found[1:]
        ]
    yield from sorted(
        path for path in (folder / "agents").glob("*") if path.suffix in ENDINGS and path.is_file()
    )


def _no_crew(folder: Path) -> str:
    if folder.is_dir():
        return f"there is no crew.yaml in {folder}; `crew init DIR` makes one"
    return (
        f"{folder} is a file; give its folder, {folder.parent}"
        if folder.exists()
        else f"there is no folder {folder}"
    )
