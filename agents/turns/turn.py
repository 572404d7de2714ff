"""One agent's turn: it speaks (one model call), and it acts (the calls of its answer)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.agent import Agent
from agents.context.loaded import Context
from agents.digests import digests_of
from agents.errors import BudgetExceeded, ModelError
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    Compacted,
    ContextShown,
    EmitAgentEvent,
    ModelCalled,
    Shown,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.limits import AUTO, BEGINNING, NO_LIMITS, NO_TOOLS, Standing
from agents.messages import Message
from agents.model import (
    Meter,
    ModelEvent,
    ModelNotice,
    ModelReply,
    RequestEnded,
    TextDelta,
    ThinkingDelta,
)
from agents.stages import Stages
from agents.turns.answers import AnswerReader, typed_fields
from agents.turns.kept import answer_or_kept, keep_answer
from agents.turns.request import (
    Prepared,
    Wanted,
    count_blocks,
    messages_through,
    prepare_request,
    window_of,
)
from agents.turns.requests import Requests
from agents.turns.shortening import condense
from tools.calls import (
    CallEvent,
    CallProgressed,
    CallRetried,
    CallStarted,
    CallWarned,
    QuestionRaised,
    ToolCall,
    ToolResult,
)
from tools.context import CallOrigin
from tools.definition import Component
from tools.executor import NO_REPLIES
from tools.forms import FormReply
from tools.schemas.shown import UnshownError, read_shown

# a request that is too long for its model is made again so often, with this part of it
OVERFLOW_TRIES = 2
OVERFLOW_PART = 0.75


@dataclass(frozen=True, slots=True)
class Turn:
    """An agent's turn in one run; what happens is emitted, nothing is returned."""

    agent: Agent
    # the group it speaks in, if any
    group: str | None
    # who makes its calls
    caller: CallOrigin
    emit: EmitAgentEvent
    # counts its time
    stages: Stages
    # what it is shown beside the run's own messages
    context: Context
    # by agent, its newest typed answer in the run
    outputs: Mapping[str, Mapping[str, Any]]
    # results of earlier calls may be used: nothing was changed in the run
    may_cache: Callable[[], bool]
    # of the ids of its calls
    prefix: str = ""
    # reserves what its model may cost; None: nothing bounds that
    meter: Meter | None = None

    async def speak(
        self,
        history: Sequence[Message],
        *,
        round: int,
        announce: bool,
        stream: bool,
        standing: Standing = BEGINNING,
    ) -> None:
        """Ask the model once and emit its answer.

        Args:
            history: the conversation so far.
            round: the number of this model call.
            announce: emit `AgentStarted` first (not when a step is made again).
            stream: emit the text as it is written.
            standing: of the turn, before this call.

        Raises:
            ModelError: the model, and its backup if it has one, failed for good.
        """
        agent = self.agent
        if announce:
            name = agent.model.name
            await self.emit(AgentStarted(agent.id, agent.name, self.group, round, name))
        choice, limit = AUTO, None
        if agent.limits is not NO_LIMITS:
            choice, limit = agent.limits.choose(standing.rounds, standing.failed)
        # what is not checked yet is not published
        streams = stream and agent.output is None
        is_last = limit == "max_rounds"
        of_run = (self.prefix, self.meter)
        wanted = Wanted(streams, standing.found, self.outputs, choice, is_last, *of_run)
        started = agent.clock.monotonic()
        requests = Requests(agent.clock)
        try:
            reply, prepared = await self._reply(history, wanted, requests)
        except BudgetExceeded:
            # it was not called
            raise
        except ModelError as error:
            await self.emit(AgentFailed(agent.id, agent.name, error.code))
            raise
        reader = AnswerReader(agent, self.context, self._warn, self.prefix, standing)
        read = await reader.read(reply, round, history, may_call=choice is not NO_TOOLS)
        calls = read.calls
        if agent.kept is not None and read.is_right:
            keep_answer(agent, prepared, self.caller.keeper, reply, requests.ended)
        if len(calls) > agent.max_calls:
            await self.emit(AgentFailed(agent.id, agent.name, "unreadable"))
            text = f"{reply.model} made {len(calls)} calls in one answer"
            most = f"settings.max_calls_per_answer = {agent.max_calls}"
            raise ModelError("unreadable", f"{text}; {most}")
        typed = agent.output
        responded = AgentResponded(
            agent.id,
            agent.name,
            self.group,
            round,
            read.content,
            agent.clock.monotonic() - started,
            reply.usage,
            reply.model,
            calls,
            read.native,
            reply.extra,
            requests.provider,
            requests.failed,
            digests_of(prepared.request, prepared.context),
            cached=reply.cached,
            is_direct=bool(calls) and self._is_direct(calls),
            limit=limit,
            is_refused=read.is_refused,
            first_token_seconds=requests.first_token_seconds,
            waited_seconds=requests.waited_seconds,
            **({} if typed is None else typed_fields(typed, read.checked, standing.sent_back)),
        )
        await self.emit(responded)

    def _is_direct(self, calls: Sequence[ToolCall]) -> bool:
        """Return whether the output of an answer's calls is to be the agent's answer."""
        tools = [self.agent.tools.get(call.tool) for call in calls]
        return all(tool is not None and tool.is_direct for tool in tools)

    async def act(
        self, calls: Sequence[ToolCall], replies: Mapping[str, FormReply] = NO_REPLIES
    ) -> None:
        """Run calls of the agent's last answer and emit their results.

        Args:
            calls: some of them.
            replies: by the ids of calls, a person's answers to their forms.
        """
        tools, emit, may_cache = self.agent.tools, self._emit_call_event, self.may_cache()
        run = self.agent.executor.run
        with self.stages.during("tools"):
            await run(calls, tools, emit, self.caller, replies, may_cache=may_cache)

    async def _reply(
        self,
        history: Sequence[Message],
        wanted: Wanted,
        requests: Requests,
    ) -> tuple[ModelReply, Prepared]:
        """Return the model's answer, and to what; `requests` gets those that were made.

        A request that is too long is made again, shorter each time.
        """

        async def emit(event: ModelEvent) -> None:
            requests.note(event)
            if isinstance(event, RequestEnded):
                await self.emit(ModelCalled(self.agent.id, self.agent.name, event))
            else:
                await self._emit_model_event(event)

        agent, window = self.agent, window_of(self.agent)
        prepared = await self._prepare(history, wanted, window)
        for tries_left in reversed(range(OVERFLOW_TRIES + 1)):
            try:
                with self.stages.during("models"), requests.calling():
                    if agent.kept is None:
                        return await agent.model.reply(prepared.request, emit), prepared
                    user = self.caller.keeper
                    reply = await answer_or_kept(agent, prepared, user, emit, requests.ended)
                    return reply, prepared
            except ModelError as error:
                if error.code != "context_overflow" or not tries_left:
                    raise
                overflow = error
            size = prepared.tokens
            window = int(min(window, size) * OVERFLOW_PART)
            loaded = prepared.loaded
            prepared = prepare_request(agent, history, self.context, loaded, window, wanted)
            if prepared.tokens >= size:
                # what is left must stay
                raise overflow
            await self._warn("context_overflow", f"{overflow}; made again, about a quarter shorter")
            await self._tell_context(prepared)
        raise AssertionError("the last try returns or raises")

    async def _prepare(self, history: Sequence[Message], wanted: Wanted, window: int) -> Prepared:
        """Return the request, after what was loaded for it."""
        agent, clock = self.agent, self.agent.clock
        with self.stages.during("context"):
            started = clock.monotonic()
            loaded = await self.context.get()
            seconds = clock.monotonic() - started
            prepared = prepare_request(agent, history, self.context, loaded, window, wanted)
            if prepared.fitted.own and await self._compact(history, prepared):
                prepared = prepare_request(agent, history, self.context, loaded, window, wanted)
        await self._tell_context(prepared, seconds)
        return prepared

    async def _tell_context(self, prepared: Prepared, seconds: float = 0.0) -> None:
        agent, loaded = self.agent, prepared.loaded
        if not (agent.context.is_told or loaded.is_conversation):
            return
        if not self.context.is_news(prepared.fitted.left_out):
            return
        if late := loaded.late:
            limit = f"context.load_timeout_millis = {agent.context.load_timeout_seconds * 1000:g}"
            await self._warn("context_late", f"{', '.join(late)} took longer than {limit}")
        for problem in (one for block in loaded.before for one in block.problems):
            await self._warn("core_left_out", f"of core memory is not shown: {problem}")
        window, blocks = agent.context.window_tokens, count_blocks(agent, prepared)
        tokens = prepared.tokens
        shown = ContextShown(agent.id, agent.name, self.group, window, tokens, blocks, seconds)
        await self.emit(shown)

    async def _compact(self, history: Sequence[Message], prepared: Prepared) -> bool:
        """Let a helper condense the run's oldest messages that do not fit; whether it did."""
        agent, helper = self.agent, self.agent.compactor
        if helper is None or self.context.helper_failed:
            return False
        through = messages_through(agent, history, self.context, prepared.fitted.own)
        if through < 2:
            return False
        try:
            shorter = await condense(agent, helper, history[1:through], self.emit, self.meter)
        except ModelError as error:
            self.context.helper_failed = True
            await self._warn("helper_failed", f"older messages are left out instead: {error}")
            return False
        await self.emit(Compacted(agent.id, agent.name, self.group, through, *shorter))
        return True

    async def _warn(self, code: str, text: str) -> None:
        agent = self.agent
        await self.emit(Warned(code, text, agent.id, agent.name, self.group))

    async def _emit_model_event(self, event: TextDelta | ThinkingDelta | ModelNotice) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case TextDelta(text):
                await self.emit(AgentDelta(id_, name, group, text))
            case ThinkingDelta(text):
                await self.emit(AgentDelta(id_, name, group, text, is_thinking=True))
            case ModelNotice(code, message):
                await self.emit(Warned(code, message, id_, name, group, retryable=True))

    async def _emit_call_event(self, event: CallEvent) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case CallStarted(call, timeout_seconds, once, reads):
                await self.emit(
                    ToolStarted(id_, name, group, call, timeout_seconds, once, reads=reads)
                )
            case CallRetried():
                await self.emit(ToolRetried(id_, name, event))
            case QuestionRaised():
                await self.emit(ToolAsked(id_, name, group, event))
            case CallProgressed():
                await self.emit(ToolProgressed(id_, name, group, event))
            case CallWarned(code, text):
                await self._warn(code, text)
            case ToolResult():
                tool = self.agent.tools.get(event.tool)
                if tool is not None and tool.component is not None:
                    event = await self._show(event, tool.component)
                await self.emit(ToolReturned(id_, name, group, event))

    async def _show(self, result: ToolResult, component: Component) -> ToolResult:
        """Show a result to people by its tool's component; return what models get of it."""
        if result.status != "success":
            return result
        try:
            data, text = read_shown(result.output, component.text)
        except UnshownError as error:
            why = f"{result.tool} is not shown by {component.name}: {error}"
            await self._warn("not_shown", why)
            return result
        agent, group = self.agent, self.group
        where = (component.name, result.tool, result.call_id)
        await self.emit(Shown(agent.id, agent.name, group, *where, data))
        return result.with_output(text)
