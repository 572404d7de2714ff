"""The shape of tools.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from tools.tool import Effect
from tools.yaml_shape import JsonObject, Name, Shape


class PythonTool(Shape):
    """A Python function."""

    kind: Literal["python"]
    """What runs the tool."""
    function: str
    """`file.py:name`, relative to the crew's folder, or `package.module:name`."""
    description: str | None = None
    """What the model reads about the tool; the function's docstring unless given."""
    parameters: JsonObject | None = None
    """JSON schema of the arguments; made from the function's signature unless given."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Of one attempt; `settings.tool_execution_timeout_seconds` unless given."""
    retries: Annotated[int, Field(ge=0, le=20)] | None = None
    """After the first attempt; `settings.tool_retries` unless given."""
    effect: Effect | None = None
    """`read` and `idempotent` may be tried again; `once` never, once it may have acted.
    `idempotent` unless given."""
    requires_approval: bool | None = None
    """A person must approve each call: the run pauses before it."""


# A union of one until the http, command and mcp kinds join it.
ToolConfig = PythonTool
ToolConfigs = dict[Name, ToolConfig]


class ToolsFile(Shape):
    """tools.yaml: the tools of a crew."""

    tools: ToolConfigs
    """Tools by name."""
