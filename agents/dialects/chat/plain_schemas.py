"""Schemas of tools in the few forms that every endpoint takes, Google's among them; pure."""

from collections.abc import Mapping
from typing import Any

# of schemas of tools, known everywhere, or needed to read the others
PLAIN_KEYWORDS = frozenset(
    {"type", "description", "properties", "required", "items", "enum", "anyOf", "oneOf", "allOf"}
)
# of these, the keywords with schemas by name
NAMED_SCHEMAS = ("properties", "$defs")
ALTERNATIVES = ("anyOf", "oneOf")
# schemas within one; a tool's own has a few dozen
MOST_SCHEMAS, MAX_DEPTH = 2000, 32
NULL = {"type": "null"}
# in place of one that stands within itself, or is too much
ANYTHING = {"type": "object"}


def extra_keywords(schema: Any) -> set[str]:
    """Return the keywords of a schema that some endpoints do not know."""
    if not isinstance(schema, dict):
        return set()
    return schema.keys() - PLAIN_KEYWORDS | {
        key for inner in _inner(schema) for key in extra_keywords(inner)
    }


def _inner(schema: dict[str, Any]) -> list[Any]:
    listed = [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key) or ()]
    named = [one for key in NAMED_SCHEMAS for one in (schema.get(key) or {}).values()]
    return [*named, schema.get("items"), *listed]


class PlainSchemas:
    """Writes one schema with what it refers to in it, and without what only checks.

    Arguments are checked here all the same. What may be null is only what else it may be.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._defs: Mapping[str, Any] = schema.get("$defs") or schema.get("definitions") or {}
        self._left, self._depth = MOST_SCHEMAS, 0

    def plain(self, schema: Any, within: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return a schema in plain form; `within`: the references that it stands in."""
        self._left, self._depth = self._left - 1, self._depth + 1
        try:
            return self._plain(schema, within)
        finally:
            self._depth -= 1

    def _plain(self, schema: Any, within: frozenset[str]) -> dict[str, Any]:
        if self._left < 0 or self._depth > MAX_DEPTH:
            return dict(ANYTHING)
        while isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str):
            if ref in within:
                return dict(ANYTHING)
            within |= {ref}
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**(self._defs.get(ref.rpartition("/")[2]) or {}), **rest}
        if not isinstance(schema, dict):
            return {}
        plain = {key: value for key, value in schema.items() if key in PLAIN_KEYWORDS}
        for part in plain.pop("allOf", None) or ():
            plain = _merged(plain, self.plain(part, within))
        if isinstance(kinds := plain.get("type"), list):
            plain["type"] = next((one for one in kinds if one != "null"), "string")
        if not all(isinstance(one, str) for one in plain.get("enum") or ()):
            del plain["enum"]
        if isinstance(plain.get("properties"), dict):
            inner = plain["properties"].items()
            plain["properties"] = {name: self.plain(one, within) for name, one in inner}
        if "items" in plain:
            plain["items"] = self.plain(plain["items"], within)
        return self._with_one_form(plain, within)

    def _with_one_form(self, plain: dict[str, Any], within: frozenset[str]) -> dict[str, Any]:
        """Return a schema in which nothing stands beside alternatives."""
        given = [one for key in ALTERNATIVES for one in plain.pop(key, None) or ()]
        if not given or "type" in plain or "properties" in plain:
            # those beside a type only say more of it
            return plain
        options = [found for one in given if (found := self.plain(one, within)) != NULL]
        if len(options) <= 1:
            return {**(options[0] if options else {}), **plain}
        if "description" in plain:
            options[0] = {"description": plain["description"], **options[0]}
        return {"anyOf": options}


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that says what two say; the first comes first."""
    properties = {**second.get("properties", {}), **first.get("properties", {})}
    required = list(dict.fromkeys((*first.get("required", ()), *second.get("required", ()))))
    found = {**second, **first}
    found |= {"properties": properties} if properties else {}
    return found | ({"required": required} if required else {})
