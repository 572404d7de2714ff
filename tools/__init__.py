"""One call, safely: the lowest layer.

Modules, in reading order: `calls` (the nouns), `tool` (a tool and its decorator), `schema`
(signature to JSON schema, a model's arguments to Python values), `executor` (a sequence of calls),
`deadline` (time left, and for whom), `retry` (which errors are worth another try), `threads` (for
handlers that block), `running` (the handlers that run now), `output` (what of an output the model
is shown), `python` (a function by reference), `isolation` (a function in a process of its own),
`builtin` (tools that need no entry), `config` (the shape of tools.yaml), `yaml_shape` (the base of
all shapes), `clock` (time, handed in), `suggest` (did you mean), `texts`
(changed: all of a JSON value, and for a terminal), `errors`.
"""

from tools.calls import ToolCall, ToolResult
from tools.clock import Clock, SystemClock, VirtualClock
from tools.errors import (
    ArgumentsError,
    PermanentError,
    TemporaryError,
    ToolDefinitionError,
    ToolError,
)
from tools.executor import ToolExecutor
from tools.tool import Tool, tool

__all__ = [
    "ArgumentsError",
    "Clock",
    "PermanentError",
    "SystemClock",
    "TemporaryError",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "ToolExecutor",
    "ToolResult",
    "VirtualClock",
    "tool",
]
