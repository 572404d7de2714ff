"""A client for the protocol's conformance suite: calls what a server lists by our own tools.

python -m tests.real.client URL; the suite says in the environment what is wanted.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.made_tools import MadeTool, tools_of
from tools import ToolCall, ToolExecutor
from tools.calls import CallEvent, QuestionRaised
from tools.forms import Filled, FormReply
from tools.schemas.samples import sample_arguments

# a schema that refers to another host: such a tool is refused at load, unless it is left out
REFUSED = "lookup_user"
# of this one the suite wants to see that a schema arrives as it was sent
SCHEMA_TOOL, ECHO_TOOL = "json_schema_2020_12_tool", "json_schema_echo"
MAX_QUESTIONS = 5


async def call(made: MadeTool, arguments: dict[str, Any]) -> None:
    """Make a call, and answer what its tool asks."""
    executor, replies = ToolExecutor(made.limits), dict[str, FormReply]()
    for _ in range(MAX_QUESTIONS):
        asked: list[QuestionRaised] = []

        async def hear(event: CallEvent, asked: list[QuestionRaised] = asked) -> None:
            if isinstance(event, QuestionRaised):
                asked.append(event)

        tools = {made.tool.name: made.tool}
        found = await executor.run(
            [ToolCall("1", made.tool.name, arguments)], tools, hear, replies=replies
        )
        if not asked:
            print(made.tool.name, arguments, found, file=sys.stderr)
            return
        filled = tuple(
            Filled(
                form,
                sample_arguments({**form.schema, "required": list(form.schema["properties"])}),
            )
            for form in asked[0].forms
        )
        replies = {"1": FormReply(filled, asked[0].state)}


async def main(url: str) -> None:
    """Call the tools that the scenario names, or else each of them."""
    wanted = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    protocol = os.environ.get("CREW_TEST_PROTOCOL", "auto")
    options: dict[str, Any] = {
        "allow_private": True,
        "retries": 0,
        "protocol": protocol,
        "timeout_seconds": 20,
    }
    async with tools_of("mcp", Path(), url=url, deny=[REFUSED], **options) as tools:
        for one in wanted or ():
            await call(tools[f"T_{one['name']}"], one.get("arguments", {}))
        for name, made in tools.items() if wanted is None else ():
            schema = made.tool.parameters
            arguments = sample_arguments({**schema, "required": list(schema["properties"])})
            if name == f"T_{ECHO_TOOL}":
                arguments = {"schema": tools[f"T_{SCHEMA_TOOL}"].tool.parameters}
            await call(made, arguments)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
