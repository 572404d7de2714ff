"""A helper: a model beside the runs that answers in JSON, such as for a title or a summary."""

from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agents.errors import ModelError
from agents.model import EmitModelEvent, MessageRole, Meter, Model, ModelRequest, ShownMessage
from agents.tokenizing.tokens import Tokenizer
from tools.clock import Clock

# as agents have it; no agent's id may begin so
PREFIX = "helper-"
# of an answer that is no such JSON, in the request for a better one
MAX_QUOTED = 2000
S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Helper:
    """One of a crew's helpers; one object serves all runs and chores."""

    # title, summary, learn, describe
    name: str
    model: Model
    # of its model
    tokenizer: Tokenizer
    prompt: str
    max_tokens: int
    timeout_seconds: float
    clock: Clock

    @property
    def agent_id(self) -> str:
        """By which it counts."""
        return f"{PREFIX}{self.name}"

    async def ask(
        self, text: str, shape: type[S], emit: EmitModelEvent, meter: Meter | None = None
    ) -> S:
        """Request an answer of this shape; a wrong one is sent back once.

        Args:
            text: what the prompt is about.
            shape: of the JSON.
            emit: gets the events of the model's requests.
            meter: reserves what they may cost.

        Raises:
            ModelError: the model failed, or both answers are wrong ("unreadable").
        """
        messages = [self._message("system", self.prompt), self._message("user", text)]
        answer = await self._answer(messages, emit, meter)
        try:
            return shape.model_validate_json(_json_in(answer))
        except ValidationError as error:
            wrong = _first_problem(error)
        messages += [
            self._message("assistant", answer[:MAX_QUOTED]),
            self._message("user", f"{wrong}. Answer again, with JSON alone."),
        ]
        answer = await self._answer(messages, emit, meter)
        try:
            return shape.model_validate_json(_json_in(answer))
        except ValidationError as error:
            text = f"helper {self.name} gave no such JSON, twice: {_first_problem(error)}"
            raise ModelError("unreadable", text) from error

    def _message(self, role: MessageRole, content: str) -> ShownMessage:
        return ShownMessage(role, content, tokenizer=self.tokenizer)

    async def _answer(
        self, messages: list[ShownMessage], emit: EmitModelEvent, meter: Meter | None
    ) -> str:
        request = ModelRequest(
            self.agent_id,
            list(messages),
            temperature=0.0,
            max_tokens=self.max_tokens,
            meter=meter,
        )
        timeout = self.clock.timeout(self.timeout_seconds)
        try:
            async with timeout:
                return (await self.model.reply(request, emit)).content
        except TimeoutError:
            text = f"helper {self.name} had no answer within {self.timeout_seconds:g} s"
            raise ModelError("timeout", text) from None


def _json_in(text: str) -> str:
    """Return the JSON object in an answer, without the fence or the words around it."""
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if start < end else text


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]
