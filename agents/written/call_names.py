"""The names by which models call tools: right, or nearly; pure."""

import re
from collections.abc import Collection
from dataclasses import replace

from tools.calls import ToolCall

# before a name: the namespace that a template shows tools in
NAMESPACE = re.compile(r"(?:functions?|tools?|default_api|multi_tool_use|namespace)[.:/]")
# behind it: the number of the call (Kimi), a mark of the template that slipped in (gpt-oss)
BEHIND = re.compile(r"(?::\d+|<\|.*)\Z", re.DOTALL)


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


def with_own_name(call: ToolCall, tools: Collection[str]) -> ToolCall:
    """Give a call the name of the own tool that it means, where there is one."""
    name = own_name(call.tool, tools)
    return call if name in (None, call.tool) else replace(call, tool=name or call.tool)
