"""Random talks over endpoints of three dialects, which change within tool loops.

The servers check signatures, order, ids, pairs of items and marks; what was said goes through the
form of the journal, and streams are cut anywhere.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.context.view import show_history
from agents.dialects.by_name import DIALECTS
from agents.dialects.outgoing import Outgoing
from agents.endpoint import DialectName
from agents.errors import ModelError
from agents.extras import NO_EXTRAS, ModelExtras
from agents.messages import (
    AgentMessage,
    Message,
    ToolMessage,
    ToolOutput,
    UserMessage,
    decode_messages,
    encode_messages,
)
from agents.model import ModelReply, ModelRequest, ShownMessage, ToolDefinition
from agents.quirks import Quirks
from tests.support.strict import anthropic, responses

TOOL = ToolDefinition("add", "Add.", {"type": "object", "properties": {}})
IDS = ("call_1", "a.b", "x" * 90, "toolu_é", "same", "same")
WORDS = ("so", "Let me see.", "</context>", "{}", "ừ, được")


@dataclass(frozen=True)
class Place:
    """An endpoint and a model of it."""

    dialect: DialectName
    where: str
    model: str
    extras: ModelExtras = NO_EXTRAS
    quirks: Quirks = field(default_factory=Quirks)

    @property
    def source(self) -> str:
        return f"{self.dialect}: gw {self.where} {self.model}"


PLACES = (
    Place("anthropic", "a", "c-1", ModelExtras(thinking_tokens=1024)),
    Place("anthropic", "a", "c-2", ModelExtras(thinking="low", prompt_cache="1h")),
    Place("anthropic", "b", "c-1"),
    Place("responses", "a", "g-1", ModelExtras(thinking="high", cache_key="k")),
    Place("responses", "a", "g-2"),
    Place("responses", "b", "g-1"),
    Place("chat", "g", "gemini", quirks=Quirks(google=True)),
)


class Talk:
    """One talk of one agent with whatever model it has at the moment."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.history: list[Message] = [UserMessage("go")]
        self.place = self.random.choice(PLACES)
        self.number = 0

    def step(self) -> None:
        """Ask once, and go on by the answer."""
        if self.random.random() < 0.3:
            self.place = self.random.choice(PLACES)
        place, dialect = self.place, DIALECTS[self.place.dialect]
        shown = [ShownMessage("system", "You are a."), *show_history(self.history, "a")]
        stream = self.random.random() < 0.5
        request = ModelRequest("a", shown, (TOOL,), stream=stream)
        body = dialect.build(
            Outgoing(place.model, request, place.quirks, place.source, place.extras)
        )
        self.check(json.loads(json.dumps(body)))
        thinks = place.dialect == "responses" or (
            body.get("thinking", {}).get("type") in ("enabled", "adaptive")
        )
        answer = self.answer(thinks=thinks)
        reply = self.read(answer, stream=stream)
        self.add(reply)

    def check(self, body: dict[str, Any]) -> None:
        place = self.place
        match place.dialect:
            case "anthropic":
                anthropic.check(body, place.where)
            case "responses":
                responses.check(body, place.where)
            case "chat":
                for message in body["messages"]:
                    if calls := message.get("tool_calls"):
                        signed = calls[0]["extra_content"]["google"]["thought_signature"]
                        assert signed in ("skip_thought_signature_validator", sealed(calls[0]))

    def answer(self, *, thinks: bool) -> Any:
        """Make an answer: thoughts, words, calls, in an order that its API may have."""
        rnd, place = self.random, self.place
        self.number += 1
        words = rnd.choice(WORDS) if rnd.random() < 0.6 else ""
        ids = rnd.sample(IDS, rnd.randint(0, 3)) if rnd.random() < 0.7 else []
        if not words and not ids:
            words = "done"
        if place.dialect == "anthropic":
            blocks = [anthropic.thought(place.where, place.model, "hm " * rnd.randint(1, 4))]
            blocks += [anthropic.redacted(place.where, place.model)] * rnd.randint(0, 1)
            blocks = blocks if thinks else []
            blocks += [anthropic.text(words)] if words else []
            for id_ in dict.fromkeys(ids):
                if thinks and rnd.random() < 0.3:
                    blocks.append(anthropic.thought(place.where, place.model, f"so {id_}"))
                blocks.append(anthropic.call(id_, "add", {"a": rnd.randint(0, 9)}))
            return anthropic.document(place.model, blocks)
        if place.dialect == "responses":
            number = self.number
            out = [responses.reasoning(place.where, place.model, number)] if thinks else []
            out += [responses.message(words, number, is_paired=thinks)] if words else []
            out += [
                responses.call(id_, "add", {"a": 1}, number, is_paired=thinks)
                for id_ in dict.fromkeys(ids)
            ]
            return responses.document(place.model, out)
        calls = [
            {"id": id_, "type": "function", "function": {"name": "add", "arguments": "{}"}}
            for id_ in dict.fromkeys(ids)
        ]
        if calls:
            calls[0]["extra_content"] = {"google": {"thought_signature": sealed(calls[0])}}
        message = {"role": "assistant", "content": words or None, "tool_calls": calls}
        return {"choices": [{"message": message, "finish_reason": "stop"}]}

    def read(self, answer: Any, *, stream: bool) -> ModelReply:
        """Read an answer, after a stream of it that was cut."""
        place, dialect = self.place, DIALECTS[self.place.dialect]
        if not stream or place.dialect == "chat":
            reader = dialect.reader(place.model, place.source, place.quirks)
            reader.read_whole(json.dumps(answer).encode())
            return reader.reply()
        module = anthropic if place.dialect == "anthropic" else responses
        events = module.events(answer, self.random.randint(1, 5))
        cut = dialect.reader(place.model, place.source, place.quirks)
        # what ends it; behind a reason, `message_stop` may be left out
        last = 2 if place.dialect == "anthropic" else 1
        for event in events[: self.random.randint(0, len(events) - last)]:
            cut.read_chunk(json.dumps(event).encode())
        cut.end_stream(is_done=False)
        assert not cut.finished
        reader = dialect.reader(place.model, place.source, place.quirks)
        shown = "".join(reader.read_chunk(json.dumps(event).encode()) for event in events)
        shown += reader.end_stream(is_done=True)
        reply = reader.reply()
        assert shown == reply.content
        return reply

    def add(self, reply: ModelReply) -> None:
        """Add an answer and the results of its calls, as a journal gives them back."""
        own = {
            call.id for one in self.history if isinstance(one, AgentMessage) for call in one.calls
        }
        calls = tuple(
            type(call)(f"{call.id}-{self.number}", call.tool, call.arguments, None, call.extra)
            if call.id in own
            else call
            for call in reply.calls
        )
        self.history.append(AgentMessage("a", "A", reply.content, calls, extra=reply.extra))
        if calls:
            outputs = [
                ToolOutput(call.id, call.tool, "success", self.random.choice(("", "42", " ")))
                for call in calls
            ]
            self.history.append(ToolMessage("a", tuple(outputs)))
        else:
            self.history.append(UserMessage("and then?"))
        self.history = decode_messages(encode_messages(self.history))


