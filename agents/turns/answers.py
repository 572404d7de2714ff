"""What an answer says: calls (made natively, with marks, or in its text), or a typed answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.agent import Agent
from agents.context.loaded import Context
from agents.context.view import lines_of_others
from agents.limits import BEGINNING, Standing
from agents.messages import AgentMessage, CompactedMessage, Message
from agents.model import ModelReply
from agents.outputs.answers import CheckedAnswer
from agents.outputs.typed import TypedOutput
from agents.written.call_names import calls_within, with_own_name
from agents.written.find import find_written_calls
from agents.written.text_calls import bare_lines, find_calls
from tools.calls import ToolCall


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """What an answer says."""

    content: str
    calls: tuple[ToolCall, ...]
    # they came through the provider's own mechanism
    native: bool
    # a typed answer; None where it is none
    checked: CheckedAnswer | None
    # calls were made that may not be
    is_refused: bool

    @property
    def is_right(self) -> bool:
        """Whether it is a right typed answer."""
        return self.checked is not None and self.checked.output is not None


@dataclass(frozen=True, slots=True)
class AnswerReader:
    """Reads the answers of one agent."""

    agent: Agent
    # what it is shown beside the run's own messages
    context: Context
    # gets the code and the text of a warning
    warn: Callable[[str, str], Awaitable[None]]
    # of the ids of its calls: two tasks of one agent have the same ids from their model
    prefix: str = ""
    # of the turn
    standing: Standing = BEGINNING

    async def read(
        self, reply: ModelReply, round: int, history: Sequence[Message], *, may_call: bool
    ) -> ReadAnswer:
        """Read an answer: its calls, or what is checked of it.

        Args:
            reply: the answer.
            round: the number of the model call.
            history: the conversation before it.
            may_call: it may call tools; else what it calls is not called, with a warning.
        """
        typed, checked, refused = self.agent.output, None, False
        content = reply.content
        if reply.calls and not may_call:
            reply, refused = replace(reply, calls=()), True
        if typed is not None and not reply.calls:
            checked = typed.check(
                reply.content, is_cut=reply.is_cut, known_tasks=self.standing.known_tasks
            )
        calls: tuple[ToolCall, ...] = ()
        native = True
        # an object with the fields that are wanted calls nothing, whatever stands in its texts
        if checked is None or not (checked.has_fields and begins_with_object(reply.content)):
            calls, native = await self._calls(reply, round, history)
            if calls and not may_call:
                # what is written as a call is no answer in words
                calls, native, refused, content = (), True, True, ""
            calls = await self._with_own_ids(calls, round, history)
        if refused:
            text = f"{reply.model} called tools although it may call none now; they are not called"
            await self.warn("calls_refused", text)
        return ReadAnswer(content, calls, native, None if calls else checked, refused)

    async def _calls(
        self, reply: ModelReply, round: int, history: Sequence[Message]
    ) -> tuple[tuple[ToolCall, ...], bool]:
        """Find the calls of an answer; whether they came natively."""
        mode = self.agent.tool_call_mode
        if reply.calls or mode == "native":
            given = [one for call in reply.calls for one in calls_within(call)]
            return tuple(with_own_name(call, self.agent.tools) for call in given), True
        tools = self.agent.tools.values()
        properties = {tool.name: tool.parameters.get("properties", {}) for tool in tools}
        marked = find_written_calls(reply.content, properties) if reply.has_written_calls else []
        found = marked or find_calls(reply.content, properties)
        if found and not marked and mode == "auto" and reply.has_native_calls:
            tool = found[0].call.tool
            text = f"{reply.model} has native calls, so {tool}(…) in its text is none"
            await self.warn("call_in_text", f"{text}; tool_call_mode: text would make it one")
            return (), True
        # what stands in the conversation may be quoted: it is not what this agent wants
        lines = await self._shown_lines(history) if found else []
        quotations = [one for one in found if one.stands_in(lines)]
        made = [one.call for one in found if one not in quotations]
        if quotations:
            quoted = quotations[0].call.tool
            text = f"{quoted}(…) stands word for word in what {self.agent.name} was shown"
            await self.warn("quoted_call", f"{text}, so it is taken for a quotation and not made")
        prefix = f"{self.agent.id}-{round}"
        calls = tuple(replace(call, id=f"{prefix}-{n}") for n, call in enumerate(made, 1))
        return calls, not made

    async def _shown_lines(self, history: Sequence[Message]) -> list[str]:
        """Return the lines that others wrote, of all that the agent was shown."""
        loaded = await self.context.get()
        past = [message for one in loaded.past for message in one.messages]
        blocks = [*loaded.before, *loaded.beside]
        before = [line for one in blocks for line in bare_lines(one.text)]
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
            given = f"{self.prefix}.{call.id}" if self.prefix else call.id
            id_, number = given, round
            while id_ in known or id_ in self.standing.known_calls:
                id_, number = f"{given}-{number}", number + 1
            own.append(replace(call, id=id_) if id_ != call.id else call)
        return tuple(own)


def begins_with_object(text: str) -> bool:
    """Return whether an answer is a JSON object from its beginning, maybe in a fence."""
    start = text.lstrip()
    if start.startswith("```"):
        start = start.partition("\n")[2].lstrip()
    return start.startswith("{")


def typed_fields(
    typed: TypedOutput, checked: CheckedAnswer | None, sent_back: int
) -> dict[str, Any]:
    """Return what the event of an answer has of a typed one.

    Args:
        typed: of the agent.
        checked: the answer; None: it calls tools.
        sent_back: how often one was sent back before.
    """
    if checked is None:
        # what stands beside calls is not checked, and for none but the agent
        return {"words": ""}
    found: dict[str, Any] = {"sent_back": sent_back, "unknown": checked.unknown}
    if checked.output is None:
        again = sent_back < typed.retries
        return {**found, "invalid": checked.problems, "is_sent_back": again}
    output = dict(checked.output)
    # a plan is no answer of the run
    words, answer = typed.words_of(output), None if typed.plan else typed.answer_of(output)
    return {**found, "output": output, "words": words, "answer": answer}
