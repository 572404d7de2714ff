"""What a text must be."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from tools.schemas.patterns import Pattern
from tools.schemas.yaml_shape import Shape, between_keys, resolve


def _as_check(value: Any) -> Any:
    return {"contains": [value]} if isinstance(value, str) else value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Json = Annotated[JsonValue, BeforeValidator(resolve)]


class Alike(Shape):
    """How alike two texts must be."""

    text: str
    """The other text."""
    at_least: Annotated[float, Field(gt=0, le=1)] = 0.8
    """1: the same; 0: nothing in common."""


class TextCheck(Shape):
    """What a text must be; a text alone is `contains`."""

    is_: Annotated[str | None, Field(alias="is")] = None
    """Exactly this text."""
    contains: Texts = []
    """Each of these stands in it."""
    lacks: Texts = []
    """None of these stands in it."""
    matches: Pattern | None = None
    """This regular expression fits somewhere in it."""
    json_: Annotated[Json, Field(alias="json")] = None
    """It is JSON, and has at least these parts."""
    similar: Alike | None = None
    """It is like another text, as far as letters go."""
    min_chars: Annotated[int, Field(ge=0)] | None = None
    """It has so many characters at least."""
    max_chars: Annotated[int, Field(ge=0)] | None = None
    """It has so many characters at most."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        others = (self.is_, self.matches, self.json_, self.similar, self.min_chars, self.max_chars)
        is_json = "json_" in self.model_fields_set
        if not any((*self.contains, *self.lacks)) and not is_json and others == (None,) * 6:
            text = "this says nothing that a text could fail; for an empty text write {is: ''}"
            raise between_keys(text)
        return self


CheckedText = Annotated[
    TextCheck, BeforeValidator(_as_check, json_schema_input_type=str | TextCheck)
]