def sealed(call: dict[str, Any]) -> str:
    return f"signed {call['function']['name']}"


@pytest.mark.parametrize("seed", range(34))
def test_no_request_is_refused(seed: int):
    for number in range(60):
        talk = Talk(1000 * seed + number)
        for _ in range(talk.random.randint(1, 9)):
            talk.step()


def test_the_servers_refuse_what_is_not_theirs():
    """Kept data of another model would be refused."""
    talk = Talk(1)
    talk.place = PLACES[1]
    blocks = [anthropic.thought("a", "c-2", "hm"), anthropic.call("t1", "add", {})]
    talk.add(talk.read(anthropic.document("c-2", blocks), stream=False))
    other = Place("anthropic", "b", "c-1")
    shown = [ShownMessage("system", "s"), *show_history(talk.history, "a")]
    outgoing = Outgoing(other.model, ModelRequest("a", shown, (TOOL,)), Quirks(), PLACES[1].source)
    with pytest.raises(AssertionError, match="signature"):
        anthropic.check(DIALECTS["anthropic"].build(outgoing), other.where)


def test_a_talk_without_an_answer_is_an_error():
    reader = DIALECTS["responses"].reader("m", "s", Quirks())
    reader.read_whole(json.dumps(responses.document("m", [])).encode())
    with pytest.raises(ModelError, match="empty"):
        reader.reply()
