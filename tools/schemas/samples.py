"""Arguments that a tool takes, made from their schema: for scripts that rehearse a crew."""

from collections.abc import Mapping
from typing import Any

# deeper ones are left empty
MAX_DEPTH = 5
BY_FORMAT = {"date": "2026-01-31", "date-time": "2026-01-31T09:30:00Z", "email": "a@example.com"}


def sample_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the required arguments, with values of their types.

    They may break further conditions.
    """
    properties = schema.get("properties", {})
    return {name: _sample(properties.get(name, {}), 0) for name in schema.get("required", ())}


def _sample(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _sample(schema[key][0], depth + 1)
    kind = schema.get("type", "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return [_sample(schema.get("items", {}), depth + 1)] * schema.get("minItems", 0)
        case "object":
            properties = schema.get("properties", {})
            required = schema.get("required", ())
            return {name: _sample(properties.get(name, {}), depth + 1) for name in required}
        case "null":
            return None
        case _:
            text: str = BY_FORMAT.get(schema.get("format", ""), "example")
            return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
