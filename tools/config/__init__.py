"""The shape of tools.yaml.

`common` (the keys of every kind), `approval` (when a person decides), `python`, `http`, `command`,
`openapi`, `mcp`, `agent`.
"""

from typing import Annotated

from pydantic import Field

from tools.config.agent import AgentTool
from tools.config.command import CommandTool
from tools.config.common import CommonTool
from tools.config.http import HttpTool
from tools.config.mcp import McpServer
from tools.config.openapi import OpenApiTool
from tools.config.python import PythonTool
from tools.schemas.yaml_shape import Name, Shape

# an entry makes one tool, or several
SingleTool = PythonTool | HttpTool | CommandTool
SetOfTools = OpenApiTool | McpServer
ToolConfig = SingleTool | SetOfTools | AgentTool
ToolConfigs = dict[Name, Annotated[ToolConfig, Field(discriminator="kind")]]


class ToolsFile(Shape):
    """tools.yaml: the tools of a crew."""

    tools: ToolConfigs
    """Tools by name."""


__all__ = [
    "AgentTool",
    "CommandTool",
    "CommonTool",
    "HttpTool",
    "McpServer",
    "OpenApiTool",
    "PythonTool",
    "SetOfTools",
    "SingleTool",
    "ToolConfig",
    "ToolConfigs",
    "ToolsFile",
]
