"""One call, safely: the lowest layer.

Modules, in reading order: `calls` (the nouns), `context` (what a handler knows of its call),
`definition` (a tool and its decorator), `approval` (when a person decides first), `handlers` (what
a tool does), `schemas` (arguments and entries, described), `executor` (a sequence of calls),
`limits` (what bounds a call), `dry` (tools that are shown, and not called), `search` (tools by what
they are for), `abandoned` (handlers that do not end in time), `toolbox` (a crew's tools by name),
`kinds` (what runs the tools of tools.yaml),
`builtin` (tools that need no entry), `config` (the shapes of tools.yaml), `confinement` (what a
process gives up), `clock` (time, handed in), `virtual_clock` (days in milliseconds), `text` (texts,
secrets), `forms` (what a tool asks a person), `lazy` (names that are imported when they are used),
`loops` (what belongs to one event loop), `connector` (connections that are used again), `tracing`
(names of spans), `errors`.
"""

from typing import TYPE_CHECKING

from tools.lazy import lazily

if TYPE_CHECKING:
    from tools.calls import ToolCall, ToolResult
    from tools.clock import Clock, SystemClock
    from tools.context import ToolContext
    from tools.definition import Tool, tool
    from tools.errors import (
        ArgumentsError,
        PermanentError,
        TemporaryError,
        ToolDefinitionError,
        ToolError,
    )
    from tools.executor import ToolExecutor
    from tools.virtual_clock import VirtualClock, VirtualLoop

__all__ = [
    "ArgumentsError",
    "Clock",
    "PermanentError",
    "SystemClock",
    "TemporaryError",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolExecutor",
    "ToolResult",
    "VirtualClock",
    "VirtualLoop",
    "tool",
]

__getattr__ = lazily(
    __name__,
    {
        "ArgumentsError": "tools.errors",
        "Clock": "tools.clock",
        "PermanentError": "tools.errors",
        "SystemClock": "tools.clock",
        "TemporaryError": "tools.errors",
        "Tool": "tools.definition",
        "tool": "tools.definition",
        "ToolCall": "tools.calls",
        "ToolContext": "tools.context",
        "ToolDefinitionError": "tools.errors",
        "ToolError": "tools.errors",
        "ToolExecutor": "tools.executor",
        "ToolResult": "tools.calls",
        "VirtualClock": "tools.virtual_clock",
        "VirtualLoop": "tools.virtual_clock",
    },
)
