"""Tool calls that an open model writes with its template's own marks, or as its whole answer; pure.

A server with a parser for the model's template turns these into native calls. Others leave them in
the text. Each form here is that of a model family; sources are the chat templates of the models.
Only own tools are called, and a text that speaks of a call is none: marks of words stand at the
start of a line, outside code, and a call without marks is the whole answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from agents.written.call_names import own_name
from agents.written.forms import (
    Tools,
    WrittenCall,
    calls_in_text,
    json_calls,
    parameter_value,
    pythonic_calls,
    with_arguments,
)
from agents.written.regions import (
    MAX_REGIONS,
    begins_line,
    fences,
    plain_marks,
    regions,
    unfenced,
    with_inner_marks,
    without_fences,
    without_inner_marks,
)
from agents.written.text_calls import FoundCall, bare_lines
from tools.calls import ToolCall
from tools.text.texts import map_texts

# of a text that is looked at: a call is never longer
MAX_CHARACTERS = 2**20
TAGS = r"(?:function|invoke|tool_call|steptml:invoke|xai:function_call)"
# Qwen3-Coder, functionary, MiniMax, Claude: a name in a mark
NAMED = re.compile(
    rf"<{TAGS}(?:=|\s+name\s*=\s*)[\"']?(?P<name>[^\"'>\s{{]+)[\"']?\s*(?:>|(?=\{{))"
    rf"(?P<body>.*?)(?:</{TAGS}>|\Z)",
    re.DOTALL,
)
PARAMETER = re.compile(
    r"<(?:steptml:)?parameter(?:=|\s+name\s*=\s*)[\"']?([^\"'>\s]+)[\"']?"
    r"(?:\s+\w+=[\"'][^\"'>]*[\"'])*\s*>(.*?)"
    r"(?:</(?:steptml:)?parameter>|(?=<(?:steptml:)?parameter[=\s])|\Z)",
    re.DOTALL,
)
# GLM: a name, then keys and values
KEYED = re.compile(
    r"<arg_key>\s*([^<]{0,200}?)\s*</arg_key>\s*<arg_value>((?:(?!<arg_value>).)*?)</arg_value>",
    re.DOTALL,
)
# the same anywhere in a text: no prose has a name and keys behind such a mark
KEYED_CALL = re.compile(
    r"<tool_call>\s*(?P<head>[\w.:-]{1,128})\s*(?:<tool_sep>\s*)?(?P<body>(?:<arg_key>[^<]{0,200}"
    r"</arg_key>\s*<arg_value>(?:(?!<arg_value>).)*?</arg_value>\s*)+)",
    re.DOTALL,
)
# DeepSeek, Kimi: a name, a mark, arguments
DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?P<head>[^<]{0,200})<｜tool▁sep｜>(?P<body>.*?)(?:<｜tool▁call▁end｜>|\Z)",
    re.DOTALL,
)
KIMI = re.compile(
    r"<\|tool_call_begin\|>(?P<head>[^<]{0,200})<\|tool_call_argument_begin\|>(?P<body>.*?)"
    r"(?:<\|tool_call_end\|>|\Z)",
    re.DOTALL,
)
# gpt-oss
HARMONY = re.compile(
    r"to=(?P<head>[\w.:-]{1,128})[^{]{0,200}?<\|message\|>(?P<body>.*?)(?:<\|call\|>|<\|end\|>|\Z)",
    re.DOTALL,
)
# ReAct
ACTION = re.compile(
    r"^Action:[ \t]*(?P<head>[\w.:-]+)[ \t]*\n+Action Input:[ \t]*(?P<body>.+?)"
    r"(?=\nObservation:|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Command-R: a fence in place of the name and its input
ACTION_FENCE = re.compile(
    r"^Action:[ \t]*\n?```(?:json)?[ \t]*\n(?P<body>.*?)\n?```", re.MULTILINE | re.DOTALL
)
# GLM, functionary: a name on a line of its own, and an object below it
NAME_ABOVE = re.compile(
    r"\s*(?:>>>)?(?P<head>[\w.:-]{1,128})[ \t]*\n\s*"
    r"(?P<body>(?:```(?:json)?\s*)?\{.*\}(?:\s*```)?)\s*\Z",
    re.DOTALL,
)
# a mark of a template that has slipped in behind a call, or begins a region
SLIPPED = re.compile(r"(?:<\|[a-z_]{1,20}\|>|</tool_call>)\s*\Z")
PLUGIN = re.compile(r"\s*<\|plugin\|>")
# what every call has
BEGINNING = re.compile(r"[{\[<(]")
# a fence with such a label is a call wherever it stands
CALL_FENCES = frozenset({"tool_code", "tool_call", "tool_calls", "function_call", "tool"})
# with which thoughts may end
AT_END = (("<tool_call>", "</tool_call>"), ("<function=", "</function>"))


def find_written_calls(text: str, tools: Tools) -> list[FoundCall]:
    """Find the calls in an answer that stand between marks, or are the whole answer.

    Args:
        text: the answer, without thoughts.
        tools: the agent's own tools: name to the properties of its schema, in their order.

    Returns:
        The calls in their order, each with the text that may be a quotation; never raises.
    """
    if not tools or len(text) > MAX_CHARACTERS or BEGINNING.search(text) is None:
        return []
    plain = plain_marks(text)
    text = without_inner_marks(plain)
    try:
        written = list(_marked(unfenced(text), tools)) or list(_whole(text, tools))
    except RecursionError:
        # nested deeper than any call
        return []
    if text is not plain:
        written = [_as_written(one) for one in written]
    return [
        FoundCall(
            ToolCall(f"text_{number}", one.name, one.arguments, one.error),
            " ".join(bare_lines(one.text)),
        )
        for number, one in enumerate(written, 1)
    ]


def _as_written(call: WrittenCall) -> WrittenCall:
    arguments = map_texts(call.arguments, with_inner_marks)
    return replace(call, arguments=arguments, text=with_inner_marks(call.text))


def calls_at_end(thoughts: str, tools: Tools) -> str:
    """Return the calls between marks with which thoughts end, as they stand there; "" for none.

    Some models call within their thoughts (Qwen 3.5, Kimi), and servers leave the call there.
    """
    text = thoughts[-MAX_CHARACTERS:].rstrip()
    for opening, closing in AT_END:
        at = len(text)
        if not text.endswith(closing):
            # what it ends with was not written
            at = text.rfind(opening)
            if at < 0 or closing in text[at:] or not _ends_with_call(text[at + len(opening) :]):
                continue
        for _ in range(MAX_REGIONS):
            before = text[:at].rstrip()
            begin = before.rfind(opening) if before.endswith(closing) else -1
            if begin < 0:
                break
            at = begin
        if at < len(text) and begins_line(text, at) and find_written_calls(text[at:], tools):
            return text[at:]
    return ""


def _ends_with_call(text: str) -> bool:
    """Return whether nothing stands behind the arguments of a call that is not closed."""
    if text.endswith(("</parameter>", "</function>")):
        return True
    try:
        return isinstance(json.loads(text[text.index("{") :]), dict)
    except (ValueError, RecursionError):
        return False


def _marked(text: str, tools: Tools) -> Iterator[WrittenCall]:
    """Yield the calls between marks, outside of code fences."""
    plain = without_fences(text)
    if (fenced := ACTION_FENCE.search(text)) is not None:
        yield from calls_in_text(fenced["body"], tools)
        return
    for pattern in (DEEPSEEK, KIMI, HARMONY, ACTION):
        found = list(pattern.finditer(plain))
        if found:
            for one in found:
                yield from _headed(one["head"], one["body"], tools)
            return
    if keyed := list(KEYED_CALL.finditer(plain)):
        for one in keyed:
            yield from _in_region(f"{one['head']}{one['body']}", tools)
        return
    between = list(regions(plain))
    if not between:
        named = [one for one in NAMED.finditer(plain) if begins_line(plain, one.start())]
        for one in named:
            yield from _named(one, tools)
    for region in between:
        yield from _in_region(region, tools)
    for label, inner in fences(text):
        if label in CALL_FENCES:
            yield from calls_in_text(inner, tools)


def _in_region(region: str, tools: Tools) -> Iterator[WrittenCall]:
    """Yield the calls between two marks, in whichever form they stand there."""
    named = list(NAMED.finditer(region))
    if named:
        for one in named:
            yield from _named(one, tools)
        return
    alone = region.strip().removesuffix("<tool_sep>")
    if (name := own_name(alone, tools)) is not None:
        # GLM: a call without arguments is a name
        yield WrittenCall(name, {}, region)
        return
    pairs = KEYED.findall(region)
    if pairs:
        head = region.split("<arg_key>", 1)[0].strip().removesuffix("<tool_sep>").strip()
        if (name := own_name(head, tools)) is not None:
            values = {key: parameter_value(value, tools[name].get(key)) for key, value in pairs}
            yield WrittenCall(name, values, region)
        return
    if (plugin := PLUGIN.match(region)) is not None:
        region = region[plugin.end() :]
    if (above := NAME_ABOVE.fullmatch(region)) is not None and own_name(above["head"], tools):
        yield from _headed(above["head"], above["body"], tools)
        return
    yield from calls_in_text(region, tools)


def _whole(text: str, tools: Tools) -> Iterator[WrittenCall]:
    """Yield the calls of an answer that is nothing else."""
    parts = [inner for _, inner in fences(text)]
    if len(parts) > 1 and not without_fences(text).strip():
        # a fence for each call
        yield from json_calls("\n".join(parts), tools, whole=True)
        return
    body = SLIPPED.sub("", unfenced(text)).strip()
    if (above := NAME_ABOVE.fullmatch(body)) is not None and own_name(above["head"], tools):
        yield from _headed(above["head"], above["body"], tools)
        return
    if body.startswith(("{", "[")):
        found = list(json_calls(body, tools, whole=True))
        yield from found or pythonic_calls(body, tools, whole=True)
        return
    named = NAMED.fullmatch(body)
    if named is not None:
        yield from _named(named, tools)
        return
    yield from pythonic_calls(body, tools, whole=True)


def _named(found: re.Match[str], tools: Tools) -> Iterator[WrittenCall]:
    """Yield `<function=name>` with JSON or with parameters in it."""
    name = own_name(found["name"], tools)
    if name is None:
        return
    body = found["body"].strip()
    pairs = PARAMETER.findall(body)
    if pairs := pairs or list(_argument_marks(body, tools[name])):
        values = {key: parameter_value(value, tools[name].get(key)) for key, value in pairs}
        yield WrittenCall(name, values, found[0])
    else:
        yield with_arguments(name, body, found[0])


def _argument_marks(body: str, properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield arguments that have marks of their own names, as MiniMax M3 writes them."""
    if body.startswith("{"):
        # such marks in a text of JSON are that text's
        return
    for name in properties:
        _, opened, rest = body.partition(f"<{name}>")
        value, closed, _ = rest.partition(f"</{name}>")
        if opened and closed:
            yield name, value


def _headed(head: str, body: str, tools: Tools) -> Iterator[WrittenCall]:
    """Yield a name, or `function` with the name below, before the arguments."""
    name = own_name(head, tools)
    if name is None:
        # DeepSeek: "function" before the mark, the name on the first line behind it
        first, _, rest = body.strip().partition("\n")
        name, body = own_name(first, tools), rest
    if name is not None:
        yield with_arguments(name, unfenced(body).strip(), body)
