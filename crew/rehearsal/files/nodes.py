"""Values of YAML files with their places: they are merged and filled in, and keep them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crew.config.files.document import Document, YamlPath
from tools.schemas.yaml_shape import Plain

VARIABLE = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value: a mapping of nodes, a list of nodes, or a scalar."""

    value: Any
    place: Place
    # of its key, where it has one
    key_place: Place
    # it comes from defaults: nothing says that it must be used
    is_default: bool = False

    def plain(self) -> Any:
        """Return the value without places."""
        match self.value:
            case dict() as found:
                return {key: inner.plain() for key, inner in found.items()}
            case list() as found:
                return [inner.plain() for inner in found]
            case value:
                return value

    def find(self, path: YamlPath) -> "Node | None":
        """Find what is at a path; None where nothing is."""
        node = self
        for part in path:
            inner: Any = node.value
            is_place = isinstance(inner, list) and isinstance(part, int) and part < len(inner)
            if not is_place and not (isinstance(inner, dict) and part in inner):
                return None
            node = inner[part]
        return node

    def nearest(self, path: YamlPath) -> "Node":
        """Return what is at a path, or the nearest above it that is there."""
        while (found := self.find(path)) is None:
            path = path[:-1]
        return found


def node_of(document: Document, path: YamlPath = (), *, is_default: bool = False) -> Node:
    """Return what is at a path of a document that was read, with places."""
    value: Any = document.data
    for part in path:
        value = value[part]
    return _node(document, value, path, is_default=is_default)


def _node(document: Document, value: Any, path: YamlPath, *, is_default: bool) -> Node:
    place = Place(document.file, *document.value_at(path))
    key_place = Place(document.file, *document.key_at(path))
    if isinstance(value, dict):
        value = {
            key: _node(document, inner, (*path, key), is_default=is_default)
            for key, inner in value.items()
        }
    elif isinstance(value, list):
        value = [
            _node(document, inner, (*path, number), is_default=is_default)
            for number, inner in enumerate(value)
        ]
    return Node(value, place, key_place, is_default)


def merged(base: Node, over: Node) -> Node:
    """Return one value over another: mappings are merged, all else is replaced."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    known: dict[str, Node] = dict(base.value)
    for key, node in over.value.items():
        known[key] = merged(known[key], node) if key in known else node
    return Node(known, over.place, over.key_place, over.is_default)


def substituted(node: Node, values: Mapping[str, Any], used: set[str]) -> Node:
    """Return a value with `<<variable>>` replaced in its texts.

    Args:
        node: the value.
        values: by variable.
        used: gets the variables that stand in it.
    """
    match node.value:
        case dict() as found:
            inner: Any = {
                _fill(key, values, used): substituted(one, values, used)
                for key, one in found.items()
            }
        case list() as found:
            inner = [substituted(one, values, used) for one in found]
        case str() as text:
            inner = _fill(text, values, used)
        case other:
            inner = other
    return Node(inner, node.place, node.key_place, node.is_default)


def _fill(text: str, values: Mapping[str, Any], used: set[str]) -> Any:
    if "<<" not in text:
        return text
    whole = VARIABLE.fullmatch(text)
    if whole is not None and whole[1] in values:
        used.add(whole[1])
        return values[whole[1]]

    def replacement(found: re.Match[str]) -> str:
        used.add(found[1])
        return str(values[found[1]]) if found[1] in values else found[0]

    kind = Plain if isinstance(text, Plain) else str
    return kind(VARIABLE.sub(replacement, text))


def variables_in(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the variables in the texts of a value, each with the text."""
    match node.value:
        case dict() as found:
            for key, inner in found.items():
                yield from ((one, inner) for one in VARIABLE.findall(key))
                yield from variables_in(inner)
        case list() as found:
            for inner in found:
                yield from variables_in(inner)
        case str() as text:
            yield from ((one, node) for one in VARIABLE.findall(text))


@dataclass(slots=True)
class NodeDocument(Document):
    """A value that was merged of several files, as a document that can be bound."""

    node: Node | None = field(default=None)

    @classmethod
    def of(cls, node: Node) -> "NodeDocument":
        """Return the document of a value."""
        return cls(node.place.file, "", node.plain(), node=node)

    def key_at(self, path: YamlPath) -> tuple[int, int]:
        """See Document; the file may be another one, which `place` names."""
        assert self.node is not None, "made by `of`"
        place = self.node.nearest(path).key_place
        return place.line, place.column

    def place(self, path: YamlPath, *, key: bool) -> tuple[str, int, int]:
        """See Document."""
        assert self.node is not None, "made by `of`"
        found = self.node.nearest(self.as_written(path))
        place = found.key_place if key else found.place
        return place.file, place.line, place.column
