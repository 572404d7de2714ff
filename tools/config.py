"""The shape of tools.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from tools.tool import Effect
from tools.yaml_shape import JsonObject, Name, Shape

# of an isolated process
DEFAULT_MEMORY_MB = 1024


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
    isolate: Literal["process"] | None = None
    """`process`: calls run in processes of their own, which are kept for further calls. A process
    is killed when its call has not ended in time, so that nothing the function does outlives its
    deadline, or holds up other runs."""
    max_memory_mb: Annotated[int, Field(ge=64, le=1_048_576)] = DEFAULT_MEMORY_MB
    """With `isolate`: of each process, with all that the function imports."""
    max_cpu_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """With `isolate`: of the CPU, for one call; its process is ended then. Without it, the deadline
    alone counts."""


# A union of one until the http, command and mcp kinds join it.
ToolConfig = PythonTool
ToolConfigs = dict[Name, ToolConfig]


class ToolsFile(Shape):
    """tools.yaml: the tools of a crew."""

    tools: ToolConfigs
    """Tools by name."""
