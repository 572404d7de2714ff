"""Files and Python functions that a crew's YAML names: where they are. No file is imported."""

import ast
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from server.authoring.folders import CrewView
from server.authoring.places import token_at

# a larger file is not looked into
MAX_PYTHON_BYTES = 1_000_000


class FilePlace(NamedTuple):
    """A place in a file; line and column count from 1."""

    path: Path
    line: int
    column: int


def file_at(view: CrewView, file: str, line: int, column: int) -> FilePlace | None:
    """Return what the value at a place names: a file of the crew's folder, or a function.

    None: it names neither. What a link leads to outside of the folder is not looked at.
    """
    document = view.document(file)
    token = token_at(document, line, column) if document is not None else None
    if token is None or token.is_key:
        return None
    if token.path[-1] == "function":
        return _function(view.folder, token.text)
    # a rehearsal names files beside it
    for folder in (view.folder, (view.folder / file).parent):
        if (path := _inside(view.folder, folder / token.text)) is not None:
            return FilePlace(path, 1, 1)
    return None


def _inside(folder: Path, path: Path) -> Path | None:
    """Return the file that a path leads to; None: there is none in the folder."""
    try:
        found = path.resolve()
        return found if found.is_file() and found.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError):
        # a loop of links, a name that is too long or has a zero byte
        return None


def _function(folder: Path, reference: str) -> FilePlace | None:
    """Return where a function is made, by `file.py:name` or `package.module:name`."""
    place, _, name = reference.rpartition(":")
    path = _inside(folder, folder / place) if place.endswith(".py") else _module_file(place)
    if path is None:
        return None
    return FilePlace(path, *_made_at(path, name))


def _module_file(module: str) -> Path | None:
    """Return the file of an installed module; its packages are not imported."""
    found, folders, name = None, None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            found = PathFinder.find_spec(name, folders)
        except (ImportError, OSError, ValueError):
            return None
        if found is None:
            return None
        folders = found.submodule_search_locations
    path = Path(found.origin) if found is not None and found.origin else None
    return path if path is not None and path.suffix == ".py" else None


def _made_at(path: Path, name: str) -> tuple[int, int]:
    """Return line and column of a name of a module; its beginning where that is not known."""
    try:
        content = path.read_bytes()
        nodes = ast.parse(content).body if len(content) <= MAX_PYTHON_BYTES else []
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return 1, 1
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.name == name:
                return node.lineno, node.col_offset + 1
            case ast.Assign(targets=[ast.Name(id=made)]) if made == name:
                return node.lineno, node.col_offset + 1
    return 1, 1
