"""What stands for the answers of models."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agents.errors import ModelErrorCode
from agents.providers.scripted import ScriptedCall
from crew.rehearsal.keys.durations import Duration
from crew.rehearsal.keys.texts import Texts
from tools.schemas.patterns import Pattern
from tools.schemas.yaml_shape import JsonObject, Shape, between_keys, resolve

Times = Annotated[int, Field(ge=1)] | Literal["any"]


def _as_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return json.dumps(resolve(value), ensure_ascii=False)


def _as_call(value: Any) -> Any:
    return {"tool": value} if isinstance(value, str) else value


def _as_failure(value: Any) -> Any:
    return {"code": value} if isinstance(value, str) else value


def _as_answer(value: Any) -> Any:
    return {"say": value} if isinstance(value, str) else value


class When(Shape):
    """What the model is shown where an answer is given; all must hold."""

    hears: Texts | None = None
    """One of these texts is in the newest words of anyone else (case does not matter)."""
    seen: Texts | None = None
    """One of these texts is anywhere in what the agent is shown of the conversation."""
    matches: Pattern | None = None
    """This regular expression fits somewhere in what the agent is shown (case does not matter)."""
    after: Texts | None = None
    """The results of these tools are what the agent was shown last."""


class SaidFailure(Shape):
    """How a request to a model fails; a code alone is one."""

    code: ModelErrorCode
    """The kind of failure."""
    retry_after: Duration | None = None
    """What the server asks to wait."""


FailureConfig = Annotated[
    SaidFailure, BeforeValidator(_as_failure, json_schema_input_type=ModelErrorCode | SaidFailure)
]


class Counted(Shape):
    """The tokens of a request, as its provider counts them."""

    input: Annotated[int, Field(ge=0)] = 0
    """What went in."""
    output: Annotated[int, Field(ge=0)] = 0
    """What came out."""
    thinking: Annotated[int, Field(ge=0)] = 0
    """Of what came out, what was thought."""
    cache_read: Annotated[int, Field(ge=0)] = 0
    """Of what went in, what the provider had in its cache."""


class SaidAnswer(Shape):
    """One answer of a model; a text alone is one."""

    say: Annotated[str, BeforeValidator(_as_json, json_schema_input_type=str | dict[str, Any])] = ""
    """The text. `{{heard}}` is the newest words of anyone else, `{{result.<Tool>}}` the tool's
    newest output."""
    calls: list[
        Annotated[
            ScriptedCall, BeforeValidator(_as_call, json_schema_input_type=str | ScriptedCall)
        ]
    ] = []
    """Tool calls."""
    output: JsonObject | None = None
    """A typed answer, instead of a text."""
    seconds: Duration = 0.0
    """How long it takes."""
    usage: Counted | None = None
    """The tokens that it costs; counted from its texts unless given."""
    fail: FailureConfig | None = None
    """The request fails instead; retries and backups go on from there."""
    cut: Annotated[int, Field(ge=0)] | None = None
    """The answer breaks off after so many characters, and the request has failed."""
    when: When | None = None
    """Only where this is shown; the answers before it that fit go first."""
    times: Times = 1
    """How often it is given; `any`: as often as it is needed."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.output is not None and self.say:
            raise between_keys("an answer has either say or output", "say")
        if self.fail is not None and (self.say or self.calls or self.output is not None):
            raise between_keys("what fails says nothing; remove the other keys", "fail")
        return self

    @property
    def text(self) -> str:
        """What is said."""
        if self.output is not None:
            return json.dumps(self.output, ensure_ascii=False)
        return self.say


SaidConfig = Annotated[
    SaidAnswer, BeforeValidator(_as_answer, json_schema_input_type=str | SaidAnswer)
]
