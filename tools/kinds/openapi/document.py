"""An OpenAPI document: its operations, and what its references refer to; pure.

https://spec.openapis.org/oas/v3.1.1.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from tools.errors import SchemaReferenceError, ToolDefinitionError
from tools.text.suggest import nearest

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
VERSION = re.compile(r"3\.[01]\.\d+.*")
# operations that a message lists
MAX_LISTED = 12
# references that refer to references
MAX_STEPS = 20
# JSON Pointer -> the value
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path."""

    method: str
    path: str
    # of the path, then of the method
    parameters: tuple[Any, ...]
    data: Json

    @property
    def place(self) -> str:
        """As people write it."""
        return f"{self.method} {self.path}"

    @property
    def id(self) -> str:
        """The operationId; "" where it has none."""
        given = self.data.get("operationId")
        return given if isinstance(given, str) else ""


class ApiDocument:
    """What a document says."""

    def __init__(self, data: Any) -> None:
        """Of a file's data.

        Raises:
            ToolDefinitionError: it is no OpenAPI document of a version that is known.
        """
        if not isinstance(data, dict) or not ({"openapi", "swagger"} & set(data)):
            raise wrong("it has no key openapi at its top, so it is no OpenAPI document")
        version = data.get("openapi", data.get("swagger"))
        if not isinstance(version, str) or VERSION.fullmatch(version) is None:
            raise wrong(f"it is of version {version}; 3.0 and 3.1 are read")
        self.data, self.is_old = data, version.startswith("3.0")

    @cached_property
    def operations(self) -> list[Operation]:
        """All, in the order of the document."""
        return list(self._operations())

    def _operations(self) -> Iterator[Operation]:
        for path, given in require_mapping(self.data.get("paths"), "paths").items():
            item = self.follow(given, f"paths.{path}")
            shared = require_sequence(item.get("parameters"), f"paths.{path}.parameters")
            for method in METHODS:
                if method in item:
                    where = f"paths.{path}.{method}"
                    data = require_mapping(item[method], where)
                    own = require_sequence(data.get("parameters"), f"{where}.parameters")
                    yield Operation(method.upper(), path, (*shared, *own), data)

    def find(self, name: str) -> Operation:
        """Find the operation of an operationId, or of a method and path.

        Raises:
            ToolDefinitionError: there is none, or more than one.
        """
        method, _, path = name.partition(" ")
        place = f"{method.upper()} {path.strip()}"
        found = [one for one in self.operations if name == one.id or place == one.place]
        if len(found) > 1:
            raise wrong(f"{len(found)} operations have the operationId {name!r}")
        if found:
            return found[0]
        names = [one.id or one.place for one in self.operations]
        near = nearest(name, [*names, *(one.place for one in self.operations)])
        listed = ", ".join(names[:MAX_LISTED]) or "none"
        hint = f"did you mean {near!r}?" if near else f"it has {listed}"
        raise wrong(f"there is no operation {name!r}; {hint}")

    def follow(self, value: Any, where: str) -> Json:
        """Return a mapping, or the one that its `$ref` refers to.

        Raises:
            ToolDefinitionError: it is no mapping, or refers to nothing, or in a circle.
        """
        for _ in range(MAX_STEPS):
            found = require_mapping(value, where)
            if "$ref" not in found:
                return found
            value = self.at(found["$ref"])
        raise wrong(f"{where} refers in a circle")

    def at(self, reference: Any) -> Any:
        """Return what a reference refers to (RFC 6901).

        Raises:
            ToolDefinitionError: it is none, or refers to nothing.
            SchemaReferenceError: it leads out of the document.
        """
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise SchemaReferenceError(str(reference), "document")
        value: Any = self.data
        for part in unquote(reference[2:]).split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise wrong(f"{reference} refers to nothing")
        return value


def wrong(message: str) -> ToolDefinitionError:
    """Return what is wrong with a document."""
    return ToolDefinitionError(message, "document", "openapi")


def require_mapping(value: Any, where: str) -> Json:
    """Return a mapping, {} for nothing; raises ToolDefinitionError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong(f"{where} is no mapping")
    return value


def require_sequence(value: Any, where: str) -> list[Any]:
    """Return a list, [] for nothing; raises ToolDefinitionError for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(f"{where} is no list")
    return value
