"""Tools made of entries of tools.yaml, and called as an agent calls them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tools import Tool, ToolCall, ToolExecutor, ToolResult
from tools.calls import CallEvent
from tools.clock import SYSTEM_CLOCK, Clock
from tools.config import ToolConfig
from tools.context import CallOrigin
from tools.kinds import ToolMaker
from tools.kinds.mcp.servers import Servers
from tools.limits.deadline import Limits
from tools.limits.guards import Guards
from tools.toolbox import ToolSet

PATIENT = Limits(sequence_seconds=50, tool_seconds=20, backoff_min_seconds=0.001)
CALLER = CallOrigin("run1", "agent1", "ann")
_entry: TypeAdapter[ToolConfig] = TypeAdapter(ToolConfig)


class MadeTool:
    """A tool, and what its calls came to."""

    def __init__(self, tool: Tool, limits: Limits, clock: Clock) -> None:
        self.tool, self.limits = tool, limits
        self._executor = ToolExecutor(limits, clock)
        self.events: list[CallEvent] = []
        self.on_event: Callable[[CallEvent], Awaitable[None]] | None = None
        self.caller = CALLER
        self._calls = 0

    async def __call__(self, **arguments: Any) -> ToolResult:
        """Call it."""
        self._calls += 1
        call = ToolCall(f"call{self._calls}", self.tool.name, arguments)
        tools = {self.tool.name: self.tool}
        return (await self._executor.run([call], tools, self._keep, self.caller))[0]

    async def _keep(self, event: CallEvent) -> None:
        self.events.append(event)
        if self.on_event is not None:
            await self.on_event(event)


@asynccontextmanager
async def tool_of(
    kind: str,
    folder: Path = Path(),
    *,
    limits: Limits = PATIENT,
    clock: Clock = SYSTEM_CLOCK,
    maker: ToolMaker | None = None,
    **entry: Any,
) -> AsyncIterator[MadeTool]:
    """The tool `T` of an entry."""
    maker = maker or ToolMaker(folder, Guards(clock))
    tool = maker.make("T", _entry.validate_python({"kind": kind, **entry}))
    assert isinstance(tool, Tool)
    try:
        yield MadeTool(tool, limits, clock)
    finally:
        if tool.close is not None:
            await tool.close()


@asynccontextmanager
async def tools_of(
    kind: str,
    folder: Path = Path(),
    *,
    limits: Limits = PATIENT,
    clock: Clock = SYSTEM_CLOCK,
    documents: Mapping[str, Any] | None = None,
    servers: Servers | None = None,
    **entry: Any,
) -> AsyncIterator[dict[str, MadeTool]]:
    """The tools of an entry `T` that makes several, by their names."""
    maker = ToolMaker(folder, Guards(clock), documents or {}, servers=servers or Servers())
    config = _entry.validate_python({"kind": kind, **entry})
    # it may ask a server of the test, which is served by this loop
    made = await asyncio.to_thread(maker.make, "T", config)
    assert isinstance(made, ToolSet)
    try:
        yield {tool.name: MadeTool(tool, limits, clock) for tool in made.tools}
    finally:
        for tool in made.tools:
            if tool.close is not None:
                await tool.close()
