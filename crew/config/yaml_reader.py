"""One YAML text -> plain data, the place of every key and value, and what is wrong with it.

Safe on any input.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from crew.config.problems import Code, Problem
from tools.config import Plain
from tools.schema import nearest

MAX_BYTES = 2**20
MAX_NODES = 100_000
# the C loader ends the process on very deep nesting, so depth is looked at first
MAX_DEPTH = 64
# what plain YAML has, whether written or resolved; everything else would build objects
TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
)
NULLS = frozenset({"", "~", "null", "Null", "NULL"})

Path = tuple[str | int, ...]
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Document:
    """A file that was read."""

    file: str
    text: str
    data: Any = None
    # line and column, from 1, of the value and of the key at a path
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # how many names may still be compared to find what was meant; a hostile file has tens of
    # thousands of mistakes
    comparisons: int = 10_000

    def value_at(self, path: Path) -> tuple[int, int]:
        """Where the value at a path is, or the nearest one above it that is there."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, (1, 1))

    def key_at(self, path: Path) -> tuple[int, int]:
        """Where the key at a path is, else its value."""
        return self.keys.get(path) or self.value_at(path)

    def near(self, word: str, known: Collection[str]) -> str | None:
        """The known name that a word of this file was probably meant to be."""
        self.comparisons -= len(known)
        return nearest(word, known) if self.comparisons > 0 else None

    def problem(
        self,
        path: Path,
        code: Code,
        message: str,
        *,
        key: bool = False,
        suggestion: str | None = None,
    ) -> Problem:
        """A problem of this file at a path: at its value, or at its key."""
        line, column = self.key_at(path) if key else self.value_at(path)
        return Problem(self.file, line, column, code, message, suggestion)


def read(file: str, content: bytes) -> Document:
    """Read a file's bytes; what cannot be read is told in `problems`, with `data` None."""
    document = Document(file, "")
    if len(content) > MAX_BYTES:
        return _refuse(
            document,
            1,
            1,
            "too-large",
            f"the file has more than {MAX_BYTES:,} bytes, the most that are read",
        )
    try:
        document.text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig").split("\n")
        wrong = f"the byte 0x{content[error.start]:02x} is no UTF-8 text; save the file as UTF-8"
        return _refuse(document, len(before), len(before[-1]) + 1, "not-utf8", wrong)
    try:
        _look_ahead(document.text)
        node = yaml.compose(document.text, Loader)
    except (_TooDeep, _TooMany) as error:
        return _refused(document, error)
    except yaml.MarkedYAMLError as error:
        # a quote that is never closed is found where it opens, not at the end of the file
        unclosed = error.problem is not None and "unexpected end of stream" in error.problem
        mark = (
            error.context_mark
            if unclosed and error.context_mark
            else error.problem_mark or error.context_mark
        )
        line, column = _place(mark)
        return _refuse(document, line, column, "syntax", _plainly(error, document.text, line))
    except yaml.reader.ReaderError as error:
        return _refuse(
            document,
            *_character(document.text),
            "syntax",
            f"a character that YAML does not allow: {error.reason}",
        )
    except yaml.YAMLError as error:
        return _refuse(document, 1, 1, "syntax", " ".join(str(error).split()))
    if node is None:
        return _refuse(document, 1, 1, "empty", "the file is empty")
    walk = _Walk(document)
    try:
        document.data = walk.value(node, (), ())
    except (_TooDeep, _TooMany) as error:
        return _refused(document, error)
    if not isinstance(document.data, dict):
        document.data = None
        if not document.problems:
            _refuse(
                document, 1, 1, "not-a-mapping", "the file must hold `key: value` lines at the top"
            )
    return document


class _TooDeep(Exception):
    pass


class _TooMany(Exception):
    pass


