"""Other files of a crew, JSON or YAML -> plain data, within the limits of files."""

import json
from typing import Any

from crew.config.files.document import Document
from crew.config.files.yaml_reader import MAX_DEPTH, MAX_NODES, read, read_text
from tools.schemas.yaml_shape import resolve


def read_data(file: str, content: bytes) -> Document:
    """Read a file's bytes; what cannot be read is in `problems`, with `data` None."""
    if not file.endswith(".json"):
        document = read(file, content)
        document.data = resolve(document.data)
        return document
    document = read_text(file, content)
    if document.problems:
        return document
    try:
        document.data = json.loads(document.text)
    except json.JSONDecodeError as error:
        return document.refuse(error.lineno, error.colno, "syntax", f"no JSON: {error.msg}")
    except RecursionError:
        return _too_deep(document)
    return _bounded(document)


def _bounded(document: Document) -> Document:
    nodes, depth, level = 0, 0, [document.data]
    while level:
        depth, nodes = depth + 1, nodes + len(level)
        if depth > MAX_DEPTH:
            return _too_deep(document)
        if nodes > MAX_NODES:
            document.data = None
            text = f"more than {MAX_NODES:,} values"
            return document.refuse(1, 1, "too-many-nodes", text)
        level = [inner for one in level for inner in _inside(one)]
    return document


def _inside(value: Any) -> list[Any]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
        case _:
            return []


def _too_deep(document: Document) -> Document:
    document.data = None
    return document.refuse(1, 1, "too-deep", f"nested more than {MAX_DEPTH} deep")
