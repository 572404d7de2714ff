"""What runs a tool: `python`, `http`, `command`, and here the one place that knows them all."""

import hashlib
import importlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, assert_never

from tools.approval import ApprovalRule
from tools.config import CommandTool, HttpTool, PythonTool, ToolConfig
from tools.config.common import BreakerConfig
from tools.errors import ToolDefinitionError
from tools.guards import BreakerLimits, Guards
from tools.kinds.command.marks import Marks
from tools.kinds.command.tool import command_tool
from tools.kinds.http.connections import Connections
from tools.kinds.python.isolated import isolated
from tools.kinds.python.reference import python_tool
from tools.suggest import nearest
from tools.tool import Reach, Tool

KIB = 1024


@dataclass(frozen=True)
class ToolMaker:
    """What the tools of one crew are made with, and share."""

    # the crew's
    folder: Path
    # of all revisions of the crew
    guards: Guards
    connections: Connections = field(default_factory=Connections)

    @cached_property
    def marks(self) -> Marks:
        """Of this process's calls of commands."""
        return Marks(self.folder)

    def make(self, name: str, config: ToolConfig) -> Tool:
        """The tool that an entry describes.

        Raises:
            ToolDefinitionError: none can be made of it.
        """
        tool = self._make(name, config)
        limits = config.limits.live() if config.limits is not None else None
        breaker = _breaker(config)
        guard = None
        if limits is not None or breaker is not None:
            guard = self.guards.of(name, limits, breaker)
        if tool.approval is not None:
            _require_arguments(tool.approval, tool.parameters)
        return replace(
            tool,
            max_output_bytes=config.max_output_kb * KIB,
            guard=guard,
            entry_hash=hashlib.sha256(config.model_dump_json().encode()).hexdigest(),
        )

    def _make(self, name: str, config: ToolConfig) -> Tool:
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


def _breaker(config: ToolConfig) -> BreakerLimits | None:
    """The limits of an entry's breaker, if it has one."""
    given = config.breaker
    if isinstance(given, BreakerConfig):
        return given.live()
    is_on = isinstance(config, HttpTool) if given is None else given
    return BreakerLimits() if is_on else None


def _require_arguments(rule: ApprovalRule, parameters: dict[str, Any]) -> None:
    """Each condition is on an argument that the tool has.

    Raises:
        ToolDefinitionError: one is not.
    """
    known = parameters.get("properties", {})
    for name in (name for conditions in rule.when for name in conditions):
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near!r}?" if near else f"; it has {', '.join(known) or 'none'}"
            text = f"when is on an argument {name!r} that the tool does not have{hint}"
            raise ToolDefinitionError(text, "requires_approval", "bad-value")
