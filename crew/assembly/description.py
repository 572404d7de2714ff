"""The built-in tool by which an agent finds out what its crew is."""

from typing import Any

from pydantic_core import to_json

from crew.config.crew_files import CrewFiles
from tools.context import ToolContext
from tools.definition import Reach, Tool
from tools.schemas.schema import JsonSchema

DESCRIBE_CREW = "DescribeCrew"
DESCRIPTION = (
    "What this crew is: its agents, what each does and which tools it has, and its groups."
)
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def description_tool(files: CrewFiles) -> Tool:
    """Return the tool that describes a crew; it shows no prompts."""

    async def describe(arguments: dict[str, Any], context: ToolContext) -> str:
        return to_json(_describe(files)).decode()

    return Tool(
        name=DESCRIBE_CREW,
        description=DESCRIPTION,
        parameters=PARAMETERS,
        act=describe,
        check=JsonSchema(PARAMETERS).check,
        effect="read",
        reach=Reach("builtin"),
    )


def _describe(files: CrewFiles) -> dict[str, Any]:
    crew = files.crew
    assert crew is not None, "only the tools of a crew without errors are called"
    agents = [files.agents[agent_id] for agent_id in crew.agents]
    shown = ("id", "name", "role", "description", "tools")
    return {
        "name": files.name,
        "description": crew.description,
        "agents": [{key: getattr(agent, key) for key in shown} for agent in agents],
        "groups": {
            name: {"agents": group.agents, "description": group.description}
            for name, group in crew.routing.parallel_groups.items()
        },
    }
