"""The body of a request to a chat completions endpoint, made from its quirks; pure.

Messages are shown the same way to all models. What one endpoint wants otherwise is done here, and
nowhere else.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agents.dialects.call_ids import short_id
from agents.dialects.chat.messages import (
    CHAT,
    PLAIN,
    THOUGHTS,
    WireMessage,
    join_contents,
    message_form,
    plain_tool_form,
    tool_form,
)
from agents.dialects.outgoing import EFFORTS, GOES_ON, Outgoing, strict_schema, write_calls
from agents.extras import ModelExtras
from agents.limits import ToolChoice
from agents.model import Private
from agents.quirks import Quirks

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
# what Google documents for a call that another model has made, so that nothing of it is signed
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
# the result of a tool that has none, where no text may be empty
NO_OUTPUT = "(no output)"


def chat_body(outgoing: Outgoing) -> dict[str, Any]:
    """Build the body of a request."""
    request, quirks, extras = outgoing.request, outgoing.quirks, outgoing.extras
    shown = outgoing.messages
    if not quirks.native_calls:
        shown = write_calls(shown)
    # most are made already: a look spares a call for each
    forms = [one.form if one.dialect == CHAT else message_form(one) for one in shown]
    messages = [
        form if one.private is None else _own_form(form, one.private, outgoing.source, quirks)
        for form, one in zip(forms, shown, strict=True)
    ]
    if (request.output is not None or not quirks.native_calls) and (words := outgoing.words):
        content = "\n\n".join([messages[0]["content"], *words])
        messages[0] = {**messages[0], "content": content}
    messages = _in_form(messages, quirks)
    body: dict[str, Any] = {"model": outgoing.model, "messages": messages}
    if outgoing.shows_tools:
        dialect, make = (PLAIN, plain_tool_form) if quirks.plain_schemas else (CHAT, tool_form)
        body["tools"] = [tool.form_in(dialect, make) for tool in request.tools]
        if outgoing.sends_choice:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.output is not None and outgoing.has_schema:
        schema = strict_schema(request.output)
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    body |= outgoing.sampling
    if outgoing.max_tokens is not None and quirks.max_tokens_key != "none":
        body[quirks.max_tokens_key] = outgoing.max_tokens
    if (extras.thinking or extras.thinking_tokens) and outgoing.sends("reasoning_effort"):
        body |= _thinking(extras)
    if extras.body:
        body |= extras.body
    if outgoing.is_streamed:
        body["stream"] = True
        if quirks.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def _thinking(extras: ModelExtras) -> dict[str, Any]:
    if extras.thinking_tokens is not None:
        # of Google's layer: others have no such key, which is an error at load
        config = {"thinking_budget": extras.thinking_tokens}
        return {"extra_body": {"google": {"thinking_config": config}}}
    assert extras.thinking is not None, "looked at by the caller"
    return {"reasoning_effort": EFFORTS.get(extras.thinking, extras.thinking)}


def _tool_choice(choice: ToolChoice) -> Any:
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": choice.tool}}
    return choice.mode


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


def _in_form(messages: list[WireMessage], quirks: Quirks) -> list[WireMessage]:
    """Return the messages as the endpoint wants them."""
    if quirks.google:
        messages = [_signed(message) for message in messages]
    if quirks.named_results:
        messages = list(_with_names(messages))
    if quirks.call_ids == "short":
        messages = [_with_short_ids(message) for message in messages]
    if quirks.single_calls:
        messages = list(_one_call_each(messages))
    if quirks.empty_content != "null":
        messages = [_with_content(message, quirks) for message in messages]
    if quirks.system_role == "user":
        messages = _without_system(messages)
    if quirks.alternate_roles:
        messages = _in_turn(messages)
    return messages


def _signed(message: WireMessage) -> WireMessage:
    """Return a message with calls so that its first one is signed, as Google wants it."""
    calls = message.get("tool_calls")
    if not calls or any("extra_content" in call for call in calls):
        return message
    return {**message, "tool_calls": [{**calls[0], "extra_content": UNSIGNED}, *calls[1:]]}


def _with_names(messages: Sequence[WireMessage]) -> Iterator[WireMessage]:
    """Yield the messages, results with the name of the tool that was called."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        is_named = message["role"] == "tool" and message["tool_call_id"] in names
        yield {**message, "name": names[message["tool_call_id"]]} if is_named else message


def _with_short_ids(message: WireMessage) -> WireMessage:
    if message["role"] == "tool":
        return {**message, "tool_call_id": short_id(message["tool_call_id"])}
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [{**one, "id": short_id(one["id"])} for one in calls]}


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
    if message["role"] == "tool" and not str(message["content"]).strip():
        return {**message, "content": NO_OUTPUT}
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
        first = {**others[0], "content": join_contents(text, others[0]["content"])}
        return [first, *others[1:]]
    return [{"role": "user", "content": text}, *others]


def _in_turn(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Yield system messages joined, then user and assistant in turn, a user first and last."""
    system = [one for one in messages if one["role"] == "system"]
    out: list[WireMessage] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if not out and message["role"] == "assistant":
            out.append({"role": "user", "content": GOES_ON})
        last = out[-1] if out else None
        if last is not None and (last["role"], message["role"]) == ("tool", "user"):
            # Mistral's templates want words of the model behind its results
            out.append({"role": "assistant", "content": GOES_ON})
        is_joined = (
            last is not None
            and last["role"] == message["role"] != "tool"
            and not last.get("tool_calls")
            and not message.get("tool_calls")
        )
        if last is not None and is_joined:
            out[-1] = {**last, "content": join_contents(last["content"], message["content"])}
        else:
            out.append(message)
    if out and out[-1]["role"] == "assistant":
        out.append({"role": "user", "content": GOES_ON})
    if system:
        text = "\n\n".join(one["content"] for one in system)
        out.insert(0, {"role": "system", "content": text})
    return out
