"""A message and a tool in the form of chat completions."""

from typing import Any

from pydantic_core import to_json

from agents.model import ShownImage, ShownMessage, ToolDefinition

# the name of the dialect
CHAT = "chat"
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
        form["content"] = message.content or None
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
