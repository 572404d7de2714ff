"""One call, safely: the lowest layer.

Modules, in reading order: `calls` (the nouns), `context` (what a handler is told of its call),
`definition` (a tool and its decorator), `approval` (when a person is asked first), `function` (a
Python function as what a tool does), `schema` (signature to JSON schema, a model's arguments to
Python values), `schema_types` (what a part of one allows), `executor` (a sequence of calls),
`deadline` (time left), `retry` (which errors are worth another try), `guards` (how
many calls may run, and whether the tool works), `dry` (tools that are shown, and not called),
`search` (tools by what they are for), `toolbox` (a crew's tools by name), `threads` (for handlers
that block), `running` (the handlers that run now), `output` (what of an output the model is shown),
`kinds` (what runs the tools of tools.yaml), `builtin` (tools that need no entry), `config` (the
shapes of tools.yaml), `places` (an argument in the texts of an entry), `yaml_shape` (the base of
all shapes), `described` (models that are documented by their source), `clock` (time, handed in),
`suggest` (did you mean), `texts` (changed: all of a JSON value, and for a terminal), `secrets`
(found and masked), `forms` (what a tool asks a person), `server_words` (what a server says with an
error), `lazy` (names that are imported when they are used), `loops` (what belongs to one event
loop), `connector` (connections that are used again), `json_pointer`, `errors`.
"""

from typing import TYPE_CHECKING

from tools.lazy import lazily

if TYPE_CHECKING:
    from tools.calls import ToolCall, ToolResult
    from tools.clock import Clock, SystemClock, VirtualClock
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
        "VirtualClock": "tools.clock",
    },
)
