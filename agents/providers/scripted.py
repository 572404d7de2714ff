"""A Model that answers from a script, so that a crew plays offline, the same way each time.

Through the code of a real one.

An answer follows from the request alone: any number of runs may play at once, and a run may be
taken up anywhere.
"""

import re
import time
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
from pydantic import BeforeValidator, Field

from agents.errors import Code, ModelError
from agents.history import estimate_tokens
from agents.model import Called, Hear, ModelReply, ModelRequest, Usage, WireMessage, Words
from tools.calls import ToolCall
from tools.config import JsonObject, Shape

SCRIPT_FILE = "script.yaml"
RESULT = re.compile(
    r"^(\S+):\n {2}Status: (\w+)\n {2}Output: (.*?)(?=\n\n\S+:\n {2}Status: |\n\n\[END RESULTS\])",
    re.MULTILINE | re.DOTALL,
)
PLACE = re.compile(r"\{\{\s*(heard|result\.(\w+))\s*\}\}")


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _call(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


def _failure(value: Any) -> Any:
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


Texts = Annotated[list[str], BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])]


class Rule(Shape):
    """When all of its conditions hold, this is the answer."""

    agent: Texts | None = None
    """The agent that speaks, or several; any unless given."""
    hears: Texts | None = None
    """One of these texts is in the newest words of anyone else (case does not matter)."""
    seen: Texts | None = None
    """One of these texts is anywhere in what the agent is shown of the conversation."""
    after: Texts | None = None
    """The results of these tools are what the agent was shown last."""
    turn: Annotated[int, Field(ge=1)] | None = None
    """It is the agent's so-many-th answer in what it is shown of the conversation."""
    say: str = ""
    """The text. `{{heard}}` is the newest words of anyone else.

    `{{result.<Tool>}}` the tool's newest output.
    """
    calls: list[
        Annotated[ScriptedCall, BeforeValidator(_call, json_schema_input_type=str | ScriptedCall)]
    ] = []
    """Tool calls."""
    delay_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How long the answer takes; a streamed one is spread over it."""
    fail: (
        Annotated[
            ScriptedFailure, BeforeValidator(_failure, json_schema_input_type=str | ScriptedFailure)
        ]
        | None
    ) = None
    """A failure instead."""


class Script(Shape):
    """script.yaml: the answers of the scripted provider; the first rule that fits speaks."""

    rules: list[Rule]
    """Looked at from the top."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request tells the script."""

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
    def of(cls, messages: list[WireMessage]) -> "Heard":
        """Read the messages of a request."""
        words, answers = "", 0
        names: dict[str, str] = {}
        results: dict[str, str] = {}
        after: set[str] = set()
        for message in messages:
            content = message.get("content") or ""
            match message["role"]:
                case "assistant":
                    answers += 1
                    after = set()
                    names = {
                        call["id"]: call["function"]["name"]
                        for call in message.get("tool_calls", ())
                    }
                case "tool":
                    tool = names.get(message["tool_call_id"], "")
                    results[tool] = content
                    after.add(tool)
                case "user" if found := RESULT.findall(content):
                    results |= {tool: output for tool, _, output in found}
                    after = {tool for tool, _, _ in found}
                case "user":
                    words, after = content, set()
        return cls(
            words,
            "\n".join(
                str(m.get("content") or "") for m in messages if m["role"] != "system"
            ).lower(),
            results,
            frozenset(after),
            answers,
        )

    def fits(self, rule: Rule, agent_id: str) -> bool:
        """Whether all of a rule's conditions hold."""
        return (
            (rule.agent is None or agent_id in rule.agent)
            and (
                rule.hears is None or any(text.lower() in self.words.lower() for text in rule.hears)
            )
            and (rule.seen is None or any(text.lower() in self.everything for text in rule.seen))
            and (rule.after is None or (bool(self.after) and self.after >= set(rule.after)))
            and (rule.turn is None or rule.turn == self.answers + 1)
        )

    def fill(self, text: str) -> str:
        """Put in what was heard and what the tools gave."""
        return PLACE.sub(
            lambda found: (
                self.words if found[1] == "heard" else self.results.get(found[2], found[0])
            ),
            text,
        )


@dataclass(frozen=True, slots=True)
class Scripted:
    """The model of an agent whose provider is `scripted`."""

    script: Script
    name: str

    @property
    def endpoints(self) -> tuple[tuple[str, str], ...]:
        """The script."""
        return (("scripted", self.name),)

    async def reply(self, request: ModelRequest, hear: Hear) -> ModelReply:
        """Answer by the first rule that fits, or raise ModelError: the rule's, or "no_rule"."""
        began, outcome, usage = time.monotonic(), "cancelled", Usage()
        try:
            reply = await self._play(request, hear)
            outcome, usage = "success", reply.usage
            return reply
        except ModelError as error:
            outcome = error.code
            raise
        finally:
            await hear(Called("scripted", self.name, outcome, time.monotonic() - began, usage))

    async def _play(self, request: ModelRequest, hear: Hear) -> ModelReply:
        heard = Heard.of(list(request.messages))
        rule = next(
            (rule for rule in self.script.rules if heard.fits(rule, request.agent_id)), None
        )
        if rule is None:
            raise ModelError(
                "no_rule",
                f"{SCRIPT_FILE} has no rule for agent {request.agent_id} after {heard.words[-120:]!r}; add one",
            )
        if rule.fail is not None and (rule.fail.times is None or request.attempt < rule.fail.times):
            await anyio.sleep(rule.delay_seconds)
            code: Code = rule.fail.code
            raise ModelError(
                code,
                f"{self.name}: scripted failure: {code}",
                retry_after_seconds=rule.fail.retry_after_seconds,
            )
        content = heard.fill(rule.say)
        pieces = re.findall(r"\S+\s*|\s+", content) if request.stream else []
        for piece in pieces:
            await anyio.sleep(rule.delay_seconds / len(pieces))
            await hear(Words(piece))
        if not pieces:
            await anyio.sleep(rule.delay_seconds)
        if not content.strip() and not rule.calls:
            raise ModelError("empty", f"{self.name}: the answer is empty")
        calls = tuple(
            ToolCall(f"call_{heard.answers + 1}_{n}", call.tool, dict(call.arguments))
            for n, call in enumerate(rule.calls, 1)
        )
        usage = Usage(
            sum(estimate_tokens(m) for m in request.messages), estimate_tokens({"content": content})
        )
        return ModelReply(content, calls, usage, self.name)
