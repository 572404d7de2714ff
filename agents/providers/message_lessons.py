"""What refusals teach about the messages, calls and tools of chat completions; pure."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agents.dialects.chat.messages import THOUGHTS
from agents.dialects.chat.plain_schemas import extra_keywords
from agents.providers.messages_refused import (
    ABOUT_ONE_CALL,
    ALTERNATE,
    CALL_ID,
    EMPTY_IS_WRONG,
    FEW_FORMS,
    NAME_OF_RESULT,
    NO_CALLS,
    NO_CONTENT,
    NO_SYSTEM,
    ONE_CALL,
)
from agents.providers.names import names_as_refused
from agents.quirks import Quirks

# other quirks, and what is different, for people; None: a refusal teaches nothing of this kind
Lesson = tuple[Quirks, str] | None
# gets the quirks of a request, its body, and the words of its refusal
Learn = Callable[[Quirks, dict[str, Any], str], Lesson]


def _thoughts(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    sent = {key for message in body["messages"] for key in THOUGHTS if key in message}
    if not any(names_as_refused(key, text) for key in sent):
        return None
    return replace(quirks, thinking="leave_out"), "does not take its thoughts back"


def _system(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    has_system = any(message["role"] == "system" for message in body["messages"])
    if not has_system or not NO_SYSTEM.search(text):
        return None
    if re.search(r"only\b[^.\n]*\bsystem\b[^.\n]*\bsupported", text, re.IGNORECASE):
        # it is named among those that are
        return None
    found = replace(quirks, system_role="user")
    return found, "takes no system messages: the prompt goes into the first user message"


def _roles(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if quirks.alternate_roles or not ALTERNATE.search(text):
        return None
    found = replace(quirks, alternate_roles=True)
    return found, "wants user and assistant in turn: they are joined"


def _one_call(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    has_several = any(len(one.get("tool_calls") or ()) > 1 for one in body["messages"])
    if not has_several or not ONE_CALL.search(text):
        return None
    return replace(quirks, single_calls=True), "takes one tool call in a message"


def _call_ids(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    has_ids = any(one.get("tool_calls") for one in body["messages"])
    if not has_ids or quirks.call_ids == "short" or not CALL_ID.search(text):
        return None
    return replace(quirks, call_ids="short"), "takes ids of calls of nine letters and digits"


def _names(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    has_results = any(one["role"] == "tool" for one in body["messages"])
    if quirks.named_results or not has_results or not NAME_OF_RESULT.search(text):
        return None
    return replace(quirks, named_results=True), "wants the name of its tool with each result"


def _content(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    messages = body["messages"]
    sent = [one for one in messages if one.get("tool_calls") or one["role"] == "tool"]
    if not any(not one.get("content") for one in sent) or not NO_CONTENT.search(text):
        return None
    match quirks.empty_content:
        case "null":
            found = replace(quirks, empty_content="text")
            return found, "takes an empty text beside tool calls, not null"
        case "text" if EMPTY_IS_WRONG.search(text):
            found = replace(quirks, empty_content="none")
            return found, "takes no content beside tool calls"
        case _:
            return None


def _schemas(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    """Learn that schemas of tools may have only the keywords that every endpoint takes."""
    if quirks.plain_schemas or "tools" not in body:
        return None
    used = {key for one in body["tools"] for key in extra_keywords(one["function"]["parameters"])}
    if not (any(names_as_refused(key, text) for key in used) or FEW_FORMS.search(text)):
        return None
    found = replace(quirks, plain_schemas=True)
    return found, "takes plain schemas of tools: keywords that only check are left out"


def _calls(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    has_results = any(message["role"] == "tool" for message in body["messages"])
    if not ("tools" in body or has_results) or not quirks.native_calls:
        return None
    if ABOUT_ONE_CALL.search(text):
        # about one of the tools, or one call, not all of them
        return None
    about_roles = re.search(r"\broles?\b", text, re.IGNORECASE) is not None
    if about_roles and not has_results:
        return None
    if not NO_CALLS.search(text) and not (
        about_roles and re.search(r"\bonly\b|got tool", text, re.IGNORECASE)
    ):
        return None
    return replace(quirks, native_calls=False), "has no native tool calls: tools are called in text"


MESSAGE_LESSONS: tuple[Learn, ...] = (
    _call_ids,
    _names,
    _content,
    _thoughts,
    _one_call,
    _system,
    _roles,
    _schemas,
    _calls,
)
