"""What stands at a place of a YAML file, also where the file is not finished; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from crew.config.files.document import Document, YamlPath

DASHES = re.compile(r"^(?P<indent> *)(?P<dashes>(?:- +|-$)*)")
KEY = re.compile(
    r"(?P<quote>['\"]?)(?P<key>[^\s:#'\"\[\]{},][^:#'\"\[\]{},]*?)(?P=quote)\s*:(?=\s|$)"
)
BLOCK = re.compile(r":\s*[|>][+-]?\d*\s*(#.*)?$")
QUOTES = ("'", '"')
BRACKETS = frozenset("[]{}")
# behind this a value begins
NODE = re.compile(r"(^|:|(^|\s)-|(^|\s)[&!]\S*)$")
# what is written in quotes: a bracket would begin a list
QUOTED = re.compile(r"[\[\]{}:#,&*!|>'\"%@`]")


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
    # in brackets
    is_flow: bool = False


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
    flow: _Flow | None = None
    for one in lines[: line - 1]:
        one = one.rstrip("\r")
        content = one.strip()
        if not content or content.startswith("#"):
            continue
        indent = len(one) - len(one.lstrip(" "))
        if scalar_indent is not None and indent > scalar_indent:
            continue
        scalar_indent = None
        if flow is None or not flow.goes_on(one):
            # brackets that are not closed end where a line stands too far left
            _push(stack, one)
            flow = _Flow(indent)
        if BLOCK.search(one):
            scalar_indent = stack[-1][0] if stack else 0
        elif flow.is_open or not BRACKETS.isdisjoint(one):
            flow.read(one)
        if not flow.is_open:
            flow = None
    current = lines[line - 1][: column - 1] if line <= len(lines) else ""
    before = len(current) - len(current.lstrip(" "))
    if scalar_indent is not None and before > scalar_indent:
        # within a text of several lines
        path = tuple(part for _, part in stack[:-1])
        within = str(stack[-1][1]) if stack else ""
        return CursorContext(path, within, current.lstrip(), frozenset())
    if flow is None or not flow.goes_on(current):
        flow = _Flow(before)
    begins_here = not flow.is_open
    flow.read(current)
    if flow.is_open:
        if begins_here:
            _push(stack, current)
        return flow.context(tuple(part for _, part in stack))
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


class _Flow:
    """Lists and mappings in brackets, as far as they are written."""

    def __init__(self, indent: int) -> None:
        """`indent`: of the line on which they begin."""
        self.indent = indent
        # those that are not closed; the first is what stands before all brackets
        self.opened: list[_Bracket] = [_Bracket("")]
        self._quote = ""

    @property
    def is_open(self) -> bool:
        """Whether a bracket is not closed."""
        return len(self.opened) > 1

    def goes_on(self, line: str) -> bool:
        """Return whether a line may be part of it: further to the right, or a closing bracket."""
        content = line.strip()
        return not content or content[0] in "]}" or len(line) - len(line.lstrip(" ")) > self.indent

    def read(self, line: str) -> None:
        """Read a line."""
        for place, character in enumerate(line):
            now = self.opened[-1]
            before = now.item.strip()
            if self._quote:
                self._quote = "" if character == self._quote else self._quote
            elif character in QUOTES and NODE.search(before):
                self._quote = character
            elif character == "#" and line[place - 1 : place] in ("", " "):
                break
            elif character in "[{" and NODE.search(before):
                self.opened.append(_Bracket(character))
                continue
            elif character in "]}" and self.is_open:
                self.opened.pop()
                continue
            elif character == "," and self.is_open:
                now.end_item()
                continue
            now.item += character
        self.opened[-1].item += " "

    def context(self, above: YamlPath) -> CursorContext:
        """Return where its end is; `above`: the path of the outermost bracket."""
        path = above
        for outer in self.opened[1:-1]:
            path = (*path, outer.key if outer.key is not None else 0)
        last = self.opened[-1]
        written = last.item.lstrip()
        if last.opening == "[":
            return CursorContext((*path, 0), None, written, frozenset(), is_item=True, is_flow=True)
        given = frozenset(last.given)
        if (key := KEY.match(written)) is not None:
            written = written[key.end() :].lstrip()
            return CursorContext(path, key["key"], written, given, is_flow=True)
        return CursorContext(path, None, written, given, is_flow=True)


@dataclass(slots=True)
class _Bracket:
    """A bracket that is not closed."""

    opening: str
    # what is written of the item, or of the key and its value, that is not ended
    item: str = ""
    # keys of those that are ended
    given: set[str] = field(default_factory=set)

    @property
    def key(self) -> str | None:
        found = KEY.match(self.item.strip())
        return found["key"] if found is not None else None

    def end_item(self) -> None:
        if self.key is not None:
            self.given.add(self.key)
        self.item = ""
