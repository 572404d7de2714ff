"""Schemas of an OpenAPI document as JSON Schema that stands by itself; pure."""

import re
from typing import Any

from tools.kinds.openapi.document import ApiDocument, Json, require_mapping, require_sequence, wrong

# keywords by what stands in them
OF_NAMES = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
OF_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
OF_ONE = frozenset(
    {
        *("items", "additionalProperties", "not", "if", "then", "else", "contains"),
        *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    }
)
# what says nothing of a request
LEFT_OUT = frozenset(
    {"example", "examples", "xml", "externalDocs", "discriminator", "$schema", "$id", "nullable"}
)
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# OpenAPI 3.0 has a truth value beside the limit, JSON Schema one limit or the other
EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


class Schemas:
    """The schemas of one tool's arguments, and the definitions that they share."""

    def __init__(self, document: ApiDocument) -> None:
        self.document = document
        # by name, for "$defs"
        self.definitions: Json = {}
        self._names: dict[str, str] = {}
        # references that are being followed
        self._open: set[str] = set()

    def of(self, schema: Any, where: str) -> Any:
        """Return a schema of the document.

        Args:
            schema: as the document has it.
            where: its place, for messages.

        Raises:
            ToolDefinitionError: it is none, or refers in a circle.
            SchemaReferenceError: it refers to something outside the document.
        """
        if isinstance(schema, bool):
            return schema
        given = require_mapping(schema, where)
        made: Json = {}
        for key, value in given.items():
            if key == "$ref":
                made[key] = self._reference(value)
            elif key in OF_NAMES:
                inner = require_mapping(value, where)
                made[key] = {name: self.of(one, f"{where}.{name}") for name, one in inner.items()}
            elif key in OF_LISTS:
                made[key] = [self.of(one, where) for one in require_sequence(value, where)]
            elif key in OF_ONE:
                made[key] = self.of(value, f"{where}.{key}")
            elif key not in LEFT_OUT:
                made[key] = value
        _leave_out_read_only(made)
        return _of_version_30(given, made) if self.document.is_old else made

    def _reference(self, reference: Any) -> str:
        if not isinstance(reference, str):
            raise wrong("a $ref is no text")
        if reference in self._open:
            raise wrong(f"the schema {reference} contains itself, which a tool's arguments cannot")
        name = self._names.get(reference)
        if name is None:
            target = self.document.at(reference)
            name = self._new_name(reference)
            self._open.add(reference)
            self.definitions[name] = self.of(target, reference)
            self._open.remove(reference)
        return f"#/$defs/{name}"

    def _new_name(self, reference: str) -> str:
        last = NOT_IN_NAMES.sub("_", reference.rpartition("/")[2]) or "_"
        name, number = last, 2
        while name in self._names.values():
            name, number = f"{last}_{number}", number + 1
        self._names[reference] = name
        return name


def _leave_out_read_only(schema: Json) -> None:
    """Leave out the properties that only answers have."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    answered = {
        name
        for name, one in properties.items()
        if isinstance(one, dict) and one.get("readOnly") is True
    }
    schema["properties"] = {name: one for name, one in properties.items() if name not in answered}
    required = schema.get("required")
    if isinstance(required, list):
        schema["required"] = [name for name in required if name not in answered]


def _of_version_30(given: Json, made: Json) -> Json:
    """Return what OpenAPI 3.0 writes in another way than JSON Schema."""
    for key, limit in EXCLUSIVE.items():
        if isinstance(given.get(key), bool):
            del made[key]
            if given[key] and limit in made:
                made[key] = made.pop(limit)
    if given.get("nullable") is not True:
        return made
    if isinstance(kind := made.get("type"), str):
        made["type"] = [kind, "null"]
        if isinstance(values := made.get("enum"), list) and None not in values:
            made["enum"] = [*values, None]
        return made
    return {"anyOf": [made, {"type": "null"}]}
