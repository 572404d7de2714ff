"""Sequences of tool calls, run without a crew."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tools import Tool, ToolCall, ToolExecutor, ToolResult, VirtualClock, tool
from tools.clock import SYSTEM_CLOCK, Clock
from tools.limits.deadline import Limits

QUICK = Limits(
    sequence_seconds=1,
    tool_seconds=0.2,
    overhead_seconds=0,
    minimum_seconds=0.02,
    backoff_min_seconds=0.001,
)


async def run(
    calls: list[ToolCall], *tools: Tool, limits: Limits = QUICK, clock: Clock = SYSTEM_CLOCK
) -> tuple[list[ToolResult], list[Any]]:
    """The results of a sequence, and all events."""
    events: list[Any] = []

    async def emit(event: Any) -> None:
        events.append(event)

    return await ToolExecutor(limits, clock).run(calls, {t.name: t for t in tools}, emit), events


@asynccontextmanager
async def moving_clock() -> AsyncIterator[VirtualClock]:
    """A clock that moves on whenever nothing else happens."""
    clock = VirtualClock()
    moving = asyncio.create_task(clock.run())
    yield clock
    moving.cancel()


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"id{n}", name) for n, name in enumerate(names)]


def failing(error: Callable[[], BaseException], times: int = 99, **settings: Any) -> Tool:
    """A tool that raises so many times, then answers how often it was called."""
    count = 0

    @tool(name="failing", **settings)
    async def failing() -> str:
        nonlocal count
        count += 1
        if count <= times:
            raise error()
        return str(count)

    return failing
