"""One YAML text -> plain data with the place of every key and value; safe on any input."""

import codecs
from collections.abc import Iterator
from typing import Any

import yaml

from crew.config.files.document import Document, YamlPath
from crew.config.files.spacing import ODD_SPACE, use_a_space
from crew.config.files.syntax import explain_syntax
from crew.config.problems import ProblemCode, RelatedPlace
from tools.schemas.yaml_shape import Plain

MAX_BYTES = 2**20
MAX_NODES = 100_000
# the C loader ends the process on very deep nesting, so the depth is checked first
MAX_DEPTH = 64
# what plain YAML has, whether written or resolved; everything else would build objects
TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge", "seq", "map")
)
# a limit of libyaml's own (1,000, since PyYAML 6.0.4); it reads ahead of our check
NESTED_TOO_DEEP = "exceeded maximum nesting depth"
NULLS = frozenset({"", "~", "null", "Null", "NULL"})

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TooLarge(Exception):
    """A text nests too deep or has too many values; the problem is at a place."""

    def __init__(self, mark: Any, code: ProblemCode, message: str) -> None:
        super().__init__(message)
        self.place, self.code = _place(mark), code


def _too_deep(mark: Any) -> _TooLarge:
    return _TooLarge(mark, "too-deep", f"nested more than {MAX_DEPTH} deep")


def _too_many(mark: Any) -> _TooLarge:
    text = f"more than {MAX_NODES:,} values after aliases are followed"
    return _TooLarge(mark, "too-many-nodes", text)


def read(file: str, content: bytes) -> Document:
    """Read a file's bytes; what cannot be read is in `problems`, with `data` None."""
    document = read_text(file, content)
    if document.problems:
        return document
    try:
        _check_size(document.text)
        node = yaml.compose(document.text, Loader)
        if node is None:
            return document.refuse(1, 1, "empty", "the file is empty")
        document.data = _Walk(document).value(node, (), ())
    except _TooLarge as error:
        document.data = None
        return document.refuse(*error.place, error.code, str(error))
    except yaml.YAMLError as error:
        return _refuse_syntax(document, error)
    if not isinstance(document.data, dict):
        document.data = None
        if not document.problems:
            text = "the file must hold `key: value` lines at the top"
            document.refuse(1, 1, "not-a-mapping", text)
    return document


def read_text(file: str, content: bytes, max_bytes: int = MAX_BYTES) -> Document:
    """Read a file's text; without data, and with the problem where it cannot be read."""
    document = Document(file, "")
    if len(content) > max_bytes:
        text = f"the file has more than {max_bytes:,} bytes, the most that are read"
        return document.refuse(1, 1, "too-large", text)
    try:
        document.text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _refuse_bytes(document, content, error)
    return document


def _refuse_bytes(document: Document, content: bytes, error: UnicodeDecodeError) -> Document:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return document.refuse(1, 1, "not-utf8", "the file is UTF-16; save it as UTF-8")
    # the error counts from behind the byte order mark
    start = error.start + len(codecs.BOM_UTF8) * content.startswith(codecs.BOM_UTF8)
    before = content[:start].decode("utf-8-sig").split("\n")
    text = f"the byte 0x{content[start]:02x} is no UTF-8 text; save the file as UTF-8"
    return document.refuse(len(before), len(before[-1]) + 1, "not-utf8", text)


def _refuse_syntax(document: Document, error: yaml.YAMLError) -> Document:
    if isinstance(error, yaml.reader.ReaderError):
        line, column = _forbidden_character(document.text)
        text = f"a character that YAML does not allow: {error.reason}"
        return document.refuse(line, column, "syntax", text)
    if not isinstance(error, yaml.MarkedYAMLError):
        return document.refuse(1, 1, "syntax", " ".join(str(error).split()))
    mark = error.problem_mark or error.context_mark
    if error.problem == NESTED_TOO_DEEP:
        too_deep = _too_deep(mark)
        return document.refuse(*too_deep.place, too_deep.code, str(too_deep))
    line, column, text = explain_syntax(error, document.text)
    return document.refuse(line, column, "syntax", text)


