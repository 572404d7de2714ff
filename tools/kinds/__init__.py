"""What runs a tool, and here the one place that knows all kinds.

`python`, `http`, `command`, `openapi`, `mcp`, `agents`.
"""

import hashlib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

from tools.config import (
    AgentTool,
    CommandTool,
    HttpTool,
    McpServer,
    OpenApiTool,
    PythonTool,
    SetOfTools,
    SingleTool,
    ToolConfig,
)
from tools.definition import Reach, Tool
from tools.errors import ToolDefinitionError
from tools.kinds.agents import agent_tool
from tools.kinds.command.marks import Marks
from tools.kinds.command.tool import command_tool
from tools.kinds.http.connections import Connections
from tools.kinds.mcp.definitions import Definition
from tools.kinds.mcp.lock import Locked
from tools.kinds.mcp.plan import ServerPlan
from tools.kinds.mcp.servers import Servers
from tools.kinds.mcp.tool import lease_of, list_now, mcp_tools
from tools.kinds.openapi.entries import entries
from tools.kinds.python.isolated import isolated
from tools.kinds.python.reference import python_tool
from tools.limits.guards import Guards
from tools.schemas.conditions import require_conditions
from tools.toolbox import ToolSet

KIB = 1024
# keys of an entry that are about results
OF_RESULTS = {"respond", "show", "cache_seconds", "cache_shared", "untrusted", "shown_chars"}


@dataclass(frozen=True)
class ToolMaker:
    """What the tools of one crew are made with, and share."""

    # the crew's
    folder: Path
    # of all revisions of the crew
    guards: Guards
    # OpenAPI documents by their names, as far as they can be read
    documents: Mapping[str, Any] = field(default_factory=dict)
    # the tools of MCP servers that are known without asking
    locked: Locked = field(default_factory=dict)
    # of all revisions of the crew
    servers: Servers = field(default_factory=Servers)
    connections: Connections = field(default_factory=Connections)

    @cached_property
    def marks(self) -> Marks:
        """Of this process's calls of commands."""
        return Marks(self.folder)

    def make(self, name: str, config: ToolConfig) -> Tool | ToolSet:
        """Make the tool that an entry describes, or the tools that it describes together.

        Raises:
            ToolDefinitionError: none can be made of it.
        """
        match config:
            case AgentTool():
                return agent_tool(name, config)
            case OpenApiTool():
                made = self._api_tools(name, config)
            case McpServer():
                made = self._mcp_tools(name, config)
            case _:
                made = [_with_entry(self._make(name, config), config)]
        limits = config.limits.live() if config.limits is not None else None
        breaker = config.breaker_limits
        guard = None
        if limits is not None or breaker is not None:
            # of the entry: what is behind it is one server, however many tools it has
            guard = self.guards.of(name, limits, breaker)
        if (rule := config.approval) is not None:
            known: dict[str, Any] = {}
            for tool in made:
                for key, schema in tool.parameters.get("properties", {}).items():
                    # of several tools, what the condition is on may be each one's
                    known[key] = schema if key not in known else {}
            definitions = made[0].parameters.get("$defs", {}) if len(made) == 1 else {}
            require_conditions(rule, dict(sorted(known.items())), definitions)
        made = [
            replace(
                tool,
                max_output_bytes=config.max_output_kb * KIB,
                guard=guard,
                is_direct=config.respond == "direct",
                component=config.show.live() if config.show is not None else None,
                cache_seconds=config.cache_seconds,
                is_cache_shared=config.cache_shared,
                is_untrusted=config.is_untrusted,
                shown_chars=config.shown_chars or 0,
            )
            for tool in made
        ]
        return ToolSet(tuple(made)) if isinstance(config, SetOfTools) else made[0]

    def list_mcp(self, name: str, config: McpServer) -> list[Definition]:
        """List what an MCP server says of its tools now, also of those that its entry leaves out.

        Raises:
            ToolDefinitionError: it cannot be reached.
        """
        plan = ServerPlan.of(name, config, self.folder, self.marks)
        return list_now(self.servers, lease_of(config, plan), keeps=False)

    def _mcp_tools(self, name: str, config: McpServer) -> list[Tool]:
        """Return the tools of an MCP server."""
        lease = lease_of(config, ServerPlan.of(name, config, self.folder, self.marks))
        known = self.locked.get(name) if config.pin else None
        is_locked = known is not None
        if known is None:
            known = list_now(self.servers, lease, keeps=True)
        try:
            return mcp_tools(config, lease, known, self.servers, is_locked=is_locked)
        except ToolDefinitionError:
            self.servers.end(lease)
            raise

    def _api_tools(self, name: str, config: OpenApiTool) -> list[Tool]:
        """Return the tools of an OpenAPI document's operations."""
        made = []
        found = entries(name, config, self.documents.get(config.document))
        for place, (tool_name, entry) in enumerate(found.items()):
            try:
                tool = _with_entry(self._make(tool_name, entry), entry)
            except ToolDefinitionError as error:
                text = f"{config.document}: {config.operations[place]}: {error}"
                raise ToolDefinitionError(text, ("operations", place), error.code) from error
            reach = replace(tool.reach, kind="openapi", pin=config.document)
            made.append(replace(tool, reach=reach))
        return made

    def _make(self, name: str, config: SingleTool) -> Tool:
        match config:
            case PythonTool():
                return self._python_tool(name, config)
            case HttpTool():
                # its client takes its time to import, which other crews should not wait for
                module = importlib.import_module("tools.kinds.http.tool")
                tool: Tool = module.http_tool(name, config, self.connections)
                return tool
            case CommandTool():
                return command_tool(name, config, self.folder, self.marks)
            case _:
                assert_never(config)

    def _python_tool(self, name: str, config: PythonTool) -> Tool:
        tool = python_tool(name, config, self.folder)
        sandbox = "" if config.isolate is None else "process"
        tool = replace(tool, reach=Reach("python", runs=(config.function,), sandbox=sandbox))
        return isolated(tool, config, self.folder) if config.isolate is not None else tool


def _with_entry(tool: Tool, config: SingleTool) -> Tool:
    """Return the tool that knows which entry it is of."""
    # what becomes of a result makes no other call of it
    digest = hashlib.sha256(config.model_dump_json(exclude=OF_RESULTS).encode()).hexdigest()
    return replace(tool, entry_hash=digest)
