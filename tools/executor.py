"""Runs a sequence of calls: deadlines, order, retries, and exactly one result each."""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence

from tools.calls import CallRetried, CallStarted, CallStatus, EmitCallEvent, ToolCall, ToolResult
from tools.clock import SYSTEM_CLOCK, Clock
from tools.deadline import Deadline, Limits
from tools.errors import ArgumentsError, PermanentError
from tools.output import serialize_output
from tools.retry import RETRIED, ErrorClass, backoff_seconds, classify
from tools.suggest import nearest
from tools.tool import Tool

log = logging.getLogger(__name__)

# Handlers that still run after their deadline; the event loop keeps only weak references to them.
_abandoned: set["asyncio.Task[str]"] = set()


class ToolExecutor:
    """Executes tools under one deadline per sequence."""

    def __init__(self, limits: Limits | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.limits, self.clock = limits or Limits(), clock

    async def run(
        self, calls: Sequence[ToolCall], tools: Mapping[str, Tool], emit: EmitCallEvent
    ) -> list[ToolResult]:
        """Run the calls of one answer and return their results in the same order.

        Each result is emitted as its call ends. A tool's error is never raised; a cancellation
        of the caller is.
        """
        sequence = _Sequence(self.limits, self.clock, tools, emit)
        if not self.limits.parallel or len(calls) < 2:
            return [await sequence.result(call) for call in calls]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(sequence.result(call)) for call in calls]
        return [task.result() for task in tasks]


class _Sequence:
    """One answer's calls, under one deadline."""

    def __init__(
        self, limits: Limits, clock: Clock, tools: Mapping[str, Tool], emit: EmitCallEvent
    ) -> None:
        self.limits, self.clock, self.tools, self.emit = limits, clock, tools, emit
        self.deadline = Deadline.after(clock.monotonic(), limits)
        self.warned = False

    async def result(self, call: ToolCall) -> ToolResult:
        """The one result of a call."""
        started = self.clock.monotonic()
        status, output, attempts = await self._execute(call)
        seconds = self.clock.monotonic() - started
        result = ToolResult.of(call, status, output, attempts, seconds)
        await self.emit(result)
        return result

    async def _execute(self, call: ToolCall) -> tuple[CallStatus, str, int]:
        tool = self.tools.get(call.tool)
        if tool is None:
            return "error", f"there is no tool {call.tool!r}; {self._hint(call.tool)}", 0
        if call.argument_error is not None:
            return "error", call.argument_error, 0
        try:
            arguments = tool.check(call.arguments)
        except ArgumentsError as error:
            return "error", f"wrong arguments for {call.tool}: {error}", 0
        except Exception as error:
            # a validator in the tool's own types failed
            name = type(error).__name__
            log.warning("argument types of tool %s raised %s", call.tool, name, exc_info=error)
            return "error", f"the arguments of {call.tool} could not be checked: {error}", 0
        return await self._attempt_all(call, tool, arguments)

    def _hint(self, name: str) -> str:
        near = nearest(name, self.tools)
        if near is not None:
            return f"did you mean {near!r}?"
        return f"the tools are: {', '.join(self.tools) or 'none'}"

    async def _attempt_all(
        self, call: ToolCall, tool: Tool, arguments: dict[str, object]
    ) -> tuple[CallStatus, str, int]:
        limits = self.limits
        wanted = limits.tool_seconds if tool.timeout_seconds is None else tool.timeout_seconds
        retries = limits.retries if tool.retries is None else tool.retries
        if tool.effect == "once":
            # an attempt that started may have acted
            retries = 0
        status: CallStatus = "timeout"
        output = "not started: the time of this sequence of calls is used up"
        attempt = 0
        while True:
            seconds = self.deadline.allot(self.clock.monotonic(), wanted)
            if seconds is None:
                return status, output, attempt
            self._warn_if_late(call)
            if attempt == 0:
                await self.emit(CallStarted(call, seconds, tool.effect == "once"))
            attempt += 1
            try:
                return "success", await self._attempt(tool, arguments, seconds), attempt
            except Exception as error:
                kind = classify(error)
                status = "timeout" if kind == "timeout" else "error"
                output = describe_error(error, kind, seconds)
                if kind == "bug":
                    name = type(error).__name__
                    log.warning("tool %s raised %s", call.tool, name, exc_info=error)
            wait = self._backoff(attempt)
            late = self.deadline.allot(self.clock.monotonic() + wait, wanted) is None
            if kind not in RETRIED or attempt > retries or late:
                return status, output, attempt
            await self.emit(CallRetried(call, attempt, wait, output))
            await self.clock.sleep(wait)

    def _backoff(self, attempt: int) -> float:
        shortest, longest = self.limits.backoff_min_seconds, self.limits.backoff_max_seconds
        return backoff_seconds(attempt - 1, shortest, longest, random.random())

    def _warn_if_late(self, call: ToolCall) -> None:
        total = self.limits.sequence_seconds
        left = self.deadline.remaining(self.clock.monotonic())
        if not self.warned and left < total * self.limits.warning_percent / 100:
            self.warned = True
            text = "tool %s starts with %.1f of %.1f s of its sequence left"
            log.warning(text, call.tool, left, total)

    async def _attempt(self, tool: Tool, arguments: dict[str, object], seconds: float) -> str:
        """One handler call, in a task that is abandoned if it ignores its cancellation."""
        task = asyncio.ensure_future(_call_handler(tool, arguments))
        timeout = self.clock.timeout(seconds)
        try:
            async with timeout:
                await asyncio.wait({task})
        except TimeoutError:
            raise TimeoutError(f"no result within {seconds:.3g} s") from None
        finally:
            if not task.done():
                task.cancel()
                _abandoned.add(task)
                task.add_done_callback(_forget)
        return task.result()


async def _call_handler(tool: Tool, arguments: dict[str, object]) -> str:
    try:
        return serialize_output(await tool.call(arguments))
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
        # marks a late error as retrieved; its call has its result already
        task.exception()


def describe_error(error: Exception, kind: ErrorClass, seconds: float) -> str:
    """What the model reads of a handler's error; `seconds`: the time of the attempt."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 # somebody's __str__ may raise anything
        text = ""
    if kind == "timeout":
        return text or f"timed out within {seconds:.3g} s"
    text = text or type(error).__name__
    return f"{type(error).__name__}: {text}" if kind == "bug" else text
