"""Vocabularies: texts that are known, each with one spelling."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tools.text.folding import fold
from tools.text.suggest import nearest

OnUnknown = Literal["drop", "keep", "fail"]
MAX_ENTRIES = 200_000


class VocabularyError(Exception):
    """The file of a vocabulary is wrong."""

    def __init__(
        self, text: str, line: int = 1, key: str = "", suggestion: str | None = None
    ) -> None:
        """Build the error.

        Args:
            text: for people.
            line: of the file.
            key: of the entry in crew.yaml that is wrong instead; "" for the file.
            suggestion: what the key was probably meant to be.
        """
        super().__init__(text)
        self.line, self.key, self.suggestion = line, key, suggestion


class AliasTwiceError(VocabularyError):
    """A text means two values."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The texts of one file."""

    name: str
    # the spelling of the file, by each folded value and alias
    spellings: Mapping[str, str]
    on_unknown: OnUnknown = "drop"

    def find(self, text: str) -> str | None:
        """Find the file's spelling of a text; None for an unknown one."""
        return self.spellings.get(fold(text))


def read_vocabulary(
    text: str, *, is_csv: bool, column: str | None, aliases: Sequence[str]
) -> dict[str, str]:
    """Read the spellings of a file.

    Args:
        text: of the file; without columns each line is a value.
        is_csv: it has columns, with their names in its first line.
        column: of the values.
        aliases: columns with other texts for the values.

    Raises:
        AliasTwiceError: a text means two values.
        VocabularyError: it has no such column, nothing in it, or too much.
    """
    rows = _rows(text, column, aliases) if is_csv else _lines(text)
    spellings: dict[str, str] = {}
    others: list[tuple[int, str, str]] = []
    for line, value, more in rows:
        if not value:
            continue
        spellings.setdefault(fold(value), value)
        others += [(line, alias, spellings[fold(value)]) for alias in more if alias]
        if len(spellings) + len(others) > MAX_ENTRIES:
            raise VocabularyError(f"more than {MAX_ENTRIES:,} entries", line)
    if not spellings:
        raise VocabularyError("there is no value in it")
    for line, alias, value in others:
        known = spellings.setdefault(fold(alias), value)
        if known != value:
            text = f"{alias!r} means {known} already, and {value} here; remove one"
            raise AliasTwiceError(text, line)
    return spellings


def _lines(text: str) -> list[tuple[int, str, Sequence[str]]]:
    return [(number, line.strip(), ()) for number, line in enumerate(text.splitlines(), 1)]


def _rows(
    text: str, column: str | None, aliases: Sequence[str]
) -> list[tuple[int, str, Sequence[str]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        for key, wanted in (("column", column), *(("aliases", one) for one in aliases)):
            if wanted not in names:
                near = nearest(str(wanted), names)
                listed = ", ".join(names)
                raise VocabularyError(
                    f"the file has no column {wanted!r}; its columns: {listed}", 1, key, near
                )
        return [
            (
                reader.line_num,
                (row.get(str(column)) or "").strip(),
                [(row.get(alias) or "").strip() for alias in aliases],
            )
            for row in reader
        ]
    except csv.Error as error:
        raise VocabularyError(f"no CSV: {error}", reader.line_num or 1) from None
