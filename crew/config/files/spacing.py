"""Spaces that are missing in YAML, or are none to it: where they stand, and what to do; pure."""

import re
import unicodedata
from collections.abc import Sequence

# looks like a space, and is a letter to YAML
ODD = "\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
ODD_SPACE = re.compile(f"[{ODD}]")
# before a key or an item, or behind its mark, where a space is meant
ODD_PLACE = re.compile(
    rf"^ *(?:- +)*(?:(?P<lead>[{ODD}])|-(?P<dash>[{ODD}])"
    rf"|[^\s#:'\"\[{{{ODD}][^#:'\"]*:(?P<behind>[{ODD}]))"
)
# as a keyboard for Chinese or Japanese has it
ODD_COLON = re.compile(r"^ *(?:- +)*[A-Za-z_][\w-]*\uff1a")
# a key of ours with its value right behind the colon; not the beginning of an address
NO_SPACE = re.compile(r"^ *(?:- +)*([A-Za-z_][\w-]*):(?=[^\s:/])")
# an item of a list without a space behind its dash; not a number, and not the mark of a document
NO_DASH_SPACE = re.compile(r"^ *-(?=[^\s\-.\d])")
# an item, or a key without a value, the start of a document: below it there may be items
ITEM_PLACE = re.compile(r"-|[^\s#:][^#:]*: *(?:#.*)?$")
# a key with its value, which has no further lines; and a key
WITH_VALUE = re.compile(r"^ *(?:- +)*(?P<key>[A-Za-z_][\w-]*) *: +[^\s|>#&!]")
ONLY_KEY = re.compile(r"^ *[A-Za-z_][\w-]* *(?=:(?:\s|$))")
# lines before a mistake that are looked at
MAX_LINES = 50
Found = tuple[int, int, str]


def odd_space(lines: Sequence[str], line: int) -> Found | None:
    """Find the nearest odd space at or before a line: its line, its column, and what to do."""
    for number in range(min(line, len(lines)), max(0, line - MAX_LINES), -1):
        found = ODD_PLACE.match(lines[number - 1])
        if found is not None:
            at = found.start(found.lastgroup or 0)
            return number, at + 1, use_a_space(lines[number - 1][at])
        if (found := ODD_COLON.match(lines[number - 1])) is not None:
            text = "U+FF1A (fullwidth colon) is none to YAML: write a colon and a space"
            return number, found.end(), text
    return None


def use_a_space(character: str) -> str:
    """Say what a character is that looks like a space, and what to do."""
    name = unicodedata.name(character, "").lower()
    code = f"U+{ord(character):04X}"
    return f"{code} ({name}) looks like a space and is none to YAML; use a space"


def missing_space(lines: Sequence[str], line: int) -> Found | None:
    """Find a key without a space behind its colon, in the lines up to one without a gap."""
    for number in range(min(line, len(lines)), max(0, line - MAX_LINES), -1):
        written = lines[number - 1]
        if not written.strip():
            return None
        if (found := NO_SPACE.match(written)) is not None:
            text = f"a space is missing behind {found[1]}:"
            return number, found.end() + 1, f"{text} write `{found[1]}: {written[found.end() :]}`"
    return None


def missing_dash_space(lines: Sequence[str], line: int) -> Found | None:
    """Find an item without a space behind its dash, on a line."""
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    found = NO_DASH_SPACE.match(written)
    if found is None or not _takes_items(lines[: line - 1], found.end() - 1):
        return None
    text = f"a space is missing behind -: write `- {written[found.end() :].rstrip()}`"
    return line, found.end() + 1, text


def _takes_items(above: Sequence[str], indent: int) -> bool:
    """Return whether an item with this indentation may stand below some lines.

    Else its dash goes on with a value that has begun there.
    """
    for written in reversed(above):
        begins = written.lstrip(" ")
        if begins.strip() and begins[0] != "#" and len(written) - len(begins) <= indent:
            return ITEM_PLACE.match(begins) is not None
    return True


def deeper_key(lines: Sequence[str], line: int, column: int) -> Found | None:
    """Find a key that is indented more than the one above it, which has its value.

    `column`: of the colon at which the parser stops.
    """
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    found = ONLY_KEY.match(written)
    if found is None or found.end() + 1 != column:
        return None
    above = (one for one in reversed(lines[: line - 1]) if one.strip() and one.strip()[0] != "#")
    if (before := WITH_VALUE.match(next(above, ""))) is None:
        return None
    indent, wanted = len(written) - len(written.lstrip()), before.start("key")
    if indent <= wanted:
        return None
    text = f"{before['key']} has its value already, so nothing can stand below it"
    remedy = f"begin this line right under {before['key']}, or put quotes around a text of both"
    return line, indent + 1, f"{text}: {remedy}"
