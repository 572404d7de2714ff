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
            yield document.problem((*path, key), "unknown-keyword", text, key=True, suggestion=near)
    yield from _check_bounds(document, path, schema)
    for part, inner in _parts(schema):
        yield from check_schema(document, (*path, *part), inner)


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
