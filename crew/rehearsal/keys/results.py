"""What stands for the results of tools."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from crew.rehearsal.keys.durations import Duration
from crew.rehearsal.keys.models import Times
from tools.schemas.yaml_shape import JsonObject, Shape, between_keys, resolve

# how a call can end; one of them
ENDS = ("output", "error", "temporary", "hang", "real")


class AskedForm(Shape):
    """What a tool asks a person before it goes on."""

    message: str
    """The question."""
    fields: JsonObject = {}
    """A JSON schema for each field that is filled in."""


class Returned(Shape):
    """One result of a tool; a text, or JSON, alone is its output."""

    output: Annotated[JsonValue, BeforeValidator(resolve)] = None
    """What it returns: a text, or JSON."""
    error: str | None = None
    """It fails for good, with this message."""
    temporary: str | None = None
    """It fails in a way that may pass; its retries go on from there."""
    hang: bool = False
    """It never ends; its deadline does."""
    real: bool = False
    """The tool itself is called. Needs `crew test --real` where it is called once only."""
    seconds: Duration = 0.0
    """How long it takes."""
    sent: bool | None = None
    """Of a call that fails: whether anything went out; a call that hangs has sent something."""
    with_: Annotated[JsonObject, Field(alias="with")] = {}
    """Only with these arguments: values, or {matches}, {min, max}, {any: true}."""
    form: AskedForm | None = None
    """It asks a person first, and goes on with the answer."""
    times: Times = 1
    """How often it is given; `any`: as often as it is needed."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [name for name in ENDS if name in self.model_fields_set and getattr(self, name)]
        if len(given) > 1:
            text = f"a call ends in one way; this has {given[0]} and {given[1]}"
            raise between_keys(text, given[1])
        return self


KEYS = frozenset(Returned.fields_by_key())


def _as_result(value: Any) -> Any:
    """Return a result as a mapping: whatever is none of its keys is an output."""
    if isinstance(value, dict) and value and set(value) <= KEYS:
        return value
    return {"output": value}


def _as_results(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_result(one) for one in value]
    # the only one is given as often as it is needed
    return [{"times": "any", **_as_result(value)}]


Results = Annotated[
    list[Returned],
    BeforeValidator(
        _as_results, json_schema_input_type=JsonValue | Returned | list[JsonValue | Returned]
    ),
]
