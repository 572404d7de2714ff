"""Tools that are shown, and not called, but for those that read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tools.context import ToolContext
from tools.definition import Tool

# in place of a result
NOT_CALLED = "dry run: not called"


def without_effect(tool: Tool, results: Mapping[str, str]) -> Tool:
    """Return the tool itself where it reads, else one that says what it would do.

    Args:
        tool: as the crew has it.
        results: of calls that are not made, by the tools' names.
    """
    if tool.effect == "read":
        return tool
    act = _Shown(tool, results.get(tool.name, NOT_CALLED))
    # what is not done needs no approval
    return replace(tool, act=act, approval=None, guard=None)


@dataclass(frozen=True)
class _Shown:
    """What a tool does in a dry run."""

    tool: Tool
    result: str

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Return what the call would be.

        Raises:
            ArgumentsError: an argument cannot stand in its place.
        """
        tool = self.tool
        if tool.show is not None:
            where = tool.show(arguments)
        else:
            where = f"{tool.name}({json.dumps(arguments, ensure_ascii=False, default=str)})"
        context.begin_sending()
        context.warn("dry_run", f"not called: {where}")
        return self.result
