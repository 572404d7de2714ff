"""A tool with a function that runs in processes of its own, started when needed and kept."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.config.python import PythonTool
from tools.context import ToolContext
from tools.definition import Tool
from tools.errors import PermanentError, TemporaryError
from tools.kinds.python.messages import Call, Reply, Setup
from tools.kinds.python.process import IsolatedProcess
from tools.loops import PerLoop

# of one tool, at work at the same time; further calls wait, until their deadlines
MAX_PROCESSES = 16
# of one tool, kept for the next calls
MAX_IDLE = 2


def isolated(tool: Tool, config: PythonTool, folder: Path) -> Tool:
    """Return a Python tool, called in processes of its own.

    Args:
        tool: as `python_tool` made it.
        config: its entry in tools.yaml.
        folder: the crew's folder.
    """
    setup = Setup(
        tool.name,
        config.function,
        config.parameters,
        config.max_memory_mb,
        config.max_cpu_seconds,
        str(folder.resolve()),
    )
    processes = _Processes(setup)

    def check(arguments: dict[str, Any]) -> dict[str, Any]:
        # made into Python values in the process, which is given them as they came
        tool.check(arguments)
        return arguments

    return replace(tool, act=processes.call, check=check, read=tool.check, close=processes.close)


class _Pool:
    """The processes of one event loop."""

    def __init__(self) -> None:
        self.idle: list[IsolatedProcess] = []
        # those that were not gone when another was started
        self.started: list[IsolatedProcess] = []
        self.turns = asyncio.Semaphore(MAX_PROCESSES)

    def take_idle(self) -> IsolatedProcess | None:
        """Return a process that does nothing, if there is one."""
        while self.idle:
            if not (process := self.idle.pop()).has_ended:
                return process
        return None


class _Processes:
    """All processes of one tool."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._pool = PerLoop(_Pool)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Call the function; its process is killed when this is cancelled."""
        pool = self._pool.get()
        async with pool.turns:
            process = pool.take_idle() or await self._start(pool)
            call = Call(
                arguments,
                context.call_id,
                context.run_id,
                context.agent_id,
                context.user,
                context.group,
                context.owner,
                context.user_id,
                context.conversation_id,
                context.traceparent,
                context.remaining_seconds,
            )
            try:
                reply = await process.ask(call, context)
            except BaseException:
                process.kill()
                raise
        if reply.is_last or len(pool.idle) >= MAX_IDLE:
            process.kill()
        else:
            pool.idle.append(process)
        return _result(reply)

    async def _start(self, pool: "_Pool") -> IsolatedProcess:
        process = await IsolatedProcess.start()
        pool.started = [one for one in pool.started if not one.has_ended]
        pool.started.append(process)
        try:
            reply = await process.ask(self.setup, ToolContext())
            if reply.outcome != "success":
                raise PermanentError(f"its process did not start: {reply.text}")
        except BaseException:
            process.kill()
            raise
        return process

    async def close(self) -> None:
        """End the processes, and wait until they are gone."""
        pool = self._pool.take()
        for process in pool.started if pool is not None else ():
            process.kill()
            await process.ended()


def _result(reply: Reply) -> str:
    match reply.outcome:
        case "success":
            return reply.text
        case "timeout":
            raise TimeoutError(reply.text)
        case "temporary":
            raise TemporaryError(reply.text)
        case "permanent":
            raise PermanentError(reply.text)
