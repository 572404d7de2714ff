"""An agent as a tool: its calls are made by the loop of the run, not here."""

from typing import Any

from tools.config.agent import ASK, AgentTool
from tools.context import ToolContext
from tools.definition import Reach, Tool
from tools.errors import PermanentError
from tools.schemas.schema import JsonSchema

# of an ask
MAX_CHARS = 20_000
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        ASK: {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_CHARS,
            "description": "What it is to do, with all that it needs to know.",
        }
    },
    "required": [ASK],
}


def agent_tool(name: str, config: AgentTool) -> Tool:
    """Return the tool of an entry."""

    async def refuse(arguments: dict[str, Any], context: ToolContext) -> str:
        raise PermanentError(f"{name} is an agent, which answers in runs only")

    return Tool(
        name=name,
        description=config.description,
        parameters=PARAMETERS,
        act=refuse,
        check=JsonSchema(PARAMETERS).check,
        timeout_seconds=config.timeout_seconds,
        reach=Reach("agent", runs=(config.agent,)),
        agent_id=config.agent,
    )
