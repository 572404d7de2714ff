"""Texts: as they are, Markdown, tables of values, JSON."""

import csv
import io
import re
import sys
from collections.abc import Iterable

from pydantic_core import from_json, to_json

from crew.documents.reading.kinds import encoding_of
from crew.documents.reading.marked import MarkedText, UnreadableFile

# code, which is shown as it is; or a comment. Behind a fence of backticks there is no other one:
# such a line is a span
COMMENT = re.compile(
    r"(?P<code>^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=fence)|\Z)"
    # a span of code ends with its paragraph
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)(?P=ticks)(?!`))"
    r"|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.MULTILINE,
)
# where several fit, a comma is of a text or a number
DELIMITERS = ";\t|,"
# of a table that is looked at to find what separates its values
SAMPLE = 20_000


def decode_text(data: bytes) -> str:
    """Return bytes as text: as their first bytes say, as UTF-8, else as Windows-1252."""
    encoding = encoding_of(data)
    for name in filter(None, (encoding, "utf-8-sig")):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            # a mark that says something else than what follows
            continue
    return data.decode("cp1252", errors="replace")


def read_plain(data: bytes, out: MarkedText) -> None:
    """Add a text as it is."""
    out.add(decode_text(data))


def read_markdown(data: bytes, out: MarkedText) -> None:
    """Add Markdown without comments, which no reader sees."""
    out.add(COMMENT.sub(lambda found: found["code"] or "", decode_text(data)))


def read_json_file(data: bytes, out: MarkedText) -> None:
    """Add JSON, a value on each line; raises UnreadableFile."""
    try:
        value = from_json(decode_text(data).encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise UnreadableFile(f"is no JSON: {error}") from error
    out.add(to_json(value, indent=1).decode())


def read_csv(data: bytes, out: MarkedText) -> None:
    """Add a table: each row on a line, with the names of its values; raises UnreadableFile.

    Nothing is evaluated: a formula is the text that it is.
    """
    text = decode_text(data)
    csv.field_size_limit(sys.maxsize)
    delimiter = _delimiter(text[:SAMPLE])
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=delimiter)
    try:
        add_rows(([str(one) for one in row] for row in rows), out)
    except csv.Error as error:
        raise UnreadableFile(f"is no table of values: {error}") from error


def _delimiter(sample: str) -> str:
    """Return what separates values: with it the most rows have as many of them as the first."""

    def fitting(delimiter: str) -> tuple[int, int]:
        lines = sample.replace("\0", "").splitlines(keepends=True)
        try:
            rows = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            return 0, 0
        values = rows[0] if rows else 0
        return (rows.count(values), values) if values > 1 else (0, 0)

    # of several the first
    return max(DELIMITERS, key=fitting)


def add_rows(rows: Iterable[list[str]], out: MarkedText, place: str = "") -> None:
    """Add the rows of a table, each with the names that the first one has."""
    names: list[str] | None = None
    for number, row in enumerate(rows, 1):
        values = [" ".join(one.split()) for one in row]
        if not any(values):
            continue
        out.mark(f"{place}, row {number}" if place else f"row {number}")
        if names is None:
            names = values
            out.add(f"{' | '.join(values)}\n")
            continue
        named = names + [""] * (len(values) - len(names))
        cells = (
            f"{name}: {value}" if name else value
            for name, value in zip(named, values, strict=False)
            if value
        )
        out.add(f"{' | '.join(cells)}\n")


def add_table(rows: Iterable[list[str]], out: MarkedText) -> None:
    """Add the rows of a table in a text, as Markdown has them."""
    for row in rows:
        values = [" ".join(one.split()) for one in row]
        if any(values):
            out.add(f"| {' | '.join(values)} |\n")
