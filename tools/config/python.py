"""A Python function as a tool."""

from typing import Annotated, Literal

from pydantic import Field

from tools.config.common import OneTool

# of an isolated process
DEFAULT_MEMORY_MB = 1024


class PythonTool(OneTool):
    """A Python function: description and parameters are read from it unless given.

    Its effect is `idempotent` unless given, here or by the function.
    """

    kind: Literal["python"]
    """What runs the tool."""
    function: str
    """`file.py:name`, relative to the crew's folder, or `package.module:name`."""
    isolate: Literal["process"] | None = None
    """`process`: calls run in processes of their own, which are kept for further calls. A process
    is killed when its call has not ended in time, so that nothing the function does outlives its
    deadline, or holds up other runs."""
    max_memory_mb: Annotated[int, Field(ge=64, le=1_048_576)] = DEFAULT_MEMORY_MB
    """With `isolate`: of each process, with all that the function imports."""
    max_cpu_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """With `isolate`: of the CPU, for one call; its process is ended then. Without it, the deadline
    alone counts."""
