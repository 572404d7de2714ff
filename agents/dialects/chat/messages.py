"""A message and a tool in the form of chat completions."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from agents.model import ShownImage, ShownMessage, ToolDefinition

# the name of the dialect
CHAT = "chat"
# that of its tools, where few keywords of schemas are known
PLAIN = "chat, plain"
# {"role", "content", "tool_calls"?, "tool_call_id"?}
WireMessage = dict[str, Any]
# keys of messages in which servers send what a model thought, and one may refuse
THOUGHTS = ("reasoning_content", "reasoning_details", "reasoning", "thinking_blocks")

# of schemas of tools, known everywhere, or needed to read the others
PLAIN_KEYWORDS = frozenset(
    {"type", "description", "properties", "required", "items", "enum", "anyOf", "oneOf", "allOf"}
)
# of these, the keywords with schemas by name
MAX_DEPTH = 16
NAMED_SCHEMAS = ("properties", "$defs")


def message_form(message: ShownMessage) -> WireMessage:
    """Make a message's form, without what its provider alone gets back; the message keeps it."""
    form: WireMessage = {"role": message.role, "content": message.content}
    if message.images:
        form["content"] = [_text(message.content), *map(_image, message.images)]
    elif message.role == "tool":
        call_id = message.results[0].call_id
        form = {"role": "tool", "tool_call_id": call_id, "content": message.content}
    elif message.calls:
        # white space alone is refused as well, by Bedrock
        form["content"] = message.content if message.content.strip() else None
        form["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": to_json(call.arguments).decode()},
            }
            for call in message.calls
        ]
    message.form, message.dialect = form, CHAT
    return form


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: ShownImage) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.url}}


def join_contents(first: Any, second: Any) -> Any:
    """Join the contents of two messages: texts as one, others as parts in a row."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    both = (first, second)
    return [part for one in both for part in ([_text(one)] if isinstance(one, str) else one)]


def tool_form(tool: ToolDefinition) -> dict[str, Any]:
    """Make the form of a tool."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def plain_tool_form(tool: ToolDefinition) -> dict[str, Any]:
    """Make the form of a tool for an endpoint that knows few keywords of JSON Schema."""
    parameters = _plain(tool.parameters, tool.parameters.get("$defs") or {})
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if not parameters.get("properties"):
        # Google takes no object without properties
        del function["parameters"]
    return {"type": "function", "function": function}


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


def _plain(schema: Any, defs: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a schema without the keywords that only check: arguments are checked here.

    What it refers to stands in it; what may be null is only what else it may be.
    """
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema if depth <= MAX_DEPTH else {}
    if isinstance(ref := schema.get("$ref"), str):
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**(defs.get(ref.rpartition("/")[2]) or {}), **rest}
    plain = {key: value for key, value in schema.items() if key in PLAIN_KEYWORDS}
    if isinstance(kinds := plain.get("type"), list):
        plain["type"] = next((one for one in kinds if one != "null"), "string")
    if not all(isinstance(one, str) for one in plain.get("enum") or ()):
        del plain["enum"]
    if isinstance(plain.get("properties"), dict):
        inner = plain["properties"].items()
        plain["properties"] = {name: _plain(one, defs, depth + 1) for name, one in inner}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], defs, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if not isinstance(plain.get(key), list):
            continue
        options = [_plain(one, defs, depth + 1) for one in plain.pop(key)]
        options = [one for one in options if one != {"type": "null"}]
        if len(options) == 1:
            plain = {**options[0], **plain}
        else:
            # beside it nothing may stand
            plain = {key: options}
    return plain
