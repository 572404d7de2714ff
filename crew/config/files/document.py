"""A YAML file that was read: its data, the place of every key and value, and its problems."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from crew.config.problems import Problem, ProblemCode, RelatedPlace
from tools.text.suggest import nearest

YamlPath = tuple[str | int, ...]


@dataclass(slots=True)
class Document:
    """A file that was read."""

    file: str
    text: str
    # as written; None where nothing could be read
    data: Any = None
    # line and column, from 1, of the value and of the key at a path
    values: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)
    keys: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # lists from which wrong items were left out: where each item that is left was written
    kept_items: dict[YamlPath, list[int]] = field(default_factory=dict)
    # the paths at which something was left out while it was read; () where nothing could be read
    wrong: set[YamlPath] = field(default_factory=set)
    # how many names may still be compared to find what was meant; a hostile file has tens of
    # thousands of mistakes
    comparisons: int = 10_000

    def as_written(self, path: YamlPath) -> YamlPath:
        """Return a path in the bound data as a path in the file."""
        written: YamlPath = ()
        for part in path:
            kept = self.kept_items.get(written)
            if kept is not None and isinstance(part, int) and part < len(kept):
                part = kept[part]
            written = (*written, part)
        return written

    def value_at(self, path: YamlPath) -> tuple[int, int]:
        """Return where the value at a path is, or the nearest one above it that is there."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, (1, 1))

    def key_at(self, path: YamlPath) -> tuple[int, int]:
        """Return where the key at a path is, else its value."""
        return self.keys.get(path) or self.value_at(path)

    def near(self, word: str, known: Collection[str]) -> str | None:
        """Return the known name that a word of this file was probably meant to be."""
        self.comparisons -= len(known)
        return nearest(word, known) if self.comparisons > 0 else None

    def problem(
        self,
        path: YamlPath,
        code: ProblemCode,
        message: str,
        *,
        key: bool = False,
        suggestion: str | None = None,
        related: Sequence[RelatedPlace] = (),
    ) -> Problem:
        """Return a problem of this file at a path of its bound data.

        At the value, or at the key.
        """
        place = self.place(path, key=key)
        return Problem(*place, code, message, suggestion, tuple(related))

    def related(self, path: YamlPath, text: str, *, key: bool = False) -> RelatedPlace:
        """Return a place that a problem has to do with, and what stands there."""
        return RelatedPlace(*self.place(path, key=key), text)

    def refuse(
        self,
        line: int,
        column: int,
        code: ProblemCode,
        message: str,
        related: Sequence[RelatedPlace] = (),
    ) -> "Document":
        """Add a problem at a place."""
        place = line, column
        self.problems.append(Problem(self.file, *place, code, message, related=tuple(related)))
        return self

    def place(self, path: YamlPath, *, key: bool) -> tuple[str, int, int]:
        """Return the file, line and column of what stands at a path of the bound data."""
        written = self.as_written(path)
        return self.file, *(self.key_at(written) if key else self.value_at(written))
