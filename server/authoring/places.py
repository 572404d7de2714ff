"""What stands at a place of a YAML file, also where the file is not finished; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crew.config.files.document import Document, YamlPath

DASHES = re.compile(r"^(?P<indent> *)(?P<dashes>(?:- +|-$)*)")
KEY = re.compile(
    r"(?P<quote>['\"]?)(?P<key>[^\s:#'\"\[\]{},][^:#'\"\[\]{},]*?)(?P=quote)\s*:(?=\s|$)"
)
BLOCK = re.compile(r":\s*[|>][+-]?\d*\s*(#.*)?$")
QUOTES = ("'", '"')


@dataclass(frozen=True, slots=True)
class CursorContext:
    """Where a cursor is, as far as the lines before it say."""

    # of the mapping or the list that it is in; a place in a list is 0
    path: YamlPath
    # it is behind this key, in its value; None: a key or an item may come
    key: str | None
    # what is written already, with its quote
    written: str
    # keys of the same mapping
    given: frozenset[str]
    # it may be an item of a list, and not a key
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class WordAt:
    """A scalar or a key: lines and columns count from 1, in code points."""

    path: YamlPath
    is_key: bool
    text: str
    line: int
    column: int

    @property
    def end(self) -> int:
        """The column behind it."""
        return self.column + len(self.text)


def token_at(document: Document, line: int, column: int) -> WordAt | None:
    """Return the key or the text at a place; None: there is none on one line."""
    lines = document.text.splitlines()
    candidates: list[WordAt] = []
    for is_key, places in ((True, document.keys), (False, document.values)):
        for path, (at, start) in places.items():
            if at != line or start > column or not path:
                continue
            token = token_of(document, path, lines, is_key=is_key)
            if token is not None and column <= token.end:
                candidates.append(token)
    return max(candidates, key=lambda one: one.column, default=None)


def token_of(
    document: Document, path: YamlPath, lines: Sequence[str], *, is_key: bool
) -> WordAt | None:
    """Return a key or a text by its path; None: it is neither, or not on one line."""
    line, column = (document.keys if is_key else document.values)[path]
    text = str(path[-1]) if is_key else _text_at(document, path)
    if text is None or line > len(lines):
        return None
    written = lines[line - 1][column - 1 :]
    if written[:1] in QUOTES:
        column, written = column + 1, written[1:]
    return WordAt(path, is_key, text, line, column) if written.startswith(text) else None


def _text_at(document: Document, path: YamlPath) -> str | None:
    data = document.data
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return str(data) if isinstance(data, str) and data else None


def context_at(text: str, line: int, column: int) -> CursorContext:
    """Return where a cursor is, from the lines up to it.

    Args:
        text: of the file, which may be unfinished.
        line: from 1.
        column: from 1; the cursor is before this character.
    """
    lines = text.split("\n")
    stack: list[tuple[int, str | int]] = []
    scalar_indent: int | None = None
    for one in lines[: line - 1]:
        one = one.rstrip("\r")
        content = one.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(one) - len(one.lstrip(" "))
        if scalar_indent is not None and indent > scalar_indent:
            continue
        scalar_indent = None
        _push(stack, one)
        if BLOCK.search(one):
            scalar_indent = stack[-1][0] if stack else 0
    current = lines[line - 1][: column - 1] if line <= len(lines) else ""
    flow = _open_flow(current)
    if flow is not None:
        return _in_flow(stack, current, flow)
    before = len(current) - len(current.lstrip(" "))
    if scalar_indent is not None and before > scalar_indent:
        # within a text of several lines
        return CursorContext(
            tuple(part for _, part in stack[:-1]), str(stack[-1][1]), "", frozenset()
        )
    found = DASHES.match(current)
    assert found is not None, "it matches any text"
    rest = current[found.end() :]
    if (key := KEY.match(rest)) is not None:
        _push(stack, current)
        path = tuple(part for _, part in stack[:-1])
        return CursorContext(path, key["key"], rest[key.end() :].lstrip(), frozenset())
    _push(stack, current[: found.end()])
    _pop(stack, found.end(), is_dash=False)
    path = tuple(part for _, part in stack)
    given = _given(lines, line, found.end())
    return CursorContext(path, None, rest.lstrip(), given, is_item=bool(found["dashes"]))


def _push(stack: list[tuple[int, str | int]], line: str) -> None:
    """Add what a line begins: items of lists, and a key."""
    found = DASHES.match(line)
    assert found is not None, "it matches any text"
    at = len(found["indent"])
    for dash in re.finditer(r"-(?: +|$)", found["dashes"]):
        _pop(stack, at + dash.start(), is_dash=True)
        stack.append((at + dash.start(), 0))
    if (key := KEY.match(line, found.end())) is not None:
        _pop(stack, found.end(), is_dash=False)
        stack.append((found.end(), key["key"]))


def _pop(stack: list[tuple[int, str | int]], indent: int, *, is_dash: bool) -> None:
    while stack and stack[-1][0] >= indent:
        if is_dash and stack[-1][0] == indent and isinstance(stack[-1][1], str):
            # a list may stand as far left as its key
            return
        stack.pop()


def _given(lines: Sequence[str], line: int, indent: int) -> frozenset[str]:
    """Return the keys of the mapping around a line, before and behind it."""
    found: set[str] = set()
    for step in (-1, 1):
        at = line - 1 + step
        while 0 <= at < len(lines):
            one = lines[at]
            dashes = DASHES.match(one)
            assert dashes is not None, "it matches any text"
            start = dashes.end()
            if one.strip() and not one.strip().startswith("#"):
                if start < indent or (start == indent and dashes["dashes"] and step == 1):
                    break
                if start == indent and (key := KEY.match(one, start)) is not None:
                    found.add(key["key"])
                if start == indent and dashes["dashes"]:
                    break
            at += step
    return frozenset(found)


def _open_flow(text: str) -> int | None:
    """Return where the last bracket stands that is not closed; None: there is none."""
    opened: list[int] = []
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in QUOTES:
            quote = character
        elif character == "#" and text[place - 1 : place] in ("", " "):
            break
        elif character in "[{":
            opened.append(place)
        elif character in "]}" and opened:
            opened.pop()
    return opened[-1] if opened else None


def _in_flow(stack: list[tuple[int, str | int]], text: str, place: int) -> CursorContext:
    _push(stack, text[:place])
    path = tuple(part for _, part in stack)
    outer = _open_flow(text[:place])
    if outer is not None:
        inside = text[outer + 1 : place].rpartition(",")[2]
        key = KEY.match(inside.strip())
        path = (*path, key["key"] if key is not None else 0)
    inner = text[place + 1 :]
    parts = inner.split(",")
    last = parts[-1].lstrip()
    if text[place] == "[":
        return CursorContext((*path, 0), None, last.lstrip(), frozenset(), is_item=True)
    given = frozenset(
        found["key"] for part in parts[:-1] if (found := KEY.match(part.strip())) is not None
    )
    if (key := KEY.match(last)) is not None:
        return CursorContext(path, key["key"], last[key.end() :].lstrip(), given)
    return CursorContext(path, None, last.lstrip(), given)
