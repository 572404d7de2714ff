"""A message and a tool in the form of chat completions."""

from typing import Any

from pydantic_core import to_json

from agents.dialects.chat.plain_schemas import PlainSchemas
from agents.model import ShownImage, ShownMessage, ToolDefinition

# the name of the dialect
CHAT = "chat"
# that of its tools, where few keywords of schemas are known
PLAIN = "chat, plain"
# {"role", "content", "tool_calls"?, "tool_call_id"?}
WireMessage = dict[str, Any]
# keys of messages in which servers send what a model thought, and one may refuse
THOUGHTS = ("reasoning_content", "reasoning_details", "reasoning", "thinking_blocks")


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
    parameters = PlainSchemas(tool.parameters).plain(tool.parameters)
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    if not parameters.get("properties") and parameters.keys() <= {"type", "properties"}:
        # Google takes no object without properties
        del function["parameters"]
    return {"type": "function", "function": function}
