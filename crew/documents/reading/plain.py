"""Texts: as they are, Markdown, tables of values, JSON."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from pydantic_core import from_json, to_json

from crew.documents.reading.kinds import encoding_of, has_wrong_mark
from crew.documents.reading.marked import MarkedText, UnreadableFile

# code, which is shown as it is; or a comment. Behind a fence of backticks there is no other one:
# such a line is a span
HIDES = r"(?:display\s*:\s*none|visibility\s*:\s*hidden)"
QUOTED = (('"', '[^"]'), ("'", "[^']"), ("", "[^\\s\"'<>]"))
COMMENT = re.compile(
    r"(?P<code>^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*\n.*?(?:^ {0,3}(?P=fence)|\Z)"
    # a span of code ends with its paragraph
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)*?(?<!`)(?P=ticks)(?!`))"
    r"|<!--.*?(?:-->|\Z)"
    # a definition of a link, maybe with its title, and nothing else
    r"|^ {0,3}\[(?P<defined>[^\]\n]{1,999})\]:[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$"
    # an element with the attribute `hidden`, or a style that hides it; the lengths are bounded, or
    # many marks that are none would take long
    r"|<(?P<tag>[a-z][a-z0-9]*)(?:\s+[^\s\"'<>/=]{1,50}(?:\s*=\s*(?:\"[^\"]{0,2000}\"|'[^']{0,2000}'"
    r"|[^\s\"'<>=]{1,2000}))?){0,20}?\s+(?:hidden(?=[\s=/>])|style\s*=\s*(?:"
    + "|".join(rf"{quote}{one}{{0,300}}?{HIDES}{one}{{0,2000}}{quote}" for quote, one in QUOTED)
    + r"))(?:\"[^\"]{0,2000}\"|'[^']{0,2000}'|[^\"'<>]){0,2000}+>"
    + r"(?:.{0,20000}?</(?P=tag)>|.{0,20000})",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
# what a page means by the name of an encoding
WIDER = {
    **dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "latin-1", "l1", "us-ascii"), "cp1252"),
    **dict.fromkeys(("ascii", "ansi_x3.4-1968", "x-cp1252"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk", "chinese"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji"), "cp932"),
    **dict.fromkeys(("windows-31j", "ms932"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "ksc5601", "korean", "windows-949"), "cp949"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-9", "latin5"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "windows-874", "dos-874"), "cp874"),
    **dict.fromkeys(("iso-8859-8-i", "logical"), "iso-8859-8"),
}
# a link by a name, which is not the definition of that
LABEL = re.compile(r"\[(?P<label>[^\]\n]{1,999})\](?!:)")
# where several fit, a comma is of a text or a number
DELIMITERS = ";\t|,"
# of a table that is looked at to find what separates its values
SAMPLE = 20_000
SEPARATOR = re.compile(r"\Asep=.?\r?\n", re.IGNORECASE)
# characters that the names of a table add to each of its rows: of many long ones, the beginnings
MAX_NAMES, LEAST_NAME = 1000, 6


def decode_text(data: bytes, out: MarkedText | None = None) -> str:
    """Return bytes as text: as their first bytes say, as UTF-8, else as Windows-1252.

    `out`: gets a note where nothing says that it is the last one, or where the mark is wrong.
    """
    if has_wrong_mark(data):
        data = data[2:]
        if out is not None:
            out.note("its mark says UTF-16, and it is UTF-8: it was read as that")
    encoding = encoding_of(data)
    for name in filter(None, (encoding, "utf-8-sig")):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            # a mark that says something else than what follows
            continue
    if out is not None:
        out.note("no mark of its encoding and no UTF-8: it was read as Windows-1252")
    return data.decode("cp1252", errors="replace")


def decode_as(data: bytes, label: str) -> str:
    """Return bytes as text by the name that they are given, as browsers read it.

    Names of narrow encodings mean the wider ones of Windows (https://encoding.spec.whatwg.org).
    What is not so encoded, or by no name that is known, is read by its bytes; see `decode_text`.
    """
    name = label.strip().lower()
    for encoding in (WIDER.get(name, name), "utf-8"):
        with suppress(UnicodeError, LookupError):
            return data.decode(encoding)
    try:
        # one wrong byte does not make a text of another encoding
        return data.decode(WIDER.get(name, name), "replace")
    except (UnicodeError, LookupError):
        return decode_text(data)


def read_plain(data: bytes, out: MarkedText) -> None:
    """Add a text as it is."""
    out.add(decode_text(data, out))


def read_markdown(data: bytes, out: MarkedText) -> None:
    """Add Markdown without what no reader sees.

    Comments, definitions of links that no link has, and elements of HTML that are hidden.
    """
    text = decode_text(data, out)
    used = {one["label"].casefold() for one in LABEL.finditer(text)}

    def shown(found: re.Match[str]) -> str:
        if found["defined"] and found["defined"].casefold() in used:
            return found[0]
        return found["code"] or ""

    out.add(COMMENT.sub(shown, text))


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
    # how spreadsheets say what separates the values
    text = SEPARATOR.sub("", decode_text(data, out))
    csv.field_size_limit(sys.maxsize)
    delimiter = _delimiter(text[:SAMPLE])
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=delimiter)
    try:
        add_rows(([str(one) for one in row] for row in rows), out)
    except csv.Error as error:
        raise UnreadableFile(f"is no table of values: {error}") from error


def _delimiter(sample: str) -> str:
    """Return what separates values: with it the most rows have as many of them as each other."""

    def fitting(delimiter: str) -> tuple[int, int]:
        lines = sample.replace("\0", "").splitlines(keepends=True)
        try:
            rows = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            return 0, 0
        # titles may stand above a table, and sums below
        several = Counter(one for one in rows if one > 1)
        return max(((count, values) for values, count in several.items()), default=(0, 0))

    # of several the first
    return max(DELIMITERS, key=fitting)


def add_rows(rows: Iterable[list[str]], out: MarkedText, place: str = "") -> None:
    """Add the rows of a table, each with the names that the first one of several values has."""
    names: list[str] | None = None
    for number, row in enumerate(rows, 1):
        values = [" ".join(one.split()) for one in row]
        if not any(values):
            continue
        out.mark(f"{place}, row {number}" if place else f"row {number}")
        if names is None:
            # what stands alone in its row is a title, or the table has one column
            if sum(map(bool, values)) > 1:
                names = _short(values)
            out.add(f"{' | '.join(values).rstrip(' |')}\n")
            continue
        named = names + [""] * (len(values) - len(names))
        cells = (
            f"{name}: {value}" if name else value
            for name, value in zip(named, values, strict=False)
            if value
        )
        out.add(f"{' | '.join(cells)}\n")


def _short(names: list[str]) -> list[str]:
    """Return the names of a table's columns as each row repeats them."""
    if sum(map(len, names)) <= MAX_NAMES:
        return names
    most = max(LEAST_NAME, MAX_NAMES // len(names))
    return [one if len(one) <= most else f"{one[: most - 1].rstrip()}…" for one in names]


def add_table(rows: Iterable[list[str]], out: MarkedText) -> None:
    """Add the rows of a table in a text, as Markdown has them."""
    for row in rows:
        values = [" ".join(one.split()) for one in row]
        if any(values):
            out.add(f"| {' | '.join(values)} |\n")
