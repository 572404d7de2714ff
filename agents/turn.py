"""One agent's turn: it speaks (one model call), and it acts (the calls of its answer)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.agent import Agent
from agents.errors import ModelError
from agents.events import (
    AgentDelta,
    AgentFailed,
    AgentResponded,
    AgentStarted,
    ModelCalled,
    Tell,
    ToolRetried,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.history import estimate_tokens, fit, view
from agents.messages import Message
from agents.model import Called, ModelEvent, ModelReply, ModelRequest, Notice, WireMessage, Words
from agents.text_calls import find_calls
from tools.calls import CallEvent, CallRetried, CallStarted, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Turn:
    """An agent's turn in one run; what happens is told, nothing is returned."""

    agent: Agent
    # the group it speaks in, if any
    group: str | None
    tell: Tell

    async def speak(
        self, history: Sequence[Message], *, round: int, announce: bool, stream: bool
    ) -> None:
        """Ask the model once and tell its answer.

        Args:
            history: the conversation so far.
            round: the number of this model call.
            announce: tell `AgentStarted` first (not when a step is made again).
            stream: tell the words as they are written.

        Raises:
            ModelError: the model, and its backup if it has one, failed for good.
        """
        agent = self.agent
        if announce:
            await self.tell(AgentStarted(agent.id, agent.name, self.group, round, agent.model.name))
        began = time.monotonic()
        try:
            reply = await agent.model.reply(self._request(history, stream), self._hear)
        except ModelError as error:
            await self.tell(AgentFailed(agent.id, agent.name, error.code))
            raise
        calls, native = self._calls(reply, round)
        seconds = time.monotonic() - began
        await self.tell(
            AgentResponded(
                agent.id,
                agent.name,
                self.group,
                round,
                reply.content,
                seconds,
                reply.usage,
                reply.model,
                calls,
                native,
                reply.extra,
            )
        )

    async def act(self, calls: Sequence[ToolCall]) -> None:
        """Run calls of the agent's last answer and tell their results."""
        await self.agent.executor.run(calls, self.agent.tools, self._tell_call)

    def _request(self, history: Sequence[Message], stream: bool) -> ModelRequest:
        agent = self.agent
        system: WireMessage = {"role": "system", "content": agent.prompt.text()}
        conversation = view(history, agent.id, client_system=agent.allow_client_system)
        fixed = estimate_tokens(system) + agent.offer_tokens
        fitted = fit(conversation, agent.context_window_tokens, agent.context_trim_percent, fixed)
        return ModelRequest(
            agent.id,
            [system, *fitted],
            agent.offers,
            agent.temperature,
            agent.top_p,
            agent.max_tokens,
            stream,
        )

    def _calls(self, reply: ModelReply, round: int) -> tuple[tuple[ToolCall, ...], bool]:
        """The calls of an answer, and whether they came natively."""
        if reply.calls or self.agent.tool_call_mode == "native":
            return reply.calls, True
        takes = {
            tool.name: list(tool.parameters.get("properties", ()))
            for tool in self.agent.tools.values()
        }
        found = find_calls(reply.content, takes)
        return tuple(
            replace(call, id=f"{self.agent.id}-{round}-{n}") for n, call in enumerate(found, 1)
        ), not found

    async def _hear(self, event: ModelEvent) -> None:
        agent = self.agent
        match event:
            case Words(text):
                await self.tell(AgentDelta(agent.id, agent.name, self.group, text))
            case Called():
                await self.tell(ModelCalled(agent.id, agent.name, event))
            case Notice(code, message):
                await self.tell(
                    Warned(code, message, agent.id, agent.name, self.group, retryable=True)
                )

    async def _tell_call(self, event: CallEvent) -> None:
        agent = self.agent
        match event:
            case CallStarted(call, timeout_seconds, once):
                await self.tell(
                    ToolStarted(agent.id, agent.name, self.group, call, timeout_seconds, once)
                )
            case CallRetried():
                await self.tell(ToolRetried(agent.id, agent.name, event))
            case ToolResult():
                await self.tell(ToolReturned(agent.id, agent.name, self.group, event))
