"""Runs a sequence of calls: deadlines, order, retries, and exactly one result each."""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.abandoned import abandon
from tools.calls import (
    MAX_OUTPUT_BYTES,
    SHOWN_CHARS,
    CallRetried,
    CallStarted,
    CallStatus,
    CallWarned,
    EmitCallEvent,
    FailedAttempt,
    QuestionRaised,
    ToolCall,
    ToolResult,
)
from tools.clock import NOT_HELD, SYSTEM_CLOCK, Clock
from tools.context import CallOrigin, Facts, FindSecret, ToolContext, find_no_secret
from tools.definition import Tool
from tools.errors import ArgumentsError, PermanentError, TemporaryError
from tools.forms import FormReply, FormsNeeded
from tools.handlers.output import serialize_output
from tools.handlers.progress import ProgressReports
from tools.limits.deadline import Deadline, Limits
from tools.limits.guards import Outcome, RefusedError, outcome_of
from tools.limits.results import KeptResults
from tools.limits.retry import RETRIED, Jitter, backoff_seconds, classify, describe_error
from tools.text.suggest import near_or_all

log = logging.getLogger(__name__)

NO_ORIGIN = CallOrigin()
NO_REPLIES: Mapping[str, FormReply] = {}


class ToolExecutor:
    """Executes tools under one deadline per sequence."""

    def __init__(
        self,
        limits: Limits | None = None,
        clock: Clock = SYSTEM_CLOCK,
        find_secret: FindSecret = find_no_secret,
        jitter: Jitter = random.random,
    ) -> None:
        """Of a crew.

        Args:
            limits: of the calls.
            clock: of their deadlines.
            find_secret: what `ToolContext.secret` uses.
            jitter: random numbers from 0 to 1, for waits before retries.
        """
        self.limits, self.clock = limits or Limits(), clock
        self.find_secret, self.jitter = find_secret, jitter
        self.kept = KeptResults(self.clock)

    async def run(
        self,
        calls: Sequence[ToolCall],
        tools: Mapping[str, Tool],
        emit: EmitCallEvent,
        caller: CallOrigin = NO_ORIGIN,
        replies: Mapping[str, FormReply] = NO_REPLIES,
        *,
        may_cache: bool = True,
    ) -> list[ToolResult]:
        """Run the calls of one answer and return their results in the same order.

        Each result is emitted as its call ends. A tool's error is never raised; a cancellation of
        the caller is. A call that needs a person's answer first has a QuestionRaised, no result.

        Args:
            calls: of one answer.
            tools: the agent's.
            emit: gets what happens.
            caller: who makes them.
            replies: by the ids of calls, a person's answers to their forms.
            may_cache: results of tools that are kept may be used, and these kept.
        """
        sequence = _Sequence(self, tools, emit, caller, replies, may_cache=may_cache)
        if not self.limits.parallel or len(calls) < 2:
            found = [await sequence.result(call) for call in calls]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(sequence.result(call)) for call in calls]
            found = [task.result() for task in tasks]
        return [result for result in found if result is not None]


