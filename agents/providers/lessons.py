"""What a refusal teaches about an endpoint and model; pure.

It is recognised by words, since the same refusal comes with another status, and without `param` and
`code`, from each layer above a model.
"""

import re
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from agents.dialects.refusals import Refusal
from agents.endpoint import DialectName
from agents.providers.image_refusals import has_images, refuses_images
from agents.providers.message_lessons import MESSAGE_LESSONS, Learn, Lesson
from agents.providers.names import ASIDE, NAMES, mentions, names_as_refused
from agents.quirks import PARAMETERS, Parameter, Quirks

# vLLM and Groq name the parameter, llama.cpp says "Cannot use custom grammar constraints with
# tools", Gemini "Function calling with a response mime type … is unsupported", Bedrock
# "output_config.format"
TYPED_OUTPUT = re.compile(
    r"response[_ ]?(?:format|schema|mime)|json[_ -]?(?:schema|mode|object)|structured[_ ]outputs?"
    r"|guided[_ ]|\bgrammar\b|output_config",
    re.IGNORECASE,
)
# Anthropic says "Invalid `signature` in `thinking` block", OpenAI "Encrypted content is not
# supported with this model" and "could not be verified"
NOT_BACK = re.compile(
    r"signature\b[^.\n]{0,60}\bthinking|\bthinking\b[^.\n]{0,60}\bsignature|encrypted[_ ]content"
    r"|without its required (?:following|'reasoning') item|reasoning item"
    r"|thinking[`'\"]? blocks?\b[^.\n]{0,80}(?:cannot|can't|must|not)\b",
    re.IGNORECASE,
)
# of a schema or a tool, and not of the request itself
OF_A_SCHEMA = re.compile(r"\bschema\b|\bfunction ['\"`]|\btools?[.\[]", re.IGNORECASE)
SCHEMAS = ("response_format", "text.format", "output_config.format")
IN_WORDS = "does not take the form of its answer"
# OpenAI wants a verified organization first
NO_STREAM = re.compile(
    r"verified to stream|\bstream(?:ing)?\b(?! ?_?options)[^.\n]{0,60}(?:not|n't|un)\s?-?(?:support"
    r"|allow|available|enabl|permit)|(?:not|n't)\s+(?:support|allow)\w*\s+(?:\w+ ){0,3}stream\w*\b",
    re.IGNORECASE,
)
# Qwen: "parameter.enable_thinking must be set to false for non-streaming calls", "This model only
# support stream mode", "can not be support when `stream=False`"; others "must be set to true"
ONLY_STREAM = re.compile(
    r"must be set to false for non-?streaming|\bonly supports? (?:the )?stream(?:ing)?(?: mode)?\b"
    r"|\bstream[`'\"]? (?:must|has to) be (?:set to )?[`'\"]?true|\bstreaming is required"
    r"|must (?:have|set|use) [`'\"]?stream[`'\"]? ?[=:] ?true"
    r"|not (?:be )?support\w* when [`'\"]?stream[`'\"]? ?= ?false",
    re.IGNORECASE,
)
MAX_KEYS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# OpenAI says "max_tokens is too large: 32000. This model supports at most 16384 completion tokens",
# Groq "must be less than or equal to `8192`, the maximum value", DeepSeek "range of max_tokens is",
# Anthropic "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens"
MOST_TOKENS = re.compile(
    r"max_\w{0,20}tokens is too large: [\d,]+\. This model supports at most (?P<a>\d[\d,]*) "
    r"completion"
    r"|max_\w{0,20}tokens[`'\"]? must be less than or equal to [`'\"]?(?P<b>\d[\d,]*)"
    r"[`'\"]?, the max"
    r"|range of max_tokens (?:is|should be) \[1, ?(?P<c>\d[\d,]*)\]"
    r"|max_tokens: \d+ > (?P<d>\d[\d,]*), which is the maximum"
    r"|max_tokens specified in the request is not valid: integer above maximum value, expected a "
    r"value <= (?P<e>\d[\d,]*)"
    # Bedrock, Vertex, and servers that check with pydantic or zod
    r"|maximum tokens you requested exceeds the model limit of (?P<f>\d[\d,]*)"
    r"|max(?:output|_output_|_)?tokens\b.{0,40}supported range is from 1 \(inclusive\) "
    r"to (?P<below>\d[\d,]*) \(exclusive\)"
    r"|max_(?:completion_|output_|new_)?tokens[`'\"]? must be less than or equal to "
    r"(?P<g>\d[\d,]*),? (?:but )?(?:received|got)",
    re.IGNORECASE,
)
# what is less is about something else
LEAST_OF_MOST = 256
# Ollama says "does not support thinking" and 'think value "medium" is not supported for this
# model', xAI "does not support parameter reasoningEffort", Google "Thinking level is not supported"
NO_EFFORT = re.compile(
    r"(?:not|n't) support (?:thinking|reasoning|parameter reasoning_?effort)\b"
    r"|think(?:ing)? (?:value|level|budget)\b[^\n]{0,80}not supported",
    re.IGNORECASE,
)
# llama.cpp names the source of a chat template, and behind these words why it was left
TEMPLATE_ERROR = "Jinja Exception:"