def _look_ahead(text: str) -> None:
    """Refuse what would take too much to read, before it is."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader):
        nodes += isinstance(event, yaml.NodeEvent)
        # of every value there is at most one key
        if nodes > 2 * MAX_NODES:
            raise _TooMany(*_place(event.start_mark))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _TooDeep(*_place(event.start_mark))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _character(text: str) -> tuple[int, int]:
    """The place of the first character that YAML does not allow."""
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    before = text[: found.start() if found else 0].splitlines() or [""]
    return len(before), len(before[-1]) + 1


def _refused(document: Document, error: _TooDeep | _TooMany) -> Document:
    line, column = error.args
    if isinstance(error, _TooDeep):
        return _refuse(document, line, column, "too-deep", f"nested more than {MAX_DEPTH} deep")
    return _refuse(
        document,
        line,
        column,
        "too-many-nodes",
        f"more than {MAX_NODES:,} values after aliases are followed",
    )


def _refuse(document: Document, line: int, column: int, code: Code, message: str) -> Document:
    document.problems.append(Problem(document.file, line, column, code, message))
    return document


def _plainly(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    """The parser's words, and what usually helps."""
    said = ": ".join(part for part in (error.context, error.problem) if part)
    lines = text.splitlines()
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())] or "'\\t'" in said:
        return f"{said}; indent with spaces, not tabs"
    if "unexpected end of stream" in said and "quoted" in said:
        return "the quote that opens here is never closed"
    if "did not find expected" in said and error.context_mark is not None:
        began = error.context_mark.line + 1
        return f"{said}; a line between {began} and {line} is indented otherwise than its neighbours, or lacks the space after '-'"
    if "mapping values are not allowed" in said:
        return f"{said}; put quotes around a text that holds ': '"
    return said


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _start(node: yaml.Node) -> tuple[int, int]:
    return _place(node.start_mark)


class _Walk:
    """Builds the data from the nodes, with their places."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def value(self, node: yaml.Node, path: Path, above: tuple[yaml.Node, ...]) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _TooMany(*_start(node))
        self.document.values[path] = _start(node)
        if len(above) > MAX_DEPTH:
            # deeper than the text: by aliases
            raise _TooDeep(*_start(node))
        if node.tag not in TAGS:
            return self._problem(
                node,
                "tag",
                f"the tag {node.tag} is not read; write plain text, numbers, lists and mappings",
            )
        if any(node is one for one in above):
            return self._problem(node, "recursive-alias", "an alias points at what it is part of")
        match node:
            case yaml.ScalarNode():
                return self._scalar(node)
            case yaml.SequenceNode():
                return [
                    self.value(item, (*path, place), (*above, node))
                    for place, item in enumerate(node.value)
                ]
            case yaml.MappingNode():
                return self._mapping(node, path, above)
        return self._problem(node, "syntax", "this is neither text, list nor mapping")

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        # the C loader says "" of a plain scalar, the Python one None
        if node.style:
            return node.value
        return None if node.value in NULLS else Plain(node.value)

    def _mapping(
        self, node: yaml.MappingNode, path: Path, above: tuple[yaml.Node, ...]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        seen: set[str] = set()
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._problem(key_node, "key", "a key must be a text")
                continue
            key = key_node.value
            if key == "<<" and not key_node.style:
                for source in self._merge_sources(value_node, (*above, node)):
                    for name, value in self._mapping(source, path, (*above, node)).items():
                        merged.setdefault(name, value)
                continue
            if key in seen:
                self._problem(key_node, "duplicate-key", f"the key {key!r} stands here twice")
                continue
            seen.add(key)
            self.document.keys[(*path, key)] = _start(key_node)
            out[key] = self.value(value_node, (*path, key), (*above, node))
        # the places of merged keys that are overridden here were overwritten above, unless the
        # merge came later
        for key in seen & merged.keys():
            self._place_again(node, key, path)
        return {**merged, **out}

    def _place_again(self, node: yaml.MappingNode, key: str, path: Path) -> None:
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == key:
                self.document.keys[(*path, key)], self.document.values[(*path, key)] = (
                    _start(key_node),
                    _start(value_node),
                )

    def _merge_sources(
        self, node: yaml.Node, above: tuple[yaml.Node, ...]
    ) -> Iterator[yaml.MappingNode]:
        found = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in found:
            self.nodes += 1
            if self.nodes > MAX_NODES:
                raise _TooMany(*_start(source))
            if any(source is one for one in above):
                self._problem(source, "recursive-alias", "<< merges a mapping into itself")
            elif isinstance(source, yaml.MappingNode):
                yield source
            else:
                self._problem(source, "merge", "<< takes a mapping, or a list of them")

    def _problem(self, node: yaml.Node, code: Code, message: str) -> None:
        line, column = _start(node)
        _refuse(self.document, line, column, code, message)
