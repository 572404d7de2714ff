"""One agent's turn: it speaks (one model call), and it acts (the calls of its answer)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.agent import Agent
from agents.context.view import show_history, shown_lines
from agents.context.window import fit
from agents.errors import ModelError
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    EmitAgentEvent,
    ModelCalled,
    ToolAsked,
    ToolProgressed,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.messages import AgentMessage, Message
from agents.model import (
    ModelEvent,
    ModelReply,
    ModelRequest,
    Notice,
    RequestEnded,
    ShownMessage,
    TextDelta,
)
from agents.stages import Stages
from agents.text_calls import find_calls
from agents.tokens import estimate_tokens
from tools.calls import (
    CallAsked,
    CallEvent,
    CallProgressed,
    CallRetried,
    CallStarted,
    CallWarned,
    ToolCall,
    ToolResult,
)
from tools.context import Caller
from tools.executor import NO_REPLIES
from tools.forms import Reply

# a request that is too long for its model is made again so often, with this part of it
OVERFLOW_TRIES = 2
OVERFLOW_PART = 0.75


def size_of(request: ModelRequest) -> int:
    """About how many tokens the messages of a request are."""
    return sum(estimate_tokens(message.wire) for message in request.messages)


@dataclass(frozen=True, slots=True)
class Turn:
    """An agent's turn in one run; what happens is emitted, nothing is returned."""

    agent: Agent
    # the group it speaks in, if any
    group: str | None
    # who makes its calls
    caller: Caller
    emit: EmitAgentEvent
    # counts its time
    stages: Stages

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
        try:
            with self.stages.during("models"):
                reply = await self._reply(history, stream, found)
        except ModelError as error:
            await self.emit(AgentFailed(agent.id, agent.name, error.code))
            raise
        calls, native = await self._calls(reply, round, history)
        calls = self._with_own_ids(calls, round, history)
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
        )
        await self.emit(responded)

    async def act(
        self, calls: Sequence[ToolCall], replies: Mapping[str, Reply] = NO_REPLIES
    ) -> None:
        """Run calls of the agent's last answer and emit their results.

        Args:
            calls: some of them.
            replies: by their ids, what a person has said to what they asked.
        """
        agent = self.agent
        emit = self._emit_call_event
        with self.stages.during("tools"):
            await agent.executor.run(calls, agent.tools, emit, self.caller, replies)

    async def _reply(
        self, history: Sequence[Message], stream: bool, found: Sequence[str]
    ) -> ModelReply:
        """The model's answer; a request that is too long is made again, shorter each time."""
        agent = self.agent
        window = agent.context_window_tokens
        for tries_left in reversed(range(OVERFLOW_TRIES + 1)):
            request = self._request(history, stream, found, window)
            try:
                return await agent.model.reply(request, self._emit_model_event)
            except ModelError as error:
                if error.code != "context_overflow" or not tries_left:
                    raise
                overflow = error
            size = size_of(request)
            window = int(min(window, size) * OVERFLOW_PART)
            if size_of(self._request(history, stream, found, window)) >= size:
                # what is left must stay
                raise overflow
            await self._warn("context_overflow", f"{overflow}; made again, about a quarter shorter")
        raise AssertionError("the last try returns or raises")

    def _request(
        self, history: Sequence[Message], stream: bool, found: Sequence[str], window: int
    ) -> ModelRequest:
        agent, shown = self.agent, self.agent.shown_tools(found)
        system = ShownMessage({"role": "system", "content": agent.prompt.text()})
        conversation = show_history(
            history,
            agent.id,
            client_system=agent.allow_client_system,
            escape=agent.escape_signals,
        )
        fixed_tokens = estimate_tokens(system.wire) + sum(one.tokens for one in shown)
        # in tokens as we estimate them
        window = int(window / agent.token_ratios.of(agent.model.endpoints[0]))
        fitted = fit(conversation, window, agent.context_trim_percent, fixed_tokens)
        return ModelRequest(
            agent.id,
            [system, *fitted],
            tuple(one.document for one in shown),
            agent.temperature,
            agent.top_p,
            agent.max_tokens,
            stream,
            text_call_hint=agent.text_call_hint,
        )

    async def _calls(
        self, reply: ModelReply, round: int, history: Sequence[Message]
    ) -> tuple[tuple[ToolCall, ...], bool]:
        """The calls of an answer, and whether they came natively."""
        mode = self.agent.tool_call_mode
        if reply.calls or mode == "native":
            return reply.calls, True
        tools = self.agent.tools.values()
        parameters = {tool.name: list(tool.parameters.get("properties", ())) for tool in tools}
        found = find_calls(reply.content, parameters)
        if found and mode == "auto" and reply.has_native_calls:
            tool = found[0].call.tool
            text = f"{reply.model} has native calls, so {tool}(…) in its text is none"
            await self._warn("call_in_text", f"{text}; tool_call_mode: text would make it one")
            return (), True
        # what stands in the conversation may be quoted: it is not what this agent wants
        lines = shown_lines(history, self.agent.id) if found else []
        quotations = [one for one in found if one.stands_in(lines)]
        made = [one.call for one in found if one not in quotations]
        if quotations:
            quoted = quotations[0].call.tool
            text = f"{quoted}(…) stands word for word in what {self.agent.name} was shown"
            await self._warn("quoted_call", f"{text}, so it is taken for a quotation and not made")
        prefix = f"{self.agent.id}-{round}"
        calls = tuple(replace(call, id=f"{prefix}-{n}") for n, call in enumerate(made, 1))
        return calls, not made

    def _with_own_ids(
        self, calls: tuple[ToolCall, ...], round: int, history: Sequence[Message]
    ) -> tuple[ToolCall, ...]:
        """The calls with ids that no earlier call of the conversation has.

        Some servers begin anew with each answer; an id is part of the key by which an API knows the
        same call again.
        """
        messages = [one for one in history if isinstance(one, AgentMessage)]
        known = {call.id for message in messages for call in message.calls}
        return tuple(
            replace(call, id=f"{call.id}-{round}") if call.id in known else call for call in calls
        )

    async def _warn(self, code: str, text: str) -> None:
        agent = self.agent
        await self.emit(Warned(code, text, agent.id, agent.name, self.group))

    async def _emit_model_event(self, event: ModelEvent) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case TextDelta(text):
                await self.emit(AgentDelta(id_, name, group, text))
            case RequestEnded():
                await self.emit(ModelCalled(id_, name, event))
            case Notice(code, message):
                await self.emit(Warned(code, message, id_, name, group, retryable=True))

    async def _emit_call_event(self, event: CallEvent) -> None:
        id_, name, group = self.agent.id, self.agent.name, self.group
        match event:
            case CallStarted(call, timeout_seconds, once):
                await self.emit(ToolStarted(id_, name, group, call, timeout_seconds, once))
            case CallRetried():
                await self.emit(ToolRetried(id_, name, event))
            case CallAsked():
                await self.emit(ToolAsked(id_, name, group, event))
            case CallProgressed():
                await self.emit(ToolProgressed(id_, name, group, event))
            case CallWarned(code, text):
                await self._warn(code, text)
            case ToolResult():
                await self.emit(ToolReturned(id_, name, group, event))
