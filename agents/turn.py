"""One agent's turn: it speaks (one model call), and it acts (the calls of its answer)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from agents.agent import Agent
from agents.context.blocks import as_data, cut_to
from agents.context.loaded import Context
from agents.context.view import lines_of_others, text_of
from agents.digests import digests_of
from agents.errors import ModelError
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    Compacted,
    ContextShown,
    EmitAgentEvent,
    FailedRequest,
    ModelCalled,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.messages import AgentMessage, CompactedMessage, Message
from agents.model import ModelEvent, ModelNotice, ModelReply, RequestEnded, TextDelta
from agents.request import Prepared, count_blocks, messages_through, prepare_request, window_of
from agents.stages import Stages
from agents.written.call_names import with_own_name
from agents.written.find import find_written_calls
from agents.written.text_calls import bare_lines, find_calls
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
from tools.executor import NO_REPLIES
from tools.forms import FormReply

# a request that is too long for its model is made again so often, with this part of it
OVERFLOW_TRIES = 2
OVERFLOW_PART = 0.75
# of what stands for a run's oldest messages
MAX_COMPACTED_TOKENS = 1000


class Shortened(BaseModel):
    """What a helper makes of a run's oldest messages."""

    summary: str


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

    async def speak(
        self,
        history: Sequence[Message],
        *,
        round: int,
        announce: bool,
        stream: bool,
        found: Sequence[str] = (),
    ) -> None:
        """Ask the model once and emit its answer.

        Args:
            history: the conversation so far.
            round: the number of this model call.
            announce: emit `AgentStarted` first (not when a step is made again).
            stream: emit the text as it is written.
            found: the tools that it has found, where it is not shown all.

        Raises:
            ModelError: the model, and its backup if it has one, failed for good.
        """
        agent = self.agent
        if announce:
            name = agent.model.name
            await self.emit(AgentStarted(agent.id, agent.name, self.group, round, name))
        started = agent.clock.monotonic()
        requests: list[RequestEnded] = []
        try:
            reply, prepared = await self._reply(history, stream, found, requests)
        except ModelError as error:
            await self.emit(AgentFailed(agent.id, agent.name, error.code))
            raise
        calls, native = await self._calls(reply, round, history)
        calls = await self._with_own_ids(calls, round, history)
        if len(calls) > agent.max_calls:
            await self.emit(AgentFailed(agent.id, agent.name, "unreadable"))
            text = f"{reply.model} made {len(calls)} calls in one answer"
            limit = f"settings.max_calls_per_answer = {agent.max_calls}"
            raise ModelError("unreadable", f"{text}; {limit}")
        responded = AgentResponded(
            agent.id,
            agent.name,
            self.group,
            round,
            reply.content,
            agent.clock.monotonic() - started,
            reply.usage,
            reply.model,
            calls,
            native,
            reply.extra,
            requests[-1].provider if requests else "",
            tuple([_failed(one) for one in requests if one.outcome != "success"]),
            digests_of(prepared.request, prepared.context),
        )
        await self.emit(responded)

    async def act(
        self, calls: Sequence[ToolCall], replies: Mapping[str, FormReply] = NO_REPLIES
    ) -> None:
        """Run calls of the agent's last answer and emit their results.

        Args:
            calls: some of them.
            replies: by the ids of calls, a person's answers to their forms.
        """
        agent = self.agent
        emit = self._emit_call_event
        with self.stages.during("tools"):
            await agent.executor.run(calls, agent.tools, emit, self.caller, replies)

    async def _reply(
        self,
        history: Sequence[Message],
        stream: bool,
        found: Sequence[str],
        requests: list[RequestEnded],
    ) -> tuple[ModelReply, Prepared]:
        """Return the model's answer, and to what; `requests` gets those that were made.

        A request that is too long is made again, shorter each time.
        """

        async def emit(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                requests.append(event)
                await self.emit(ModelCalled(self.agent.id, self.agent.name, event))
            else:
                await self._emit_model_event(event)

        agent, window = self.agent, window_of(self.agent)
        prepared = await self._prepare(history, stream, found, window)
        for tries_left in reversed(range(OVERFLOW_TRIES + 1)):
            try:
                with self.stages.during("models"):
                    return await agent.model.reply(prepared.request, emit), prepared
            except ModelError as error:
                if error.code != "context_overflow" or not tries_left:
                    raise
                overflow = error
            size = prepared.tokens
            window = int(min(window, size) * OVERFLOW_PART)
            loaded = prepared.loaded
            prepared = prepare_request(
                agent, history, self.context, loaded, found, window, stream=stream
            )
            if prepared.tokens >= size:
                # what is left must stay
                raise overflow
            await self._warn("context_overflow", f"{overflow}; made again, about a quarter shorter")
            await self._tell_context(prepared)
        raise AssertionError("the last try returns or raises")

    async def _prepare(
        self, history: Sequence[Message], stream: bool, found: Sequence[str], window: int
    ) -> Prepared:
        """Return the request, after what was loaded for it."""
        agent, clock = self.agent, self.agent.clock
        with self.stages.during("context"):
            started = clock.monotonic()
            loaded = await self.context.get()
            seconds = clock.monotonic() - started
            prepared = prepare_request(
                agent, history, self.context, loaded, found, window, stream=stream
            )
            if prepared.fitted.own and await self._compact(history, prepared):
                prepared = prepare_request(
                    agent, history, self.context, loaded, found, window, stream=stream
                )
        await self._tell_context(prepared, seconds)
        return prepared

    async def _tell_context(self, prepared: Prepared, seconds: float = 0.0) -> None:
        agent, loaded = self.agent, prepared.loaded
        if not (agent.context.is_told or loaded.is_conversation):
            return
        if not self.context.is_news(prepared.fitted.left_out):
            return
        late = [one.kind for one in loaded.before if one.is_late]
        late += ["history"] * loaded.history_is_late
        if late:
            limit = f"context.load_timeout_millis = {agent.context.load_timeout_seconds * 1000:g}"
            await self._warn("context_late", f"{', '.join(late)} took longer than {limit}")
        window, blocks = agent.context.window_tokens, count_blocks(agent, prepared)
        tokens = prepared.tokens
        shown = ContextShown(agent.id, agent.name, self.group, window, tokens, blocks, seconds)
        await self.emit(shown)

    async def _compact(self, history: Sequence[Message], prepared: Prepared) -> bool:
        """Let a helper shorten the run's oldest messages that do not fit; whether it did."""
        agent, helper = self.agent, self.agent.compactor
        counted_by = agent.context.tokenizer
        if helper is None or self.context.helper_failed:
            return False
        through = messages_through(agent, history, self.context, prepared.fitted.own)
        if through < 2:
            return False
        # what is longer than the window is no request for a helper, either
        most = agent.context.window_tokens // 2
        text = cut_to(text_of(history[1:through]), most, counted_by)

        async def tell(event: ModelEvent) -> None:
            if isinstance(event, RequestEnded):
                await self.emit(ModelCalled(helper.agent_id, helper.agent_id, event))

        try:
            answer = await helper.ask(as_data("messages", text), Shortened, tell)
        except ModelError as error:
            self.context.helper_failed = True
            await self._warn("helper_failed", f"older messages are left out instead: {error}")
            return False
        before, after = counted_by.count(text), counted_by.count(answer.summary)
        short = cut_to(answer.summary, MAX_COMPACTED_TOKENS, counted_by)
        await self.emit(Compacted(agent.id, agent.name, self.group, through, short, before, after))
        return True

    async def _calls(
        self, reply: ModelReply, round: int, history: Sequence[Message]
    ) -> tuple[tuple[ToolCall, ...], bool]:
        """Return the calls of an answer, and whether they came natively."""
        mode = self.agent.tool_call_mode
        if reply.calls or mode == "native":
            return tuple(with_own_name(call, self.agent.tools) for call in reply.calls), True
        tools = self.agent.tools.values()
        properties = {tool.name: tool.parameters.get("properties", {}) for tool in tools}
        marked = find_written_calls(reply.content, properties) if reply.has_written_calls else []
        found = marked or find_calls(reply.content, properties)
        if found and not marked and mode == "auto" and reply.has_native_calls:
            tool = found[0].call.tool
            text = f"{reply.model} has native calls, so {tool}(…) in its text is none"
            await self._warn("call_in_text", f"{text}; tool_call_mode: text would make it one")
            return (), True
        # what stands in the conversation may be quoted: it is not what this agent wants
        lines = await self._shown_lines(history) if found else []
        quotations = [one for one in found if one.stands_in(lines)]
        made = [one.call for one in found if one not in quotations]
        if quotations:
            quoted = quotations[0].call.tool
            text = f"{quoted}(…) stands word for word in what {self.agent.name} was shown"
            await self._warn("quoted_call", f"{text}, so it is taken for a quotation and not made")
        prefix = f"{self.agent.id}-{round}"
        calls = tuple(replace(call, id=f"{prefix}-{n}") for n, call in enumerate(made, 1))
        return calls, not made

    async def _shown_lines(self, history: Sequence[Message]) -> list[str]:
        """Return the lines that others wrote, of all that the agent was shown."""
        loaded = await self.context.get()
        past = [message for one in loaded.past for message in one.messages]
        before = [line for one in loaded.before for line in bare_lines(one.text)]
        return [*before, *lines_of_others([*past, *history], self.agent.id)]

    async def _with_own_ids(
        self, calls: tuple[ToolCall, ...], round: int, history: Sequence[Message]
    ) -> tuple[ToolCall, ...]:
        """Return the calls with ids that no earlier call of the conversation has.

        Some servers begin anew with each answer; an id is part of the key by which an API knows the
        same call again.
        """
        if not calls:
            return calls
        past = [message for one in (await self.context.get()).past for message in one.messages]
        messages = [one for one in [*past, *history] if isinstance(one, AgentMessage)]
        known = {call.id for message in messages for call in message.calls}
        known |= {
            call_id
            for one in history
            if isinstance(one, CompactedMessage)
            for call_id in one.call_ids
        }
        own = []
        for call in calls:
            id_, number = call.id, round
            while id_ in known:
                id_, number = f"{call.id}-{number}", number + 1
            own.append(replace(call, id=id_) if id_ != call.id else call)
        return tuple(own)

    async def _warn(self, code: str, text: str) -> None:
        agent = self.agent
        await self.emit(Warned(code, text, agent.id, agent.name, self.group))

    async def _emit_model_event(self, event: TextDelta | ModelNotice) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case TextDelta(text):
                await self.emit(AgentDelta(id_, name, group, text))
            case ModelNotice(code, message):
                await self.emit(Warned(code, message, id_, name, group, retryable=True))

    async def _emit_call_event(self, event: CallEvent) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case CallStarted(call, timeout_seconds, once):
                await self.emit(ToolStarted(id_, name, group, call, timeout_seconds, once))
            case CallRetried():
                await self.emit(ToolRetried(id_, name, event))
            case QuestionRaised():
                await self.emit(ToolAsked(id_, name, group, event))
            case CallProgressed():
                await self.emit(ToolProgressed(id_, name, group, event))
            case CallWarned(code, text):
                await self._warn(code, text)
            case ToolResult():
                await self.emit(ToolReturned(id_, name, group, event))


def _failed(request: RequestEnded) -> FailedRequest:
    return FailedRequest(
        request.provider, request.model, request.outcome, round(request.duration_seconds, 6)
    )
