"""Calls as JSON, as `name{...}`, and as `name(a=1)`, in a text that is nothing else; pure."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.written.call_names import own_name
from agents.written.regions import unfenced
from agents.written.text_calls import Reader, UnreadableCall

Tools = Mapping[str, Mapping[str, Any]]
# where a name and where arguments stand in a call that is JSON
NAME_KEYS = ("name", "tool_name", "tool", "action", "function_name", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs")
# of calls in one JSON document
LIST_KEYS = ("tool_calls", "tool_uses", "calls", "function_calls")
# of one
CALL_KEYS = ("tool_call", "function_call")
# newer Mistral: a name before the arguments
MISTRAL = re.compile(r"\s*(?P<head>[\w.:-]+)\s*(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(?=\{)")
DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as it is written: its name, its arguments or why they cannot be read."""

    name: str
    arguments: dict[str, Any]
    text: str
    error: str | None = None


def calls_in_text(text: str, tools: Tools) -> Iterator[WrittenCall]:
    """Yield calls as JSON, one behind the other, as `name{...}`, or as `name(a=1)`."""
    body = unfenced(text).strip().removeprefix("call:").removeprefix(":").strip()
    found = list(json_calls(body, tools))
    if found:
        yield from found
    elif (mistral := MISTRAL.match(body)) is not None:
        yield from _name_and_object(body, mistral, tools)
    else:
        yield from pythonic_calls(body, tools)


def json_calls(text: str, tools: Tools, *, whole: bool = False) -> Iterator[WrittenCall]:
    """Yield calls that are JSON, one document behind the other.

    Nothing where any is something else.
    """
    calls: list[WrittenCall] = []
    at = 0
    while at < len(text):
        try:
            document, end = DECODER.raw_decode(text, at)
        except ValueError:
            document, end = _loose_object(text, at)
        if document is None:
            if whole or not calls:
                return
            break
        found = _calls_in(document, text[at:end], tools)
        if found is None:
            return
        calls += found
        at = end
        while at < len(text) and text[at] in " \t\r\n,;":
            at += 1
    yield from calls


def _loose_object(text: str, at: int) -> tuple[Any, int]:
    """Return an object as Python or JavaScript write it, at a place.

    (None, at) where there is none.
    """
    reader = Reader(text, at)
    try:
        return (reader.object(), reader.at) if text[at : at + 1] == "{" else (None, at)
    except UnreadableCall:
        return None, at


def _calls_in(document: Any, text: str, tools: Tools) -> list[WrittenCall] | None:
    """Return the calls that a JSON document is.

    None where it is none, or of a tool that the agent does not have.
    """
    if isinstance(document, list) and document:
        found = [_calls_in(part, text, tools) for part in document]
        if any(one is None for one in found):
            return None
        return [call for one in found for call in one or ()]
    return _calls_of_object(document, text, tools) if isinstance(document, dict) else None


def _calls_of_object(document: dict[str, Any], text: str, tools: Tools) -> list[WrittenCall] | None:
    function, is_named = document.get("function"), _first(document, NAME_KEYS) is not None
    if isinstance(function, dict) and (document.get("type") == "function" or not is_named):
        return _calls_in(function, text, tools)
    if isinstance(function, str) and not is_named:
        return _call_of({**document, "name": function}, text, tools)
    for key in LIST_KEYS:
        if isinstance(document.get(key), list):
            return _calls_in(document[key], text, tools)
    for key in CALL_KEYS:
        if isinstance(document.get(key), dict) and len(document) == 1:
            return _calls_in(document[key], text, tools)
    return _call_of(document, text, tools)


def _call_of(document: dict[str, Any], text: str, tools: Tools) -> list[WrittenCall] | None:
    given = _first(document, NAME_KEYS)
    if given is None and len(document) == 1:
        # Apertus: the name is the key
        ((only, value),) = document.items()
        if only in tools and isinstance(value, dict):
            return [WrittenCall(only, value, text)]
    name = own_name(document[given], tools) if given and isinstance(document[given], str) else None
    if name is None:
        return None
    key = _first(document, ARGUMENT_KEYS)
    others = document.keys() - {given, key, "function", "type", "id", "index", "thought"}
    if key is None and others:
        return None
    arguments = document[key] if key is not None else {}
    if isinstance(arguments, str):
        return [with_arguments(name, arguments, text)]
    if not isinstance(arguments, dict | None):
        return None
    return [WrittenCall(name, arguments or {}, text)]


def _first(document: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in document), None)


def pythonic_calls(text: str, tools: Tools, *, whole: bool = False) -> Iterator[WrittenCall]:
    """Find `name(a=1)`, `[name(a=1), other()]`, `name({"a": 1})`, `print(name(a=1))`."""
    body = text.strip()
    if body.startswith("print(") and body.endswith(")"):
        body = body[6:-1]
    if body.startswith("[") and body.endswith("]"):
        body = body[1:-1]
    calls: list[WrittenCall] = []
    opening = re.compile(r"\s*([\w.:-]+?)(?:\.call)?\s*\(")
    at = 0
    while found := opening.match(body, at):
        name = own_name(found[1], tools)
        if name is None:
            return
        reader = Reader(body, found.end())
        error, arguments = None, {}
        try:
            arguments = reader.call_arguments(tools[name])
        except UnreadableCall as reason:
            if whole:
                return
            error = f"the arguments of {name} cannot be read: {reason}"
        calls.append(WrittenCall(name, arguments, body[found.start() : reader.at], error))
        if error is not None:
            break
        at = reader.at
        while at < len(body) and body[at] in " \t\r\n,;":
            at += 1
    if whole and body[at:].strip():
        return
    yield from calls


def _name_and_object(body: str, found: re.Match[str], tools: Tools) -> Iterator[WrittenCall]:
    """Yield `name{...}name{...}`, as newer Mistral models write."""
    at: int = 0
    match: re.Match[str] | None = found
    while match is not None:
        name = own_name(match["head"], tools)
        try:
            arguments, at = DECODER.raw_decode(body, match.end())
        except ValueError:
            if name is not None:
                yield with_arguments(name, body[match.end() :], body)
            return
        if name is not None and isinstance(arguments, dict):
            yield WrittenCall(name, arguments, body[match.start() : at])
        match = MISTRAL.match(body, at)


def with_arguments(name: str, text: str, whole: str) -> WrittenCall:
    """Return a call with arguments that are a JSON object, or nearly."""
    body = unfenced(text).strip()
    if not body:
        return WrittenCall(name, {}, whole)
    try:
        arguments = DECODER.decode(body)
    except ValueError as error:
        arguments, end = _loose_object(body, 0)
        if arguments is None or body[end:].strip():
            reason = f"the arguments of {name} cannot be read: {error}"
            return WrittenCall(name, {}, whole, reason)
    if not isinstance(arguments, dict):
        return WrittenCall(name, {}, whole, f"the arguments of {name} are no JSON object")
    return WrittenCall(name, arguments, whole)


def parameter_value(text: str, schema: Any) -> Any:
    """Return a parameter between marks.

    A text as it stands, anything else as JSON where it is some.
    """
    words = text.strip("\n")
    words = words.strip() if "\n" not in words else words
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return words
    try:
        return DECODER.decode(words.strip())
    except ValueError:
        return words
