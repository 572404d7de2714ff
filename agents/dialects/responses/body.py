"""The body of a request to OpenAI's responses API; pure.

Nothing is stored there: what a model has thought comes back encrypted, and goes with the next
request. Source: https://platform.openai.com/docs/api-reference/responses
"""

from typing import Any

from agents.dialects.outgoing import (
    EFFORTS,
    MAX_NAME,
    Outgoing,
    strict_schema,
    with_words,
    write_calls,
)
from agents.dialects.responses.items import RESPONSES, make_items
from agents.limits import ToolChoice
from agents.model import ToolDefinition

# the keys that are written here; a configuration adds others
WRITTEN = frozenset(
    {
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "include",
        "store",
        "previous_response_id",
        "conversation",
        "prompt_cache_key",
        "temperature",
        "top_p",
        "max_output_tokens",
        "stream",
        "background",
    }
)


def responses_body(outgoing: Outgoing) -> dict[str, Any]:
    """Build the body of a request."""
    request, extras, quirks = outgoing.request, outgoing.extras, outgoing.quirks
    shown = outgoing.messages if quirks.native_calls else write_calls(outgoing.messages)
    shown = [with_words(shown[0], outgoing.words), *shown[1:]]
    sends_thinking = quirks.thinking == "send_back"
    items = make_items(shown, outgoing.source, sends_thinking=sends_thinking)
    body: dict[str, Any] = {"model": outgoing.model, "input": list(items), "store": False}
    if sends_thinking:
        body["include"] = ["reasoning.encrypted_content"]
    if outgoing.shows_tools:
        body["tools"] = [tool.form_in(RESPONSES, _tool_form) for tool in request.tools]
        if outgoing.sends_choice:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if outgoing.has_schema and request.output is not None:
        body["text"] = {"format": {"type": "json_schema", **strict_schema(request.output)}}
    if outgoing.sends("reasoning_effort") and (reasoning := _reasoning(outgoing)):
        body["reasoning"] = reasoning
    body |= outgoing.sampling
    if outgoing.max_tokens is not None and outgoing.quirks.max_tokens_key != "none":
        body["max_output_tokens"] = outgoing.max_tokens
    if extras.cache_key and extras.prompt_cache != "off" and outgoing.sends("prompt_cache"):
        body["prompt_cache_key"] = extras.cache_key[:MAX_NAME]
    body |= extras.body
    if outgoing.is_streamed:
        body["stream"] = True
    return body


def _reasoning(outgoing: Outgoing) -> dict[str, Any]:
    effort = outgoing.extras.thinking
    out = {} if effort is None else {"effort": EFFORTS.get(effort, effort)}
    shows = outgoing.extras.shows_thinking and outgoing.sends("reasoning_summary")
    return out | ({"summary": "auto"} if shows else {})


def _tool_form(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _tool_choice(choice: ToolChoice) -> Any:
    if choice.mode == "tool":
        return {"type": "function", "name": choice.tool}
    return choice.mode