def learn(
    dialect: DialectName, quirks: Quirks, body: dict[str, Any], refusal: Refusal
) -> tuple[Quirks, str] | None:
    """Find out from a refusal what of a request an endpoint does not take.

    Args:
        dialect: of the request.
        quirks: as it was made.
        body: the request.
        refusal: of it.

    Returns:
        Other quirks and what is different, for people; None where the refusal teaches nothing new.
    """
    if refusal.status in (401, 402, 403, 404, 408, 413, 429) and not _is_about(refusal, body):
        return None
    text = f"{refusal.words}\n{refusal.body}"
    if TEMPLATE_ERROR in text:
        # before it stands the template itself, with all that it might say
        text = refusal.body.rsplit(TEMPLATE_ERROR, 1)[-1]
    for lesson in CHAT_LESSONS if dialect == "chat" else OTHER_LESSONS:
        if (found := lesson(quirks, body, text)) is not None:
            return found
    return None


def _is_about(refusal: Refusal, body: dict[str, Any]) -> bool:
    """Return whether a status that usually means other things is about what is sent.

    OpenRouter's 404 is about tools, or images.
    """
    return refusal.status == HTTPStatus.NOT_FOUND and ("tools" in body or has_images(body))


def _max_tokens(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    keys = ("max_tokens", "max_completion_tokens")
    key = next((one for one in keys if one in body), None)
    if key is None or not names_as_refused(key, text):
        return None
    other = keys[1] if key == keys[0] else keys[0]
    if mentions(other, text):
        found = replace(quirks, max_tokens_key=other)  # type: ignore[arg-type] # one of its values
        return found, f"takes {other} in place of {key}"
    return replace(quirks, max_tokens_key="none"), f"takes no {key}"


def _most_tokens(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    """Learn how long an answer may be, where more was wanted."""
    sent = next((body[one] for one in MAX_KEYS if isinstance(body.get(one), int)), 0)
    found = MOST_TOKENS.search(text)
    most = int("".join(filter(None, found.groups())).replace(",", "")) if found is not None else 0
    most -= found is not None and found["below"] is not None
    if not LEAST_OF_MOST <= most < sent:
        return None
    said = f"writes at most {most} tokens: max_tokens is cut to that"
    return replace(quirks, most_tokens=most), said


def _sampling(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if OF_A_SCHEMA.search(text):
        return None
    sent = [one for one in PARAMETERS if one not in quirks.leave_out and _is_sent(one, body)]
    named = [one for one in sent if any(mentions(name, text) for name in _names_of(one, body))]
    if len(named) > 1 and re.search(
        r"both|only one|together|at the same time|either", text, re.IGNORECASE
    ):
        # the rarer one; the other shapes an answer more plainly
        return _without(quirks, "top_p", "takes temperature or top_p, not both: top_p is left out")
    for one in named:
        names = _names_of(one, body)
        if any(names_as_refused(name, text) for name in names) or _wants_its_default(one, text):
            return _without(quirks, one, f"does not take this {one}: it is left out")
    return None


def _effort(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    """Learn that a model does not think, or not so much, by words that do not name the key."""
    given = body.get("reasoning_effort")
    if not isinstance(given, str) or "reasoning_effort" in quirks.leave_out:
        return None
    supported = r"[^\n]{0,20}supported values are[^\n]*'(?:none|medium)'"
    of_value = rf"invalid value: '{given}'{supported}|reasoning_effort\b.{{0,200}}?input should be"
    # Groq says "`reasoning_effort` must be one of `none` or `default`"
    of_value = rf"{of_value}|reasoning_effort\b[^\n]{{0,40}}(?:must be one of|valid values are)"
    if NO_EFFORT.search(text) or re.search(of_value, text, re.IGNORECASE | re.DOTALL):
        text = f"does not take reasoning_effort: {given}: it is left out"
        return _without(quirks, "reasoning_effort", text)
    return None


def _names_of(parameter: Parameter, body: dict[str, Any]) -> tuple[str, ...]:
    """Return what stands in a body for a parameter, and how refusals name it."""
    names = tuple(one for one in NAMES[parameter] if one.partition(".")[0] in body)
    # of chat completions it has one name
    return names if "reasoning_effort" in body else (*names, *ASIDE.get(parameter, ()))


def _is_sent(parameter: Parameter, body: dict[str, Any]) -> bool:
    return any(_stands_in(body, name) for name in NAMES[parameter])


def _stands_in(body: Any, name: str) -> bool:
    """Return whether a key stands in a body, by the path to it; of a list, in its last part."""
    first, _, rest = name.partition(".")
    body = body[-1] if isinstance(body, list) and body else body
    if not isinstance(body, dict) or first not in body:
        return False
    return not rest or _stands_in(body[first], rest)


def _has_schema(body: dict[str, Any]) -> bool:
    return any(_stands_in(body, name) for name in SCHEMAS)


def _without(quirks: Quirks, parameter: Parameter, text: str) -> Lesson:
    return replace(quirks, leave_out=(*quirks.leave_out, parameter)), text


def _stream_usage(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if "stream_options" not in body or not mentions("stream_options", text):
        return None
    return replace(quirks, stream_usage=False), "does not take stream_options"


def _streams(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if "stream" in body:
        is_refused = NO_STREAM.search(text) is not None and not quirks.only_streams
        return (replace(quirks, streams=False), "answers whole only") if is_refused else None
    if not quirks.streams or ONLY_STREAM.search(text) is None:
        return None
    return replace(quirks, only_streams=True), "answers in pieces only"


def _tool_choice(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    # Groq refuses the answer of a model that calls a tool all the same, and says it in words
    if "tool_choice" not in body or not re.search(r"tool[_ ]choice", text, re.IGNORECASE):
        return None
    # an API that its own provider made names what it refuses
    is_own = "messages" not in body or "system" in body
    if is_own and not names_as_refused("tool_choice", text):
        return None
    return replace(quirks, tool_choice=False), "does not take this tool_choice"


def _typed_output(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if not _has_schema(body) or not TYPED_OUTPUT.search(text):
        return None
    return replace(quirks, typed_output=False), f"{IN_WORDS}: its schema is given in words"


def _signed_thoughts(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    """Learn that what was thought is not taken back, or not given encrypted."""
    if quirks.thinking == "leave_out" or OF_A_SCHEMA.search(text) or not _has_thoughts(body):
        return None
    if not NOT_BACK.search(text):
        return None
    return replace(quirks, thinking="leave_out"), "does not take its thoughts back"


def _has_thoughts(body: dict[str, Any]) -> bool:
    """Return whether a request carries what a model thought, or asks for it."""
    if "include" in body:
        return True
    blocks = [block for one in body.get("messages", ()) for block in one["content"]]
    return any(block["type"] in ("thinking", "redacted_thinking") for block in blocks)


def _images(quirks: Quirks, body: dict[str, Any], text: str) -> Lesson:
    if not refuses_images(body, text):
        return None
    return replace(quirks, images=False), "takes no images: they are left out, and it is said"


def _wants_its_default(key: str, text: str) -> bool:
    wanted = (
        rf"only\b[^\n]{{0,40}}\b{key}\s*(?:=|of|:)\s*[\d.]+"
        rf"|{key}[^\n]{{0,60}}must be (?:set to )?1\b"
        # Kimi says "invalid temperature: only 1 is allowed for this model", Claude "may only be set
        # to 1 when thinking is enabled" and "must be greater than or equal to 0.95 or unset"
        rf"|{key}[^\n]{{0,40}}\bonly [\d.]+ (?:is|are) (?:allowed|supported|accepted)"
        rf"|{key}[^\n]{{0,60}}(?:may|can) only be (?:set to )?[\d.]+|{key}[^\n]{{0,80}}\bor unset\b"
    )
    return re.search(wanted, text, re.IGNORECASE) is not None


CHAT_LESSONS: tuple[Learn, ...] = (
    _images,
    _most_tokens,
    _max_tokens,
    _effort,
    _sampling,
    _stream_usage,
    _streams,
    _tool_choice,
    _typed_output,
    *MESSAGE_LESSONS,
)
# of an API that its own provider made, or that another copies to the letter
OTHER_LESSONS: tuple[Learn, ...] = (
    _images,
    _most_tokens,
    _streams,
    _signed_thoughts,
    _sampling,
    _tool_choice,
    _typed_output,
)
