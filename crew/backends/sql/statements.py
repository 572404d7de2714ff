"""One text of SQL for both databases, and what differs between them; pure.

A text is written for PostgreSQL; that for SQLite is made from it:

- `$1` is `?1`; the tables have no prefix `crew_`, nor has the function `crew_casefold`;
- there are no casts (`::text`), no collation `"C"`, which is its own, and no locks of rows
  (`FOR UPDATE`): one writer has the whole file;
- `= ANY($1)` takes a list as JSON; `strpos` is `instr`, `greatest` is `max`, `least` is
  `min`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from pydantic_core import to_json

CHANGES = (
    (re.compile(r"::\w+(?:\[\])?"), ""),
    (re.compile(r"\s+FOR UPDATE(?: SKIP LOCKED)?"), ""),
    (re.compile(r"= ANY\((\$\d+)\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(r"\$(\d+)"), r"?\1"),
    (re.compile(r"\bcrew_"), ""),
    (re.compile(r"\bstrpos\("), "instr("),
    (re.compile(r"\bgreatest\("), "max("),
    (re.compile(r"\bleast\("), "min("),
    (re.compile(r' COLLATE "C"'), ""),
)
# in JSON, where a backslash may itself be escaped
ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
NUL, REPLACEMENT = "\0", "\ufffd"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of both databases."""

    postgres: str
    sqlite: str


@lru_cache(1024)
def sql(text: str, sqlite: str | None = None) -> Statement:
    """Make a statement.

    Args:
        text: for PostgreSQL.
        sqlite: for SQLite, where it does not follow from that.
    """
    if sqlite is None:
        sqlite = text
        for pattern, other in CHANGES:
            sqlite = pattern.sub(other, sqlite)
    return Statement(text, sqlite)


@cache
def insert(table: str, columns: str, rows: int) -> Statement:
    """Make the statement that inserts so many rows, but those that are there already."""
    width = columns.count(",") + 1
    numbers = [range(first, first + width) for first in range(1, rows * width + 1, width)]
    values = ", ".join(f"({', '.join(f'${n}' for n in row)})" for row in numbers)
    return sql(f"INSERT INTO crew_{table} ({columns}) VALUES {values} ON CONFLICT DO NOTHING")  # noqa: S608 # names of ours


def postgres_values(values: Sequence[Any]) -> list[Any]:
    """Return values as PostgreSQL takes them: it has no NUL, which is replaced.

    Bytes are documents of which the database reads parts.
    """
    return [_without_nul(value) for value in values]


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(NUL, REPLACEMENT)
    if isinstance(value, bytes):
        return ESCAPED_NUL.sub(rf"\1{REPLACEMENT}", value.decode())
    return value


def sqlite_values(values: Sequence[Any]) -> list[Any]:
    """Return values as SQLite takes them: documents as text, lists as JSON."""
    return [_as_text(value) for value in values]


def _as_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return to_json(value).decode() if isinstance(value, list | tuple) else value
