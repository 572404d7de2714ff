"""The JSON schemas of tools' parameters: keywords that are none, and bounds that leave no room."""

from collections.abc import Iterator, Mapping
from typing import Any

from crew.config.files.document import Document, YamlPath
from crew.config.problems import Problem
from tools.text.suggest import nearest

# of draft 2020-12, and of earlier ones what is still written
KEYWORDS = frozenset(
    {
        *("$schema", "$id", "$ref", "$defs", "definitions", "$anchor", "$dynamicRef", "$comment"),
        *(
            "$dynamicAnchor",
            "$vocabulary",
            "title",
            "description",
            "default",
            "examples",
            "example",
        ),
        *("deprecated", "readOnly", "writeOnly", "type", "enum", "const", "format"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"),
        *("properties", "patternProperties", "additionalProperties", "propertyNames"),
        *("unevaluatedProperties", "unevaluatedItems", "required", "dependentRequired"),
        *("minProperties", "maxProperties", "items", "prefixItems", "additionalItems", "contains"),
        *("minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
        *("pattern", "contentEncoding", "contentMediaType", "contentSchema", "dependencies"),
        *("nullable", "discriminator", "externalDocs", "xml"),
    }
)
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
# characters of a value in a message
MAX_VALUE = 60
BOUNDS = (
    ("minimum", "maximum"),
    ("exclusiveMinimum", "exclusiveMaximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
ONE = frozenset(
    {
        *(
            "not",
            "if",
            "then",
            "else",
            "additionalProperties",
            "propertyNames",
            "contains",
            "items",
        ),
        *("unevaluatedProperties", "unevaluatedItems", "additionalItems", "contentSchema"),
    }
)
LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
MAPPINGS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)


def check_schema(document: Document, path: YamlPath, schema: Any) -> Iterator[Problem]:
    """Find what of a schema has no effect, or leaves no room.

    Args:
        document: the file.
        path: of the schema in it.
        schema: as it is written.
    """
    if not isinstance(schema, dict):
        return
    for key in schema:
        if key not in KEYWORDS and not key.startswith("x-"):
            near = nearest(key, KEYWORDS)
            text = f"JSON Schema has no keyword {key!r}, so it has no effect"
            if (
                path[-1] == "parameters"
                and "properties" not in schema
                and isinstance(schema[key], dict)
            ):
                text = f"{text}; arguments stand below `properties`, with `type: object` above it"
            yield document.problem((*path, key), "unknown-keyword", text, key=True, suggestion=near)
    yield from _check_bounds(document, path, schema)
    yield from _check_values(document, path, schema)
    for part, inner in _parts(schema):
        yield from check_schema(document, (*path, *part), inner)


def _check_values(
    document: Document, path: YamlPath, schema: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield a default, or values, of another type than the schema's."""
    kind, allowed = schema.get("type"), schema.get("enum")
    kinds = TYPES.get(kind) if isinstance(kind, str) else None
    if kinds is None:
        return
    if isinstance(allowed, list):
        for place, value in enumerate(allowed):
            if value is not None and not _is_of(value, kinds):
                text = f"{_shown(value)} is no {kind}, which `type` demands: no call can have it"
                yield document.problem((*path, "enum", place), "bad-value", text)
    default = schema.get("default")
    if default is not None and not _is_of(default, kinds):
        text = f"{_shown(default)} is no {kind}, which `type` demands"
        yield document.problem((*path, "default"), "bad-value", text)


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether a value may be of a type; texts are read as numbers where these are meant."""
    if str in kinds:
        return not isinstance(value, list | dict)
    if isinstance(value, str):
        has_words = bool in kinds and value.lower() in ("true", "false", "yes", "no")
        return has_words or ((int in kinds or float in kinds) and _number(value) is not None)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, float) and value.is_integer():
        return float in kinds or int in kinds
    return isinstance(value, kinds)


def _shown(value: Any) -> str:
    return f"{value!r}"[:MAX_VALUE]


def _check_bounds(
    document: Document, path: YamlPath, schema: Mapping[str, Any]
) -> Iterator[Problem]:
    for least, most in BOUNDS:
        low, high = _number(schema.get(least)), _number(schema.get(most))
        if low is None or high is None:
            continue
        is_open = least == "exclusiveMinimum"
        if low > high or (is_open and low == high):
            text = f"{least} {low:g} leaves no room below {most} {high:g}: nothing fits"
            yield document.problem((*path, least), "bad-value", text)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[YamlPath, Any]]:
    """Yield the schemas within a schema, and where each is."""
    for key, value in schema.items():
        if key in MAPPINGS and isinstance(value, dict):
            for name, inner in value.items():
                yield (key, name), inner
        elif key in LISTS and isinstance(value, list):
            for place, inner in enumerate(value):
                yield (key, place), inner
        elif key in ONE:
            yield (key,), value


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | None) else float(value)
    except (TypeError, ValueError):
        return None
