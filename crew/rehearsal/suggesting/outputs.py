"""A typed answer that leads where it is to lead; pure."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.outputs.answers import check_answer
from agents.outputs.schema import Field
from agents.outputs.vocabularies import Vocabulary
from crew.routing.outputs import OutputCondition, OutputRoute

# answers that are tried
MAX_TRIED = 4000
# values of one field that are tried: of those that routes look at
MAX_VALUES = 40
# deeper fields are left empty
MAX_DEPTH = 5
TEXT = "example"


def find_output(
    schema: Field,
    vocabularies: Mapping[str, Vocabulary],
    routes: Sequence[OutputRoute],
    label: str | None,
) -> dict[str, Any] | None:
    """Find an answer of which a route is the first that fits.

    Args:
        schema: of the answer.
        vocabularies: by name.
        routes: in their order.
        label: of the route; None: no route may fit.

    Returns:
        None: none was found.
    """
    decides = {name for route in routes for name in route.when}
    # what comes last is tried first, and most often
    names = sorted(schema.properties, key=lambda name: name in decides)
    values = [list(_values(schema, name, routes, vocabularies)) for name in names]
    for tried in itertools.islice(itertools.product(*values), MAX_TRIED):
        found = dict(zip(names, tried, strict=True))
        output = {name: found[name] for name in schema.properties if found[name] is not None}
        route = next((one for one in routes if one.fits(output)), None)
        if (route.label if route is not None else None) != label:
            continue
        checked = check_answer(json.dumps(output), schema, vocabularies)
        if checked.output == output and not checked.unknown:
            return output
    return None


def _values(
    schema: Field, name: str, routes: Sequence[OutputRoute], words: Mapping[str, Vocabulary]
) -> Iterator[Any]:
    """Yield what a field may be, each value once: what it is by itself, and what routes look at."""
    field = schema.properties[name]
    conditions = [route.when[name] for route in routes if name in route.when]
    wanted = (one for condition in conditions for one in _fitting(condition, field, words))
    seen: set[str] = set()
    absent = () if name in schema.required else (None,)
    samples = itertools.islice(_samples(field, words, 0), MAX_VALUES if conditions else 1)
    for value in itertools.chain(samples, wanted, absent):
        key = json.dumps(value)
        if key not in seen:
            seen.add(key)
            yield value


def _fitting(
    condition: OutputCondition, field: Field, words: Mapping[str, Vocabulary]
) -> Iterator[Any]:
    """Yield values at the edges of a condition, on both sides."""
    yield from condition.values or ()
    for edge in (condition.low, condition.high):
        if edge is not None:
            is_whole = field.kind == "integer"
            yield from (int(edge) + by if is_whole else edge + by for by in (0, -1, 1))
    yield from ([one] for one in condition.has)
    if field.items is None:
        return
    items = list(itertools.islice(_samples(field.items, words, 1), MAX_VALUES))
    for count in (condition.fewest, condition.most):
        if count is not None and items:
            yield from ([*itertools.islice(itertools.cycle(items), n)] for n in (count, count + 1))
    if condition.lacks:
        others = (one for one in _samples(field.items, words, 1) if one not in condition.lacks)
        yield list(itertools.islice(others, 1))


def _samples(field: Field, words: Mapping[str, Vocabulary], depth: int) -> Iterator[Any]:
    """Yield values of a field's kind, the plainest first."""
    if field.enum:
        yield from field.enum
        return
    if field.vocabulary is not None:
        yield from words[field.vocabulary].spellings.values()
        return
    match field.kind:
        case "boolean":
            yield from (False, True)
        case "integer" | "number":
            edges = [field.minimum, field.maximum]
            found = [one for one in edges if one is not None] or [1]
            yield from (int(one) if field.kind == "integer" else one for one in found)
        case "array":
            items = (
                list(itertools.islice(_samples(field.items, words, depth + 1), MAX_VALUES))
                if field.items is not None and depth < MAX_DEPTH
                else []
            )
            fewest = field.min_items or 0
            yield [*itertools.islice(itertools.cycle(items), fewest)] if items else []
            yield from ([one] for one in items)
        case "object":
            inner = field.properties if depth < MAX_DEPTH else {}
            yield {
                name: next(_samples(one, words, depth + 1), None)
                for name, one in inner.items()
                if name in field.required
            }
        case _:
            yield TEXT[: field.max_length]
