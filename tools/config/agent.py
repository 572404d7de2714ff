"""The shape of an agent as a tool."""

from typing import Annotated, Literal

from pydantic import Field

from tools.schemas.yaml_shape import Name, Shape

AGENT_SECONDS = 60.0
# its one argument
ASK = "ask"


class AgentTool(Shape):
    """An agent of the crew as a tool: its answer to what it is given is the result."""

    kind: Literal["agent"]
    """`agent`."""
    agent: Name
    """Who works on it: no agent with tools of this kind, and none with a `plan`."""
    description: Annotated[str, Field(min_length=1)]
    """What the model reads about the tool."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = AGENT_SECONDS
    """Of one call, beside `settings.tool_result_timeout_seconds`."""
