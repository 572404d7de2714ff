"""A Model that answers from a script, so that a crew runs offline and the same way each time.

An answer follows from the request alone, so any number of runs may be played at the same time, and
a run may be resumed anywhere.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from agents.costs.usage import NO_USAGE, Usage
from agents.errors import ModelError, ModelErrorCode
from agents.helper import PREFIX
from agents.messages import ToolOutput
from agents.model import (
    ERROR_MARK,
    EmitModelEvent,
    ModelReply,
    ModelRequest,
    RequestEnded,
    ShownMessage,
    TextDelta,
)
from tools.calls import ToolCall
from tools.clock import Clock
from tools.schemas.yaml_shape import JsonObject, Pattern, Shape, resolve

SCRIPT_FILE = "script.yaml"
# the second group: the tool of a result
PLACEHOLDER = re.compile(r"\{\{\s*(heard|result\.(\w+))\s*\}\}")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return json.dumps(resolve(value), ensure_ascii=False)


def _as_call(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


def _as_failure(value: Any) -> Any:
    return {"code": value} if isinstance(value, str) else value


class ScriptedCall(Shape):
    """A tool call of a scripted answer; a tool's name alone is a call without arguments."""

    tool: str
    """The tool's name."""
    arguments: JsonObject = {}
    """Its arguments."""


class ScriptedFailure(Shape):
    """A failure instead of an answer."""

    code: Literal[
        "refused", "rate_limited", "unavailable", "connection", "timeout", "unreadable", "empty"
    ]
    """The kind of failure."""
    times: Annotated[int, Field(ge=1)] | None = None
    """Only the first so many tries of a call fail, then the rule answers.

    All of them unless given.
    """
    retry_after_seconds: Annotated[float, Field(ge=0)] | None = None
    """What the server asks to wait."""


Texts = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]


class Rule(Shape):
    """When all of its conditions hold, this is the answer."""

    agent: Texts | None = None
    """The agent that speaks, or several; any unless given."""
    helper: Literal["title", "summary", "learn", "describe"] | None = None
    """It speaks for this helper, and for no agent."""
    hears: Texts | None = None
    """One of these texts is in the newest words of anyone else (case does not matter)."""
    seen: Texts | None = None
    """One of these texts is anywhere in what the agent is shown of the conversation."""
    matches: Pattern | None = None
    """This regular expression fits somewhere in what the agent is shown (case does not matter)."""
    after: Texts | None = None
    """The results of these tools are what the agent was shown last."""
    turn: Annotated[int, Field(ge=1)] | None = None
    """It is the agent's so-many-th answer in what it is shown of the conversation."""
    say: Annotated[
        str, BeforeValidator(_as_json, json_schema_input_type=str | dict[str, JsonValue])
    ] = ""
    """The text; a mapping is said as JSON. `{{heard}}` is the newest words of anyone else.

    `{{result.<Tool>}}` the tool's newest output.
    """
    calls: list[
        Annotated[
            ScriptedCall, BeforeValidator(_as_call, json_schema_input_type=str | ScriptedCall)
        ]
    ] = []
    """Tool calls."""
    delay_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How long the answer takes; a streamed one is spread over it."""
    fail: (
        Annotated[
            ScriptedFailure,
            BeforeValidator(_as_failure, json_schema_input_type=str | ScriptedFailure),
        ]
        | None
    ) = None
    """A failure instead."""

    def covers(self, other: "Rule", speaker: str) -> bool:
        """Return whether this rule fits wherever another one does, for an agent or a helper."""
        if self.helper != other.helper:
            return False
        if self.helper is None and self.agent is not None and speaker not in self.agent:
            return False
        return (
            _has_each(self.hears, other.hears)
            and _has_each(self.seen, other.seen)
            and self.matches in (None, other.matches)
            and (self.after is None or set(self.after) <= set(other.after or ()))
            and self.turn in (None, other.turn)
        )


def _has_each(texts: Sequence[str] | None, others: Sequence[str] | None) -> bool:
    """Return whether each of some texts contains one of others, so that it is found with them."""
    if texts is None:
        return True
    return others is not None and all(
        any(text.lower() in other.lower() for text in texts) for other in others
    )


class Script(Shape):
    """script.yaml: the answers of the scripted provider; the first rule that fits speaks."""

    rules: list[Rule]
    """Looked at from the top."""
    results: dict[str, str] = {}
    """What calls return that are not made, by the tools' names: of `crew run --dry`."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request says, as the conditions of rules see it."""

    # the newest words of anyone else, without tool results
    words: str
    # everything shown, in lower case
    everything: str
    # the newest output of each tool, by its name
    results: dict[str, str]
    # the tools whose results are the newest message
    after: frozenset[str]
    # answers of the agent so far
    answers: int

    @classmethod
    def of(cls, messages: Sequence[ShownMessage]) -> "Heard":
        """Read the messages of a request."""
        words, answers = "", 0
        results: dict[str, str] = {}
        after: set[str] = set()
        for message in messages:
            if message.results:
                results |= {result.tool: _output(result) for result in message.results}
                after |= {result.tool for result in message.results}
            elif message.role == "assistant":
                answers += 1
                after = set()
            elif message.role == "user":
                words, after = message.content, set()
        texts = [m.content for m in messages if m.role != "system"]
        return cls(words, "\n".join(texts).lower(), results, frozenset(after), answers)

    def fits(self, rule: Rule, agent_id: str) -> bool:
        """Return whether all of a rule's conditions hold."""
        words = self.words.lower()
        return (
            _speaks_for(rule, agent_id)
            and (rule.hears is None or any(text.lower() in words for text in rule.hears))
            and (rule.seen is None or any(text.lower() in self.everything for text in rule.seen))
            and (rule.matches is None or self._matches(rule.matches))
            and (rule.after is None or (bool(self.after) and self.after >= set(rule.after)))
            and (rule.turn is None or rule.turn == self.answers + 1)
        )

    def _matches(self, pattern: str) -> bool:
        return re.search(pattern, self.everything, re.IGNORECASE) is not None

    def fill(self, text: str) -> str:
        """Replace the placeholders by what was heard and what the tools returned."""

        def replacement(found: re.Match[str]) -> str:
            if found[1] == "heard":
                return self.words
            return self.results.get(found[2], found[0])

        return PLACEHOLDER.sub(replacement, text)


