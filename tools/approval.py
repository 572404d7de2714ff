"""Which calls need a person's approval, and what the person may do; pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Any, Literal

OnDeadline = Literal["refuse", "wait", "fail"]
Remember = Literal["run", "always"]
# the arguments of a call as JSON: as the model wrote them, and as the tool gets them, where "yes"
# may be a True
Readings = Sequence[Mapping[str, Any]]
# a longer text is not searched: a person looks at it
MAX_SEARCHED_CHARS = 10_000
# of a schema
DEFINITION = "#/$defs/"


@dataclass(frozen=True, slots=True)
class Condition:
    """What an argument must be; everything that is given must hold."""

    # one of these
    values: tuple[Any, ...] | None = None
    above: float | None = None
    below: float | None = None
    # found anywhere in the text
    matches: str | None = None
    # none of these
    other_than: tuple[Any, ...] | None = None

    def holds(self, value: Any) -> bool:
        """Return whether an argument is so.

        What cannot be compared is, so that a person looks at it.
        """
        if self.values is not None and not _is_one_of(value, self.values):
            return False
        if self.other_than is not None and _is_one_of(value, self.other_than):
            return False
        if self.matches is not None and not _is_found(self.matches, value):
            return False
        number = _number(value)
        if self.above is not None and number is not None and number <= self.above:
            return False
        return not (self.below is not None and number is not None and number >= self.below)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """When a call needs approval, and what the person may do beside approving and denying."""

    # argument -> condition: all of one mapping must hold, of any of them; () always
    when: tuple[Mapping[str, Condition], ...] = ()
    # of a pause, until what `on_deadline` says is done; None: as long as it takes
    deadline_seconds: float | None = None
    on_deadline: OnDeadline = "refuse"
    # change the arguments
    may_edit: bool = True
    # say what the call returns, without making it
    may_answer: bool = False
    # for how long the person may approve calls that come later: `run` all calls of the tool until
    # the run ends, `always` the same call in all runs
    remember: tuple[Remember, ...] = ("run",)

    def applies(self, readings: Readings, parameters: Mapping[str, Any]) -> bool:
        """Return whether a call needs a person's approval.

        Args:
            readings: its arguments.
            parameters: the tool's schema, which has the defaults of those that were not given.
        """
        return not self.when or bool(self.asking(readings, parameters))

    def allows_edit(self, asked: Readings, edited: Readings, parameters: Mapping[str, Any]) -> bool:
        """Return whether a call may be made with other arguments.

        What made it ask holds for them too.
        """
        if not self.when:
            return True
        first, then = self.asking(asked, parameters), self.asking(edited, parameters)
        return any(place in then for place in first)

    def asking(self, readings: Readings, parameters: Mapping[str, Any]) -> list[int]:
        """Return the places in `when` of the mappings that hold; each condition for any reading."""
        properties = parameters.get("properties", {})
        defaults = {
            name: schema["default"]
            for name, schema in properties.items()
            if isinstance(schema, dict) and "default" in schema
        }
        given = [{**defaults, **arguments} for arguments in readings]
        return [
            place
            for place, conditions in enumerate(self.when)
            if all(
                any(_holds(condition, name, one) for one in given)
                for name, condition in conditions.items()
            )
        ]

    @property
    def may(self) -> tuple[str, ...]:
        """What a person may do, in the words of clients."""
        words = {"approve": True, "edit": self.may_edit, "deny": True, "done": self.may_answer}
        return tuple(word for word, allowed in words.items() if allowed)


def can_hold(condition: Condition, schema: Any, definitions: Mapping[str, Any]) -> bool:
    """Return whether any value that a schema allows meets a condition.

    Args:
        condition: on an argument.
        schema: JSON Schema of the argument; what it does not say is possible.
        definitions: `$defs` of the tool's schema.
    """
    schema = schema if isinstance(schema, Mapping) else {}
    if isinstance(name := schema.get("$ref"), str) and name.startswith(DEFINITION):
        return can_hold(condition, definitions.get(name.removeprefix(DEFINITION)), definitions)
    for key in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(key), list) and parts:
            return any(can_hold(condition, one, definitions) for one in parts)
    allowed = schema.get("enum")
    if schema.get("type") == "boolean":
        allowed = [True, False]
    if isinstance(allowed, list):
        return any(condition.holds(value) for value in allowed)
    if condition.values is not None:
        kept = [one for one in condition.values if _is_possible(one, schema)]
        return any(condition.holds(value) for value in kept)
    if schema.get("type") == "string":
        # a text may be no number, and then a person is asked
        return True
    # each bound, and whether it is itself outside, or within
    lows = [(one, True) for one in _bounds(condition.above, schema.get("exclusiveMinimum"))]
    lows += [(one, False) for one in _bounds(schema.get("minimum"))]
    highs = [(one, False) for one in _bounds(condition.below, schema.get("exclusiveMaximum"))]
    highs += [(one, True) for one in _bounds(schema.get("maximum"))]
    low, high = max(lows, default=(-inf, False)), min(highs, default=(inf, True))
    if schema.get("type") == "integer" and -inf < low[0] and high[0] < inf:
        first = floor(low[0]) + 1 if low[1] else ceil(low[0])
        return first <= (floor(high[0]) if high[1] else ceil(high[0]) - 1)
    return low[0] < high[0] or (low[0] == high[0] and not low[1] and high[1])


def dead_values(condition: Condition, schema: Any, definitions: Mapping[str, Any]) -> Sequence[Any]:
    """Return the values of a condition that no argument can be, beside others that one can.

    See `can_hold` for what is given.
    """
    given = condition.values or ()
    alone = (Condition(values=(one,)) for one in given)
    return [
        one
        for one, only in zip(given, alone, strict=True)
        if not can_hold(only, schema, definitions)
    ]


def _is_possible(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether an argument may be the same as a value of a condition."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(_is_possible(value, {**schema, "type": one}) for one in kind)
    if isinstance(value, str) and kind == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", len(value))
        return bool(least <= len(value) <= most)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "integer":
            return is_number and float(value).is_integer()
        case "number":
            return is_number
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, Mapping)
        case "null":
            return value is None
        case "string":
            # a text may stand for a number, or for true
            return isinstance(value, str | int | float)
        case _:
            return True


def _bounds(*given: Any) -> list[float]:
    return [float(one) for one in given if isinstance(one, int | float)]


def _holds(condition: Condition, name: str, given: Mapping[str, Any]) -> bool:
    if name in given:
        return condition.holds(given[name])
    # what was not given is nothing, and so none of what it must not be
    return condition.other_than is not None and condition == Condition(
        other_than=condition.other_than
    )


def _is_one_of(value: Any, values: Sequence[Any]) -> bool:
    return any(_is_same(value, one) for one in values)


def _is_same(value: Any, one: Any) -> bool:
    """Return whether two values are; models write numbers as texts, and True is no 1."""
    if isinstance(value, str) and isinstance(one, bool):
        return value.lower() == str(one).lower()
    if isinstance(value, str) and isinstance(one, (int, float)):
        return _number(value) == one
    return bool(value == one) and isinstance(value, bool) == isinstance(one, bool)


def _is_found(pattern: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return True
    text = str(value)
    return len(text) > MAX_SEARCHED_CHARS or re.search(pattern, text) is not None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    # not a number is neither above nor below
    return None if number != number else number
