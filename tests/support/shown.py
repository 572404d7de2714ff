"""Messages in the form of chat completions, as agents are shown them."""

import json
from typing import Any

from agents.messages import ToolOutput
from agents.model import ShownMessage
from tools import ToolCall


def shown_message(wire: dict[str, Any], *, results: tuple[ToolOutput, ...] = ()) -> ShownMessage:
    """Return what has this form; a message of role `tool` has its own result unless given."""
    content = wire["content"] or ""
    if wire["role"] == "tool" and not results:
        results = (ToolOutput(wire["tool_call_id"], "T", "success", content),)
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in wire.get("tool_calls", ())
    )
    return ShownMessage(wire["role"], content, calls, results)


def tokens_of(wire: dict[str, Any]) -> int:
    """Count the tokens of a message."""
    return shown_message(wire).tokens