def _speaks_for(rule: Rule, agent_id: str) -> bool:
    """Return whether a rule is for an agent, or for a helper."""
    if rule.helper is not None or agent_id.startswith(PREFIX):
        return agent_id == f"{PREFIX}{rule.helper}"
    return rule.agent is None or agent_id in rule.agent


def _output(result: ToolOutput) -> str:
    mark = "" if result.status == "success" else ERROR_MARK
    return mark + result.output


@dataclass(frozen=True, slots=True)
class Scripted:
    """The model of an agent with the provider `scripted`."""

    script: Script
    name: str
    clock: Clock

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The script."""
        return (("scripted", self.name),)

    async def reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        """Answer by the first rule that fits, or raise ModelError: the rule's, or "no_rule"."""
        started, outcome, usage = self.clock.monotonic(), "cancelled", NO_USAGE
        try:
            reply = await self._reply(request, emit)
            outcome, usage = "success", reply.usage
            return reply
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            seconds = self.clock.monotonic() - started
            await emit(RequestEnded("scripted", self.name, outcome, seconds, usage))

    async def _reply(self, request: ModelRequest, emit: EmitModelEvent) -> ModelReply:
        heard = Heard.of(request.messages)
        rules = self.script.rules
        rule = next((rule for rule in rules if heard.fits(rule, request.agent_id)), None)
        if rule is None:
            words = heard.words[-120:]
            raise ModelError(
                "no_rule",
                f"{SCRIPT_FILE} has no rule for agent {request.agent_id} after {words!r}; add one",
            )
        await self._fail(rule, request.attempt)
        content = heard.fill(rule.say)
        await self._write(content, rule.delay_seconds, request.stream, emit)
        if not content.strip() and not rule.calls:
            raise ModelError("empty", f"{self.name}: the answer is empty")
        number = heard.answers + 1
        calls = tuple(
            ToolCall(f"call_{number}_{n}", call.tool, dict(call.arguments))
            for n, call in enumerate(rule.calls, 1)
        )
        prompt_tokens = sum(message.tokens for message in request.messages)
        usage = Usage(prompt_tokens, request.tokenizer.count_message(content))
        # who writes a script may write calls as text, and means them
        return ModelReply(content, calls, usage, self.name, has_native_calls=bool(calls))

    async def _fail(self, rule: Rule, attempt: int) -> None:
        """Raise the failure of a rule, if it has one for this attempt."""
        failure = rule.fail
        if failure is None or (failure.times is not None and attempt >= failure.times):
            return
        await self.clock.sleep(rule.delay_seconds)
        code: ModelErrorCode = failure.code
        message = f"{self.name}: scripted failure: {code}"
        raise ModelError(code, message, retry_after_seconds=failure.retry_after_seconds)

    async def _write(
        self, content: str, seconds: float, stream: bool, emit: EmitModelEvent
    ) -> None:
        """Take the time of an answer; emit its words one by one if it is streamed."""
        pieces = re.findall(r"\S+\s*|\s+", content) if stream else []
        if not pieces:
            await self.clock.sleep(seconds)
        for piece in pieces:
            await self.clock.sleep(seconds / len(pieces))
            await emit(TextDelta(piece))
