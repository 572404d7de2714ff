"""Routes by a typed answer: conditions on its fields; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agents.outputs.schema import number_text


@dataclass(frozen=True, slots=True)
class OutputCondition:
    """What a field must be; everything that is given must hold.

    A field is absent where it is missing or null, and a text where it is empty.
    """

    # one of these
    values: tuple[Any, ...] | None = None
    # none of these
    other_than: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    fewest: int | None = None
    most: int | None = None
    # one of these is in the list
    has: tuple[Any, ...] = ()
    # none of these is
    lacks: tuple[Any, ...] = ()
    absent: bool | None = None

    def fits(self, value: Any) -> bool:
        """Return whether a field is so; None for one that is absent."""
        is_absent = value is None or (isinstance(value, str) and not value.strip())
        if self.absent is not None and self.absent is not is_absent:
            return False
        if self.values is not None and (is_absent or value not in self.values):
            return False
        if self.other_than and not is_absent and value in self.other_than:
            return False
        if self.low is not None and (is_absent or value < self.low):
            return False
        if self.high is not None and (is_absent or value > self.high):
            return False
        items = value or ()
        if self.fewest is not None and len(items) < self.fewest:
            return False
        if self.most is not None and len(items) > self.most:
            return False
        if self.has and not any(one in items for one in self.has):
            return False
        return not any(one in items for one in self.lacks)

    @property
    def label(self) -> str:
        """Says it, behind the field's name."""
        parts = [f"is {_texts(self.values)}"] if self.values is not None else []
        parts += [f"is not {_texts(self.other_than)}"] if self.other_than else []
        parts += [f"≥ {number_text(self.low)}"] if self.low is not None else []
        parts += [f"≤ {number_text(self.high)}"] if self.high is not None else []
        parts += [f"has ≥ {self.fewest}"] if self.fewest is not None else []
        parts += [f"has ≤ {self.most}"] if self.most is not None else []
        parts += [f"has {_texts(self.has)}"] if self.has else []
        parts += [f"lacks {_texts(self.lacks)}"] if self.lacks else []
        if self.absent is not None:
            parts.append("is absent" if self.absent else "is there")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class OutputRoute:
    """One entry of `routing.outputs.<agent>`."""

    # by the field's name; all must fit
    when: Mapping[str, OutputCondition]
    # an agent, a group, or None: the run ends, or pauses
    target: str | None
    pauses: bool
    description: str
    # where it is defined, as `file:line`
    source: str

    def fits(self, output: Mapping[str, Any]) -> bool:
        """Return whether all conditions fit an answer."""
        return all(condition.fits(output.get(name)) for name, condition in self.when.items())

    def matched(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an answer that the conditions look at; None for an absent one."""
        return {name: output.get(name) for name in self.when}

    @property
    def label(self) -> str:
        """Says when it is taken, for the graph."""
        return ", ".join(self.describe()) or "any output"

    def describe(self) -> Iterator[str]:
        """Yield each condition in words."""
        for name, condition in self.when.items():
            is_value = condition == OutputCondition(values=condition.values)
            said = f"= {_texts(condition.values or ())}" if is_value else condition.label
            yield f"{name} {said}"


def _texts(values: tuple[Any, ...]) -> str:
    return " or ".join(value_text(one) for one in values)


def value_text(value: Any) -> str:
    """Return a value as it is written in YAML."""
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, float) else str(value)