class _Sequence:
    """One answer's calls, under one deadline."""

    def __init__(
        self,
        executor: ToolExecutor,
        tools: Mapping[str, Tool],
        emit: EmitCallEvent,
        caller: CallOrigin,
        replies: Mapping[str, FormReply],
        *,
        may_cache: bool,
    ) -> None:
        self.limits, self.clock = executor.limits, executor.clock
        self.find_secret, self.jitter = executor.find_secret, executor.jitter
        self.tools, self.emit, self.caller, self.replies = tools, emit, caller, replies
        self.kept, self.may_cache = executor.kept, may_cache
        self.deadline = Deadline.after(self.clock.monotonic(), self.limits)
        self.warned = False

    async def result(self, call: ToolCall) -> ToolResult | None:
        """Return the one result of a call; None: its tool asks a person first."""
        started = self.clock.monotonic()
        ended = await self._execute(call)
        if (asked := ended.asked) is not None:
            await self.emit(QuestionRaised(call, asked.forms, asked.state))
            return None
        seconds = self.clock.monotonic() - started
        tool = self.tools.get(call.tool)
        most = MAX_OUTPUT_BYTES if tool is None else tool.max_output_bytes
        own = {SHOWN_CHARS: tool.shown_chars} if tool is not None and tool.shown_chars else {}
        facts = {**ended.facts, **own}
        result = ToolResult.of(
            call, ended.status, ended.output, ended.attempts, seconds, facts, most
        )
        if ended.failed:
            result = replace(result, failed=tuple(ended.failed))
        await self.emit(result)
        return result

    async def _execute(self, call: ToolCall) -> "_Ended":
        tool = self.tools.get(call.tool)
        if tool is None:
            return _Ended("error", near_or_all(call.tool, self.tools))
        if call.argument_error is not None:
            return _Ended("error", call.argument_error)
        try:
            arguments = tool.check(call.arguments)
        except ArgumentsError as error:
            return _Ended("error", f"wrong arguments for {call.tool}: {error}")
        except Exception as error:
            # a validator in the tool's own types failed
            name = type(error).__name__
            log.warning("argument types of tool %s raised %s", call.tool, name, exc_info=error)
            return _Ended("error", f"the arguments of {call.tool} could not be checked: {error}")
        # what comes behind a call that may change something sees what was changed
        self.may_cache = self.may_cache and tool.effect == "read"
        is_kept = self.may_cache and tool.cache_seconds is not None
        key = tool.kept_key(call.arguments, self.caller.keeper) if is_kept else None
        if key is not None and (kept := self.kept.find(key)) is not None:
            return _Ended("success", kept, facts={"cached": True})
        ended = await _Call(self, call, tool, arguments).run()
        if key is not None and ended.status == "success" and ended.asked is None:
            self.kept.keep(key, ended.output, tool.cache_seconds or 0.0)
        return ended

    def warn_if_late(self, call: ToolCall) -> None:
        """Log once that little of the sequence's time is left."""
        total = self.limits.sequence_seconds
        left = self.deadline.remaining(self.clock.monotonic())
        if not self.warned and left < total * self.limits.warning_percent / 100:
            self.warned = True
            text = "tool %s starts with %.1f of %.1f s of its sequence left"
            log.warning(text, call.tool, left, total)


@dataclass(slots=True)
class _Ended:
    """How a call has ended."""

    status: CallStatus
    output: str
    attempts: int = 0
    facts: Facts = field(default_factory=dict)
    # a person is asked first
    asked: FormsNeeded | None = None
    # attempts before the last one
    failed: list[FailedAttempt] = field(default_factory=list)


