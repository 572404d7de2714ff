"""The body of a request to a chat completions endpoint, made from its quirks; pure.

Messages are shown the same way to all models. What one endpoint wants otherwise is done here, and
nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.dialects.chat.messages import CHAT, THOUGHTS, WireMessage, message_form, tool_form
from agents.extras import NO_EXTRAS, ModelExtras
from agents.limits import AUTO, NO_TOOLS, ToolChoice
from agents.model import ERROR_MARK, ModelRequest, Private, ShownMessage
from agents.outputs.typed import OutputFormat
from agents.quirks import Quirks
from tools.calls import CallStatus
from tools.handlers.output import format_results

# the keys that are written here; a configuration adds others
WRITTEN = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "response_format",
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
        "stream",
        "stream_options",
    }
)
# of thinking, what chat completions call otherwise
EFFORTS: Mapping[str, str] = {"max": "xhigh"}
# of a schema: OpenAI takes no longer one
MAX_NAME = 64
# begins a conversation that would begin with the model's own words
BEGINNING = "(The conversation goes on.)"


def build_body(
    model: str,
    request: ModelRequest,
    quirks: Quirks,
    source: str,
    extras: ModelExtras = NO_EXTRAS,
) -> dict[str, Any]:
    """Build the body of a request.

    Args:
        model: as the endpoint names it.
        request: what is asked.
        quirks: of this model at this endpoint.
        source: names both; what came from another one is not sent.
        extras: what the files add.
    """
    shown = request.messages
    # most are made already: a look spares a call for each
    forms = [one.form if one.dialect == CHAT else message_form(one) for one in shown]
    messages = [
        form if one.private is None else _own_form(form, one.private, source, quirks)
        for form, one in zip(forms, shown, strict=True)
    ]
    choice = request.tool_choice
    # a server that does not take `none` is shown no tools
    shows_tools = bool(request.tools) and (choice != NO_TOOLS or quirks.tool_choice)
    if not quirks.native_calls:
        messages = list(_in_text(messages, shown))
        if request.tools and choice != NO_TOOLS:
            messages[0] = {**messages[0], "content": _with_hint(messages[0], request)}
    if request.output is not None and not quirks.typed_output:
        words = f"{messages[0]['content']}\n\n{request.output.words}"
        messages[0] = {**messages[0], "content": words}
    messages = _in_form(messages, quirks)
    body: dict[str, Any] = {"model": model, "messages": messages}
    if shows_tools and quirks.native_calls:
        body["tools"] = [tool_form(tool) for tool in request.tools]
        if choice != AUTO and quirks.tool_choice:
            body["tool_choice"] = _tool_choice(choice)
    if request.output is not None and quirks.typed_output:
        body["response_format"] = _response_format(request.output)
    if request.temperature is not None and "temperature" not in quirks.leave_out:
        body["temperature"] = request.temperature
    if request.top_p is not None and "top_p" not in quirks.leave_out:
        body["top_p"] = request.top_p
    if request.max_tokens is not None and quirks.max_tokens_key != "none":
        body[quirks.max_tokens_key] = request.max_tokens
    if extras is not NO_EXTRAS:
        if extras.thinking is not None and "reasoning_effort" not in quirks.leave_out:
            body["reasoning_effort"] = EFFORTS.get(extras.thinking, extras.thinking)
        body |= extras.body
    if request.stream:
        body["stream"] = True
        if quirks.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _tool_choice(choice: ToolChoice) -> Any:
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": choice.tool}}
    return choice.mode


def _response_format(output: OutputFormat) -> dict[str, Any]:
    schema = {"name": output.name[:MAX_NAME], "strict": True, "schema": output.schema}
    return {"type": "json_schema", "json_schema": schema}


def _own_form(form: WireMessage, private: Private, source: str, quirks: Quirks) -> WireMessage:
    """Return a message with what the same model has sent with it."""
    if private.source not in (source, ""):
        return form
    extra = private.message
    if quirks.thinking == "leave_out":
        extra = {key: value for key, value in extra.items() if key not in THOUGHTS}
    wire = {**extra, **form}
    calls = wire.get("tool_calls")
    if calls and private.calls:
        wire["tool_calls"] = [
            _with_extra(call, more) for call, more in zip(calls, private.calls, strict=True)
        ]
    return wire


def _with_extra(call: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    if not extra:
        return call
    function = {**extra.get("function", {}), **call["function"]}
    return {**extra, **call, "function": function}


def _with_hint(message: WireMessage, request: ModelRequest) -> str:
    return f"{message['content']}\n\n{request.text_call_hint}"


def _in_text(
    messages: Sequence[WireMessage], shown: Sequence[ShownMessage]
) -> Iterator[WireMessage]:
    """Yield native calls and their results as text, for a model that has none."""
    results: list[tuple[str, CallStatus, str]] = []
    for wire, message in zip(messages, shown, strict=True):
        if wire["role"] == "tool":
            results += [
                (one.tool, one.status, wire["content"].removeprefix(ERROR_MARK))
                for one in message.results
            ]
            continue
        if results:
            yield {"role": "user", "content": format_results(results)}
            results = []
        if wire.get("tool_calls"):
            lines = [_call_text(call["function"]) for call in wire["tool_calls"]]
            content = "\n".join([*([wire["content"]] if wire["content"] else []), *lines])
            yield {"role": "assistant", "content": content}
        else:
            yield wire
    if results:
        yield {"role": "user", "content": format_results(results)}


def _call_text(function: dict[str, Any]) -> str:
    return f"{function['name']}({function['arguments']})"


def _in_form(messages: list[WireMessage], quirks: Quirks) -> list[WireMessage]:
    """Return the messages as the endpoint wants them."""
    if quirks.single_calls:
        messages = list(_one_call_each(messages))
    if quirks.empty_content != "null":
        messages = [_with_content(message, quirks) for message in messages]
    if quirks.system_role == "user":
        messages = _without_system(messages)
    if quirks.alternate_roles:
        messages = _in_turn(messages)
    return messages


def _one_call_each(messages: Sequence[WireMessage]) -> Iterator[WireMessage]:
    """Yield each call with its result behind it, in place of all calls and then all results."""
    results = {one["tool_call_id"]: one for one in messages if one["role"] == "tool"}
    for message in messages:
        calls = message.get("tool_calls") or ()
        if message["role"] == "tool":
            continue
        if len(calls) < 2:  # several
            yield message
            if calls and calls[0]["id"] in results:
                yield results[calls[0]["id"]]
            continue
        for number, call in enumerate(calls):
            first = {key: value for key, value in message.items() if key != "tool_calls"}
            kept = first if number == 0 else {"role": "assistant", "content": None}
            yield {**kept, "tool_calls": [call]}
            if call["id"] in results:
                yield results[call["id"]]


def _with_content(message: WireMessage, quirks: Quirks) -> WireMessage:
    if not message.get("tool_calls") or message.get("content"):
        return message
    if quirks.empty_content == "text":
        return {**message, "content": ""}
    return {key: value for key, value in message.items() if key != "content"}


def _without_system(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Return the texts of all system messages before that of the first user."""
    system = [one["content"] for one in messages if one["role"] == "system"]
    others = [one for one in messages if one["role"] != "system"]
    if not system:
        return others
    text = "\n\n".join(system)
    if others and others[0]["role"] == "user":
        first = {**others[0], "content": f"{text}\n\n{others[0]['content']}"}
        return [first, *others[1:]]
    return [{"role": "user", "content": text}, *others]


def _in_turn(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Yield system messages joined, then user and assistant in turn, a user first."""
    system = [one for one in messages if one["role"] == "system"]
    out: list[WireMessage] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if not out and message["role"] == "assistant":
            out.append({"role": "user", "content": BEGINNING})
        last = out[-1] if out else None
        is_joined = (
            last is not None
            and last["role"] == message["role"] != "tool"
            and not last.get("tool_calls")
            and not message.get("tool_calls")
        )
        if last is not None and is_joined:
            out[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            out.append(message)
    if system:
        text = "\n\n".join(one["content"] for one in system)
        out.insert(0, {"role": "system", "content": text})
    return out
