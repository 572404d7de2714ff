"""One call, safely: the lowest floor.

Rooms, in reading order: `calls` (the nouns), `tool` (a tool and its decorator), `schema` (signature
to JSON schema, a
model's arguments to Python values), `executor` (a sequence of calls), `deadline` (time left, and
for whom), `retry`
(which errors are worth another try), `threads` (for handlers that block), `output` (what of an
output the model is
shown), `python` (a function by reference), `builtin` (tools that need no entry), `config` (the
shape of tools.yaml),
`errors`.
"""

from tools.calls import ToolCall, ToolResult
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
    "PermanentError",
    "TemporaryError",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "ToolExecutor",
    "ToolResult",
    "tool",
]
