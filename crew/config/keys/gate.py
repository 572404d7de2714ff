"""The shape of `reload_gate`: what the files of a reload must pass."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tools.schemas.yaml_shape import Shape


def _as_share(value: Any) -> Any:
    if isinstance(value, str) and value.endswith("%"):
        try:
            return float(value.removesuffix("%")) / 100
        except ValueError:
            return value
    return value


class ReplayGate(Shape):
    """Stored runs, played again on the new files."""

    sample: Annotated[int, Field(ge=1, le=10_000)] = 200
    """So many of the runs that are kept."""
    at_most: Annotated[
        Annotated[float, Field(ge=0, le=1)],
        BeforeValidator(_as_share, json_schema_input_type=float | str),
    ] = 0.05
    """How many of them may go another way, such as 5%."""
    seconds: Annotated[float, Field(ge=1, le=600)] = 10.0
    """What takes longer is refused."""


class ReloadGate(Shape):
    """A reload that does not pass is refused, as one with errors in its files."""

    rehearsals: bool = True
    """All rehearsals of the crew pass."""
    replay: ReplayGate | None = None
    """Stored runs go the same way; not looked at unless given."""