def _check_size(text: str) -> None:
    """Refuse what would take too much to read, before it is."""
    depth = nodes = 0
    for event in yaml.parse(text, Loader):
        nodes += isinstance(event, yaml.NodeEvent)
        # of every value there is at most one key
        if nodes > 2 * MAX_NODES:
            raise _too_many(event.start_mark)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(event.start_mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _forbidden_character(text: str) -> tuple[int, int]:
    """Return the place of the first character that YAML does not allow."""
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    before = text[: found.start() if found else 0].split("\n")
    return len(before), len(before[-1]) + 1


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


class _Walk:
    """Builds the data from the nodes, with their places."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def value(self, node: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]) -> Any:
        self._count(node)
        self.document.values[path] = _place(node.start_mark)
        if len(above) > MAX_DEPTH:
            # deeper than the text: by aliases
            raise _too_deep(node.start_mark)
        if node.tag not in TAGS:
            # read as if it had none
            text = f"the tag {node.tag} is not read; write plain text, numbers, lists and mappings"
            self._refuse(node, "tag", text)
        if any(node is one for one in above):
            text = "an alias points at what it is part of"
            return self._refuse(node, "recursive-alias", text, path)
        inner = (*above, node)
        match node:
            case yaml.ScalarNode():
                return self._scalar(node)
            case yaml.SequenceNode():
                items = enumerate(node.value)
                return [self.value(item, (*path, place), inner) for place, item in items]
            case yaml.MappingNode():
                return self._mapping(node, path, above)
        return self._refuse(node, "syntax", "this is neither text, list nor mapping", path)

    def _count(self, node: yaml.Node) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _too_many(node.start_mark)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        # the style of a plain scalar is "" in the C loader, None in the Python one
        if node.style:
            return node.value
        return None if node.value in NULLS else Plain(node.value)

    def _mapping(
        self, node: yaml.MappingNode, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, tuple[int, int]] = {}
        inner = (*above, node)
        if len(inner) > MAX_DEPTH:
            # deeper than the text: by merges
            raise _too_deep(node.start_mark)
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                hint = "; put quotes around a text that begins with {{"
                is_place = isinstance(key_node, yaml.MappingNode)
                text = f"a key must be a text{hint if is_place else ''}"
                self._refuse(key_node, "key", text, path)
                continue
            key = self._without_odd_spaces(key_node)
            if key == "<<" and not key_node.style:
                if key in first:
                    text = "duplicate key '<<'; write `<<: [*a, *b]`"
                    self._refuse_twice(key_node, text, (*path, key), first[key])
                    continue
                first[key] = _place(key_node.start_mark)
                for source in self._merge_sources(value_node, path, inner):
                    for name, value in self._mapping(source, path, inner).items():
                        merged.setdefault(name, value)
                continue
            if key in first:
                text = f"duplicate key {key!r}"
                self._refuse_twice(key_node, text, (*path, key), first[key])
                continue
            first[key] = self.document.keys[(*path, key)] = _place(key_node.start_mark)
            out[key] = self.value(value_node, (*path, key), inner)
        # the places of merged keys that are overridden here were overwritten above, unless the
        # merge came later
        for key in first.keys() & merged.keys():
            self._restore_place(node, key, path)
        return {**merged, **out}

    def _without_odd_spaces(self, node: yaml.ScalarNode) -> str:
        """Return the name of a key.

        A space around it that is none to YAML is a mistake of its own.
        """
        key: str = node.value
        if node.style or not (found := ODD_SPACE.search(key)):
            return key
        plain = ODD_SPACE.sub(" ", key).strip()
        if len(plain) == len(key):
            # within the name
            return key
        line, column = _place(node.start_mark)
        text = use_a_space(found[0])
        self.document.refuse(line, column + found.start(), "syntax", text)
        return plain

    def _restore_place(self, node: yaml.MappingNode, key: str, path: YamlPath) -> None:
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == key:
                self.document.keys[(*path, key)] = _place(key_node.start_mark)
                self.document.values[(*path, key)] = _place(value_node.start_mark)

    def _merge_sources(
        self, node: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> Iterator[yaml.MappingNode]:
        found = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in found:
            self._count(source)
            if any(source is one for one in above):
                text = "<< merges a mapping into itself"
                self._refuse(source, "recursive-alias", text, path)
            elif isinstance(source, yaml.MappingNode):
                yield source
            else:
                self._refuse(source, "merge", "<< takes a mapping, or a list of them", path)

    def _refuse(
        self, node: yaml.Node, code: ProblemCode, message: str, left_out: YamlPath | None = None
    ) -> None:
        """Add a problem; `left_out`: the path at which something is missing from the data now."""
        self.document.refuse(*_place(node.start_mark), code, message)
        if left_out is not None:
            self.document.wrong.add(left_out)

    def _refuse_twice(
        self, node: yaml.Node, message: str, path: YamlPath, first: tuple[int, int]
    ) -> None:
        text = f"{message}; first at line {first[0]}"
        related = [RelatedPlace(self.document.file, *first, "it is given here first")]
        self.document.refuse(*_place(node.start_mark), "duplicate-key", text, related)
        self.document.wrong.add(path)
