"""Arguments that a tool would refuse."""

from collections.abc import Mapping
from typing import Any

from tools.definition import Tool
from tools.errors import ToolError
from tools.schemas.schema import JsonSchema
from tools.text.suggest import nearest

# mappings that stand for values
STANDING = ({"any"}, {"matches"}, {"min"}, {"max"}, {"min", "max"})


def wrong_arguments(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return why a tool refuses a call; None: it takes it."""
    try:
        tool.check(dict(arguments))
    except ToolError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 # types of a tool's own may raise anything
        return f"{type(error).__name__}: {error}"
    return None


def wrong_parts(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return why no call of a tool can have these arguments, among others; None: one can."""
    known = tool.parameters.get("properties", {})
    is_open = tool.parameters.get("additionalProperties", False)
    for name, value in arguments.items():
        if name not in known:
            if is_open:
                continue
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known) or 'none'}"
            return f"{tool.name} has no argument {name!r}; {hint}"
        if isinstance(value, Mapping) and set(value) in STANDING:
            continue
        schema = {"type": "object", "properties": {name: known[name]}}
        if "$defs" in tool.parameters:
            schema["$defs"] = tool.parameters["$defs"]
        try:
            JsonSchema(schema).check({name: value})
        except ToolError as error:
            return f"{tool.name} refuses it: {error}"
    return None
