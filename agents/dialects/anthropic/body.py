"""The body of a request to Anthropic's messages API; pure.

Source: https://platform.claude.com/docs/en/api/messages
"""

from collections.abc import Mapping
from typing import Any

from agents.dialects.anthropic.blocks import ANTHROPIC, make_turns, with_mark
from agents.dialects.outgoing import Outgoing, write_calls
from agents.extras import ModelExtras
from agents.limits import ToolChoice
from agents.model import ToolDefinition

# the keys that are written here; a configuration adds others
WRITTEN = frozenset(
    {
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "output_config",
        "thinking",
        "temperature",
        "top_p",
        "max_tokens",
        "stream",
    }
)
# the longest answer, which this API wants to know; beside what is thought
MAX_TOKENS = 4096
MODES = {"auto": "auto", "required": "any", "none": "none"}
# of a schema, what the API takes; the rest stands in descriptions
KEYWORDS = frozenset({"type", "enum", "anyOf", "description", "properties", "required", "items"})
NO_THINKING = {"type": "disabled"}


def anthropic_body(outgoing: Outgoing) -> dict[str, Any]:
    """Build the body of a request."""
    request, extras = outgoing.request, outgoing.extras
    shown = outgoing.messages if outgoing.shows_tools else write_calls(outgoing.messages)
    system = [one.content for one in shown if one.role == "system" and one.content.strip()]
    system += outgoing.words
    sends_thinking = outgoing.quirks.thinking == "send_back"
    turns = make_turns(shown, outgoing.source, sends_thinking=sends_thinking)
    body: dict[str, Any] = {
        "model": outgoing.model,
        "max_tokens": outgoing.bounded(
            request.max_tokens or MAX_TOKENS + (extras.thinking_tokens or 0)
        ),
        "messages": turns.turns,
    }
    if system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    if outgoing.shows_tools:
        body["tools"] = [tool.form_in(ANTHROPIC, _tool_form) for tool in request.tools]
        if outgoing.sends_choice:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if outgoing.sends("reasoning_effort"):
        body |= _thinking(extras, begins_thinking=turns.begins_thinking)
    if outgoing.has_schema and request.output is not None:
        form = {"type": "json_schema", "schema": taken_schema(request.output.schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": form}
    body |= outgoing.sampling
    if extras.prompt_cache != "off" and outgoing.sends("prompt_cache"):
        _mark(body, turns.ended_at, extras)
    body |= extras.body
    if outgoing.is_streamed:
        body["stream"] = True
    return body


def stops_thinking(outgoing: Outgoing, body: Mapping[str, Any]) -> bool:
    """Return whether a request does not think as it should: others have begun its calls."""
    return outgoing.extras.thinking_tokens is not None and body.get("thinking") == NO_THINKING


def _tool_form(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _tool_choice(choice: ToolChoice) -> dict[str, Any]:
    if choice.mode == "tool":
        return {"type": "tool", "name": choice.tool}
    return {"type": MODES[choice.mode]}


def _thinking(extras: ModelExtras, *, begins_thinking: bool) -> dict[str, Any]:
    display = {"display": "summarized"} if extras.shows_thinking else {}
    if extras.thinking_tokens is not None:
        if not begins_thinking:
            # the API refuses to go on with calls that did not begin with thinking
            return {"thinking": NO_THINKING}
        return {"thinking": {"type": "enabled", "budget_tokens": extras.thinking_tokens, **display}}
    if extras.thinking is None:
        return {}
    if extras.thinking == "none":
        return {"thinking": NO_THINKING}
    return {
        "thinking": {"type": "adaptive", **display},
        "output_config": {"effort": extras.thinking},
    }


def _mark(body: dict[str, Any], ended_at: int, extras: ModelExtras) -> None:
    """Mark the ends of tools, system, the exchange before, and the newest message: four at most."""
    mark = {"type": "ephemeral", **({"ttl": "1h"} if extras.prompt_cache == "1h" else {})}
    for key in ("tools", "system"):
        if key in body:
            body[key] = with_mark(body[key], mark)
    turns = body["messages"]
    for place in {ended_at, len(turns) - 1} - {-1}:
        turns[place] = {**turns[place], "content": with_mark(turns[place]["content"], mark)}


def taken_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with what the API takes of it; the rest stands in descriptions.

    The package `anthropic` does the same (`transform_schema`).
    """
    kind = schema.get("type")
    if isinstance(kind, list):
        # one that may be null
        others = [one for one in kind if one != "null"]
        whole = {**schema, "type": others[0]}
        if "enum" in whole:
            whole["enum"] = [one for one in whole["enum"] if one is not None]
        return {"anyOf": [taken_schema(whole), {"type": "null"}]}
    out = {key: value for key, value in schema.items() if key in KEYWORDS}
    left = {key: value for key, value in schema.items() if key not in KEYWORDS}
    left.pop("additionalProperties", None)
    if left.get("minItems") in (0, 1):
        out["minItems"] = left.pop("minItems")
    if "enum" in out:
        del out["type"]
    if "items" in out:
        out["items"] = taken_schema(out["items"])
    if kind == "object":
        out["properties"] = {name: taken_schema(one) for name, one in out["properties"].items()}
        out["additionalProperties"] = False
    if left:
        said = "{" + ", ".join(f"{key}: {value}" for key, value in left.items()) + "}"
        out["description"] = "\n\n".join([*filter(None, [out.get("description")]), said])
    return out
