"""Runs a sequence of calls: deadlines, order, retries, and exactly one result each."""

import asyncio
import logging
import random
import time
from collections.abc import Mapping, Sequence

import anyio

from tools.calls import CallRetried, CallStarted, Status, TellCall, ToolCall, ToolResult
from tools.deadline import Deadline, Limits
from tools.errors import ArgumentsError, PermanentError
from tools.output import as_text
from tools.retry import RETRIED, backoff_seconds, classify
from tools.schema import nearest
from tools.tool import Tool

log = logging.getLogger(__name__)

# Handlers that went on after their deadline; held so that the event loop does not lose them while
# they do.
_abandoned: set["asyncio.Task[str]"] = set()


class ToolExecutor:
    """Executes tools under one deadline per sequence."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()

    async def run(
        self, calls: Sequence[ToolCall], tools: Mapping[str, Tool], tell: TellCall
    ) -> list[ToolResult]:
        """Run the calls of one answer and return their results in the same order.

        Each result is told as its call ends. Never raises for a tool's sake; a cancellation of the
        caller goes through.
        """
        sequence = _Sequence(self.limits, tools, tell)
        if self.limits.parallel and len(calls) > 1:
            results: list[ToolResult | None] = [None] * len(calls)

            async def one(index: int, call: ToolCall) -> None:
                results[index] = await sequence.result(call)

            async with anyio.create_task_group() as group:
                for index, call in enumerate(calls):
                    group.start_soon(one, index, call)
            return [r for r in results if r is not None]
        return [await sequence.result(call) for call in calls]


class _Sequence:
    """One answer's calls, on one deadline."""

    def __init__(self, limits: Limits, tools: Mapping[str, Tool], tell: TellCall) -> None:
        self.limits, self.tools, self.tell = limits, tools, tell
        self.deadline = Deadline.after(time.monotonic(), limits)
        self.warned = False

    async def result(self, call: ToolCall) -> ToolResult:
        """The one result of a call."""
        began = time.monotonic()
        status, output, attempts = await self._outcome(call)
        result = ToolResult.of(call, status, output, attempts, time.monotonic() - began)
        await self.tell(result)
        return result

    async def _outcome(self, call: ToolCall) -> tuple[Status, str, int]:
        tool = self.tools.get(call.tool)
        if tool is None:
            near = nearest(call.tool, self.tools)
            hint = (
                f"did you mean {near!r}?"
                if near
                else f"the tools are: {', '.join(self.tools) or 'none'}"
            )
            return "error", f"there is no tool {call.tool!r}; {hint}", 0
        if call.flaw is not None:
            return "error", call.flaw, 0
        try:
            arguments = tool.check(call.arguments)
        except ArgumentsError as error:
            return "error", f"wrong arguments for {call.tool}: {error}", 0
        except Exception as error:
            # a validator in the tool's own types broke
            log.warning(
                "the argument types of tool %s raised %s",
                call.tool,
                type(error).__name__,
                exc_info=error,
            )
            return "error", f"the arguments of {call.tool} could not be checked: {error}", 0
        return await self._attempts(call, tool, arguments)

    async def _attempts(
        self, call: ToolCall, tool: Tool, arguments: dict[str, object]
    ) -> tuple[Status, str, int]:
        limits = self.limits
        wanted = tool.timeout_seconds if tool.timeout_seconds is not None else limits.tool_seconds
        retries = tool.retries if tool.retries is not None else limits.retries
        if tool.effect == "once":
            # an attempt that began may have acted
            retries = 0
        status: Status = "timeout"
        output = "not started: the time of this sequence of calls is used up"
        attempt = 0
        while True:
            seconds = self.deadline.allot(time.monotonic(), wanted)
            if seconds is None:
                return status, output, attempt
            self._warn_when_late(call)
            if attempt == 0:
                await self.tell(CallStarted(call, seconds, tool.effect == "once"))
            attempt += 1
            try:
                return "success", await _attempt(tool, arguments, seconds), attempt
            except Exception as error:
                kind = classify(error)
                status = "timeout" if kind == "timeout" else "error"
                output = _said(error, kind, seconds)
                if kind == "bug":
                    log.warning(
                        "tool %s raised %s", call.tool, type(error).__name__, exc_info=error
                    )
            wait = backoff_seconds(
                attempt - 1, limits.backoff_min_seconds, limits.backoff_max_seconds, random.random()
            )
            late = self.deadline.allot(time.monotonic() + wait, wanted) is None
            if kind not in RETRIED or attempt > retries or late:
                return status, output, attempt
            await self.tell(CallRetried(call, attempt, wait, output))
            await anyio.sleep(wait)

    def _warn_when_late(self, call: ToolCall) -> None:
        left = self.deadline.remaining(time.monotonic())
        if (
            not self.warned
            and left < self.limits.sequence_seconds * self.limits.warning_percent / 100
        ):
            self.warned = True
            log.warning(
                "tool %s starts with %.1f of %.1f s of its sequence left",
                call.tool,
                left,
                self.limits.sequence_seconds,
            )


async def _attempt(tool: Tool, arguments: dict[str, object], seconds: float) -> str:
    """One handler call in a task of its own.

    Which is left behind if it ignores its cancellation.
    """
    task = asyncio.ensure_future(_text_of(tool, arguments))
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_forget)
    if not done:
        raise TimeoutError(f"no result within {seconds:.3g} s")
    return task.result()


async def _text_of(tool: Tool, arguments: dict[str, object]) -> str:
    try:
        return as_text(await tool.call(arguments))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise PermanentError("the handler was cancelled from inside") from None
    except Exception:
        raise
    except BaseException as error:
        # SystemExit and KeyboardInterrupt of a handler must not end the event loop
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _forget(task: "asyncio.Task[str]") -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        # asking marks a late error as seen; its call has been answered already
        task.exception()


def _said(error: Exception, kind: str, seconds: float) -> str:
    """What the model reads of an error."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 # it is somebody's __str__
        text = ""
    if kind == "timeout":
        return text or f"timed out within {seconds:.3g} s"
    text = text or type(error).__name__
    return f"{type(error).__name__}: {text}" if kind == "bug" else text
