"""The shape of `routing.outputs` and of `vocabularies`."""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from agents.outputs.vocabularies import OnUnknown
from tools.schemas.yaml_shape import Shape, between_keys, form_of, resolve

Value = Annotated[Any, BeforeValidator(resolve)]
Scalar = Annotated[str | bool | int | float | None, BeforeValidator(resolve)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class OutputConditionConfig(Shape):
    """What a field of a typed answer must be; everything that is given must hold."""

    not_: Annotated[Value, Field(alias="not")] = None
    """Anything but this value, or any of this list; a field that is absent, too."""
    min: int | float | None = None
    """A number of at least this."""
    max: int | float | None = None
    """A number of at most this."""
    min_items: Count | None = None
    """A list of at least so many."""
    max_items: Count | None = None
    """A list of at most so many; one that is absent has none."""
    has: Value = None
    """A list with this value in it, or with one of these."""
    lacks: Value = None
    """A list without this value, or without all of these."""
    absent: bool | None = None
    """Whether it is missing, null or, of a text, empty."""


Condition = Annotated[
    Annotated[OutputConditionConfig, Tag("mapping")]
    | Annotated[list[Value], Tag("list")]
    | Annotated[Scalar, Tag("scalar")],
    Discriminator(form_of),
]


class OutputRouteConfig(Shape):
    """Where a typed answer leads."""

    when: dict[str, Condition] = {}
    """Fields of the answer: a value, a list of values, or conditions; all must hold.

    Always unless given.
    """
    target: str | None = None
    """An agent, a group, or empty: the run ends."""
    pause: bool = False
    """Pause for a person, in place of a target: the agent's words are the question, and the answer
    comes back to it."""
    description: str = ""
    """For the reader."""

    @model_validator(mode="after")
    def _require_one_way(self) -> Self:
        if self.pause and self.target:
            text = "a rule has a target or pauses, not both; remove one"
            raise between_keys(text, "pause")
        return self


class VocabularyConfig(Shape):
    """Texts that are known, each with the spelling of a file."""

    file: Annotated[str, Field(pattern=r"\.(csv|txt)$")]
    """In the crew's folder: `.csv` with names of columns in its first line, or `.txt` with a value
    in each line."""
    column: str | None = None
    """Of a CSV: the column of the values."""
    aliases: list[str] = []
    """Of a CSV: columns with other texts that mean the same value."""
    on_unknown: OnUnknown = "drop"
    """What becomes of a text that the file does not have: left out, kept, or a wrong answer."""

    @model_validator(mode="after")
    def _require_column(self) -> Self:
        if self.file.endswith(".csv") and self.column is None:
            raise between_keys("a CSV needs column, which names the column of the values", "file")
        if not self.file.endswith(".csv") and (self.column is not None or self.aliases):
            key = "column" if self.column is not None else "aliases"
            raise between_keys(f"{key} is for a CSV; remove it", key)
        return self
