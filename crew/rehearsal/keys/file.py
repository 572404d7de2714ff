"""The shape of a file of rehearsals: `tests/**/*.yaml`."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from crew.rehearsal.keys.case import Rehearsal
from crew.rehearsal.keys.expected import Expect, Occurrence
from tools.schemas.yaml_shape import Shape, resolve


class Invariant(Shape):
    """What must hold in every rehearsal."""

    name: Annotated[str, Field(min_length=1)]
    """What it says."""
    never: Occurrence | None = None
    """This never happens."""
    always: Expect | None = None
    """This holds each time."""
    when: Occurrence | None = None
    """Only where this happens."""
    except_: Annotated[list[str], Field(alias="except")] = []
    """Not in these rehearsals, by their ids."""


class Each(Shape):
    """A case for each combination of values."""

    each: Annotated[dict[str, list[Any]], BeforeValidator(resolve)]
    """By variable, its values; `<<variable>>` stands for one in texts."""


class RehearsalFile(Shape):
    """A file of rehearsals."""

    defaults: dict[str, Any] = {}
    """Keys of all its rehearsals that do not have them; mappings are merged, lists replaced."""
    rehearsals: list[Rehearsal] = []
    """The cases. Each may have `cases`: a list of mappings with other keys, or `{each: {variable:
    [values]}}`."""
    invariants: list[Invariant] = []
    """What must hold in all rehearsals of the crew."""
    include: list[str] = []
    """Files of the folder with further `defaults`."""
