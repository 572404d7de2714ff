"""A message and a tool in the form of chat completions."""

from typing import Any

from pydantic_core import to_json

from agents.model import ShownMessage, ToolDefinition

# {"role", "content", "tool_calls"?, "tool_call_id"?}
WireMessage = dict[str, Any]
# keys of messages in which servers send what a model thought, and one may refuse
THOUGHTS = ("reasoning_content", "reasoning_details", "reasoning", "thinking_blocks")


def message_form(message: ShownMessage) -> WireMessage:
    """Return a message, without what its provider alone gets back."""
    if message.role == "tool":
        call_id = message.results[0].call_id
        return {"role": "tool", "tool_call_id": call_id, "content": message.content}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.tool, "arguments": to_json(call.arguments).decode()},
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def tool_form(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
