"""The types of JSON that the parts of a schema allow."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from tools.schemas.json_pointer import value_at

# parts of a schema whose types are looked at, and references behind each other
MAX_TYPED_PARTS, MAX_REFERENCES = 500, 8


class Types:
    """The types that the parts of a schema allow; each part is looked at once.

    Others write schemas: one with references that lead to each other in many ways costs no more
    than its length.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        """`root`: of all; references lead into it."""
        self._root = root
        # by the identity of a part, which is kept beside: another one may get its place else
        self._known: dict[int, tuple[Any, frozenset[str] | None]] = {}

    def of(self, schema: Any) -> frozenset[str] | None:
        """Return the JSON types that a part of the schema allows; None: it does not say."""
        if not isinstance(schema, dict) or len(self._known) > MAX_TYPED_PARTS:
            return None
        if id(schema) not in self._known:
            # what leads back to itself says nothing
            self._known[id(schema)] = schema, None
            self._known[id(schema)] = schema, self._find(schema)
        return self._known[id(schema)][1]

    def _find(self, schema: dict[str, Any]) -> frozenset[str] | None:
        match schema:
            case {"type": str() as name}:
                return frozenset({name})
            case {"type": list() as names}:
                return frozenset(map(str, names))
            case {"enum": list() as values}:
                return frozenset(_type_name(value) for value in values)
            case {"const": value}:
                return frozenset({_type_name(value)})
            case {"$ref": str()}:
                return self.of(self.resolved(schema))
            case {"anyOf": list() as ways} | {"oneOf": list() as ways}:
                found = [self.of(way) for way in ways]
                return frozenset().union(*(one for one in found if one)) if all(found) else None
            case _:
                return None

    def resolved(self, schema: Any) -> Any:
        """Return what a reference leads to, also over others; None if there is nothing."""
        for _ in range(MAX_REFERENCES):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                return schema
            schema = _referred(schema["$ref"], self._root)
        return None


def is_text(schema: Any) -> bool:
    """Return whether a value can only be a text, or nothing."""
    return are_texts(Types({}).of(schema) or frozenset())


def are_texts(types: frozenset[str]) -> bool:
    """Return whether values of these types are texts, or nothing."""
    return "string" in types and types <= {"string", "null"}


def _type_name(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "array" if isinstance(value, list) else "object")


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """Return what a reference within a schema leads to; None if there is nothing."""
    try:
        return value_at(root, unquote(reference[1:])) if reference.startswith("#/") else None
    except KeyError:
        return None