class _Call:
    """One call with checked arguments, and its attempts."""

    def __init__(
        self, sequence: _Sequence, call: ToolCall, tool: Tool, arguments: dict[str, object]
    ) -> None:
        self.sequence, self.call, self.tool, self.arguments = sequence, call, tool, arguments
        limits, own = sequence.limits, tool.timeout_seconds
        self.wanted = limits.tool_seconds if own is None else own
        self.retries = limits.retries if tool.retries is None else tool.retries
        self.clock, self.emit = sequence.clock, sequence.emit
        self.context = ToolContext.of(
            sequence.caller,
            call.id,
            monotonic=self.clock.monotonic,
            find_secret=sequence.find_secret,
            reply=sequence.replies.get(call.id),
        )
        text = "not started: the time of this sequence of calls is used up"
        self.ended = _Ended("timeout", text, 0, self.context.facts)
        # the attempt before the one that comes next
        self.failed: FailedAttempt | None = None

    async def run(self) -> _Ended:
        """Make attempts until one succeeds or none is worth making."""
        ended = self.ended
        while (seconds := self._allotted()) is not None:
            try:
                error = await self._attempt_in_turn(seconds)
            except RefusedError as refused:
                self.context.note(refused=True)
                ended.output = str(refused) if not ended.attempts else f"{ended.output}; {refused}"
                ended.status = "error"
                return ended
            if error is None:
                return ended
            wait = self._wait(error)
            if not self._is_repeated(error, wait):
                return ended
            self.failed = FailedAttempt.of(ended.output, wait)
            await self.emit(CallRetried(self.call, ended.attempts, wait, ended.output))
            await self.clock.sleep(wait)
        return ended

    def _allotted(self, later: float = 0.0) -> float | None:
        """Return seconds that an attempt may take that begins in so many seconds; None: too few."""
        return self.sequence.deadline.allot(self.clock.monotonic() + later, self.wanted)

    async def _attempt_in_turn(self, seconds: float) -> Exception | None:
        """Make an attempt when it may be made; its error, if it failed."""
        guard = self.tool.guard
        if guard is None:
            return await self._attempt(seconds)
        error: Exception | None = TimeoutError()
        async with guard.turn(seconds) as turn:
            try:
                # waiting for it took time
                if (left := self._allotted()) is not None:
                    error = await self._attempt(left)
                    turn.outcome = self._outcome(error)
            finally:
                breaker = turn.end()
        if breaker is not None:
            limits = breaker.limits
            text = f"{self.tool.name} failed {limits.failures} times in a row; its calls are"
            text = f"{text} refused for {limits.open_seconds:g} s, then one is tried"
            await self.emit(CallWarned("breaker_open", text))
        return error

    def _outcome(self, error: Exception | None) -> Outcome:
        kind = None if error is None else classify(error)
        return outcome_of(error, kind, int(self.context.facts.get("http_status", 0)))

    async def _attempt(self, seconds: float) -> Exception | None:
        """Make an attempt; its error, if it failed."""
        call, tool, ended = self.call, self.tool, self.ended
        self.sequence.warn_if_late(call)
        if ended.attempts == 0:
            await self.emit(
                CallStarted(call, seconds, tool.effect == "once", tool.effect == "read")
            )
        ended.attempts += 1
        if self.failed is not None:
            ended.failed.append(self.failed)
        try:
            ended.output = await self._call_in_time(seconds)
        except FormsNeeded as asked:
            ended.asked = asked
        except Exception as error:
            kind = classify(error)
            ended.status = "timeout" if kind == "timeout" else "error"
            ended.output = describe_error(error, kind, seconds)
            if kind == "bug":
                name = type(error).__name__
                log.warning("tool %s raised %s", call.tool, name, exc_info=error)
            return error
        ended.status = "success"
        return None

    def _wait(self, error: Exception) -> float:
        """Return seconds until the next attempt."""
        limits = self.sequence.limits
        shortest, longest = limits.backoff_min_seconds, limits.backoff_max_seconds
        wait = backoff_seconds(self.ended.attempts - 1, shortest, longest, self.sequence.jitter())
        asked = error.after_seconds if isinstance(error, TemporaryError) else 0.0
        return max(wait, asked)

    def _is_repeated(self, error: Exception, wait: float) -> bool:
        # an attempt that started may have acted, unless it is known that nothing went out
        may_repeat = self.tool.effect != "once" or self.context.facts.get("sent") is False
        is_worth_it = classify(error) in RETRIED and self.ended.attempts <= self.retries
        return may_repeat and is_worth_it and self._allotted(wait) is not None

    async def _call_in_time(self, seconds: float) -> str:
        """Return one handler call, in a task that is abandoned if it ignores its cancellation."""
        progress = ProgressReports(self.call, self.emit)
        context = self.context
        context.begin(self.clock.monotonic() + seconds, progress.tell)
        task = asyncio.ensure_future(_call_handler(self.tool, self.arguments, context))
        timeout = self.clock.timeout(seconds)
        hold = self.clock.hold() if self.tool.leaves_loop else NOT_HELD
        try:
            with hold:
                async with timeout:
                    await asyncio.wait({task})
        except TimeoutError:
            raise TimeoutError(f"no result within {seconds:.3g} s") from None
        finally:
            await progress.end()
            for code, text in context.take_warnings():
                await self.emit(CallWarned(code, text))
            if not task.done():
                abandon(task)
        return task.result()


async def _call_handler(tool: Tool, arguments: dict[str, object], context: ToolContext) -> str:
    try:
        return serialize_output(await tool.act(arguments, context))
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
