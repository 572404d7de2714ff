"""A file of another program, and what becomes of each part of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crew.config.files.document import YamlPath
from crew.config.files.yaml_reader import read
from tools.errors import ToolDefinitionError
from tools.schemas.yaml_shape import plain

Fate = Literal["taken", "changed", "left out"]
MAX_SHOWN = 120
# outside of texts: comments of JSON, and commas before a closing bracket
JSON_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|\t', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file, and what became of it."""

    file: str
    line: int
    what: str
    fate: Fate
    why: str = ""

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        return f"{self.file}:{self.line}: {self.fate}: {self.what}{why}"


class Foreign:
    """A file that was read, and the table of its parts."""

    def __init__(self, file: str, content: bytes) -> None:
        """Read YAML, JSON, or JSON with comments.

        Raises:
            ToolDefinitionError: it cannot be read; with the line.
        """
        self.file = file
        if content.lstrip()[:1] == b"{" or file.endswith((".json", ".jsonc")):
            content = _as_yaml(content.decode("utf-8", "replace")).encode()
        self._document = read(file, content)
        if self._document.problems:
            first = self._document.problems[0]
            raise ToolDefinitionError(f"{file}:{first.line}:{first.column}: {first.message}")
        self.data: dict[str, Any] = plain(self._document.data)
        self._fates: dict[YamlPath, tuple[Fate, str]] = {}

    @classmethod
    def at(cls, path: Path) -> "Foreign":
        """Return the file at a path; raises ToolDefinitionError."""
        try:
            return cls(path.name, path.read_bytes())
        except OSError as error:
            raise ToolDefinitionError(f"{path} cannot be read: {error.strerror}") from None

    def taken(self, *path: str | int) -> None:
        """Note that a part, with all below it that has no note, is in the crew as it was."""
        self._fates.setdefault(path, ("taken", ""))

    def changed(self, *path: str | int, why: str) -> None:
        """Note that a part is in the crew in another form."""
        self._fates[path] = "changed", why

    def left_out(self, *path: str | int, why: str) -> None:
        """Note that a part is not in the crew, with all below it, whatever was noted of that."""
        above = len(path)
        self._fates = {known: one for known, one in self._fates.items() if known[:above] != path}
        self._fates[path] = "left out", why

    def table(self) -> list[Part]:
        """Return what became of each part, in the order of the file; nothing is missing in it."""
        parts = [self._part(path, *fate) for path, fate in self._fates.items()]
        parts += [
            self._part(path, "left out", "crewline has nothing like it")
            for path in self._unsaid((), self.data)
        ]
        return sorted(parts, key=lambda part: part.line)

    def _unsaid(self, path: YamlPath, value: Any) -> list[YamlPath]:
        """Return the parts that nothing is said of, each as a whole where none below it is."""
        if path in self._fates:
            return []
        below = [known for known in self._fates if known[: len(path)] == path]
        if path and not below:
            return [path]
        items: Mapping[Any, Any] = value if isinstance(value, dict) else dict(enumerate(value))
        return [one for key, inner in items.items() for one in self._unsaid((*path, key), inner)]

    def _part(self, path: YamlPath, fate: Fate, why: str) -> Part:
        line, _ = self._document.key_at(path)
        what = ".".join(map(str, path))[:MAX_SHOWN]
        return Part(self.file, line, what, fate, why)


def mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is; empty where something else stands."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list as it is; empty where something else stands."""
    return value if isinstance(value, list) else []


def number_of(value: Any, least: float, most: float) -> int | float | None:
    """Return a number within bounds; None where something else stands."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if least <= value <= most else None


def line_of(text: Any) -> str:
    """Return a text on one line."""
    return " ".join(str(text).split())


def _as_yaml(text: str) -> str:
    """Return JSON, with comments or without, as YAML with the same lines."""

    def replaced(found: re.Match[str]) -> str:
        if found[0].startswith('"'):
            return found[0]
        return re.sub(r"[^\n]", " ", found[0])

    return JSON_TEXT.sub(replaced, text.removeprefix("\ufeff"))
