"""The names by which models call tools: right, or nearly; pure."""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from tools.calls import ToolCall

# before a name: the namespace that a template shows tools in
NAMESPACE = re.compile(
    r"(?:<function=|call:)?(?:(?:functions?|tools?|default_api|multi_tool_use|namespace|assistant"
    r"|repo_browser)(?:::|[.:/_]))?"
)
# behind it: the number of the call (Kimi), a mark of the template that slipped in (gpt-oss)
BEHIND = re.compile(r"(?:[:.]\d+|\(\)|<\|.*)\Z", re.DOTALL)
# GPT's tool for several calls at once
TOGETHER = ("multi_tool_use", "functions.multi_tool_use")


def own_name(written: str, tools: Collection[str]) -> str | None:
    """Find the own tool that a model means by a name.

    It is the tool of this name; else, of the name without white space around it and without the
    namespace of its template; else the only one that differs in nothing but the letters' case.

    Args:
        written: as the model writes it.
        tools: the names of the agent's own tools.

    Returns:
        The name of the tool; None where it is none of them, or could be several.
    """
    if written in tools:
        return written
    name = BEHIND.sub("", written.strip().strip("\"'`"))
    for plain in (name, NAMESPACE.sub("", name, count=1)):
        if plain in tools:
            return plain
        near = [tool for tool in tools if tool.lower() == plain.lower()]
        if len(near) == 1:
            return near[0]
    return None


def calls_within(call: ToolCall) -> Iterator[ToolCall]:
    """Yield the calls that one call of `multi_tool_use.parallel` has; else the call itself.

    GPT models make it where they were not shown it.
    """
    uses = call.arguments.get("tool_uses")
    if not call.tool.startswith(TOGETHER) or not isinstance(uses, list):
        yield call
        return
    for number, use in enumerate(uses, 1):
        if not isinstance(use, dict):
            continue
        name, given = use.get("recipient_name"), use.get("parameters")
        arguments = given if isinstance(given, dict) else {}
        yield ToolCall(f"{call.id}-{number}", str(name), arguments)


def with_own_name(call: ToolCall, tools: Collection[str]) -> ToolCall:
    """Give a call the name of the own tool that it means, where there is one."""
    name = own_name(call.tool, tools)
    return call if name in (None, call.tool) else replace(call, tool=name or call.tool)
