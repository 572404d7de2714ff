"""Which answers each route by output takes, and which none takes: found by playing them through.

The domain of each field is cut where conditions mention it, so that within a part no condition
changes; the product of the parts is looked at one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, product
from math import prod
from operator import and_
from typing import Any

from agents.outputs.schema import NUMBERS, Field, number_text
from agents.outputs.vocabularies import Vocabulary
from crew.routing.outputs import OutputCondition, OutputRoute, value_text

# more are not played through
MAX_CASES = 20_000
# parts of a field that a text names
MAX_LABELS = 6
# values of one list that conditions mention: each subset is a part
MAX_MENTIONED = 8
# of a vocabulary that is played through word by word
MAX_WORDS = 50
NO_WORDS: Mapping[str, Vocabulary] = {}


@dataclass(frozen=True, slots=True)
class DomainPart:
    """A part of a field's domain: a value that stands for all of it, and its name."""

    value: Any
    label: str


ABSENT = DomainPart(None, "absent")


@dataclass(frozen=True, slots=True)
class Gap:
    """Answers that no route takes: of each field that matters, its parts."""

    fields: Mapping[str, tuple[DomainPart, ...]]

    @property
    def text(self) -> str:
        """Says which they are."""
        said = [f"{name} {_join_labels(parts)}" for name, parts in self.fields.items()]
        return ", ".join(said) or "every answer"


def _join_labels(parts: Sequence[DomainPart]) -> str:
    labels = list(dict.fromkeys(one.label for one in parts))
    more = [f"{len(labels) - MAX_LABELS} more"] if len(labels) > MAX_LABELS else []
    return " or ".join([*labels[:MAX_LABELS], *more])


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was found."""

    # places of routes that take no answer, each with those of the earlier ones that take what fits
    # it; none: no answer fits it at all
    covered: Mapping[int, tuple[int, ...]]
    gaps: tuple[Gap, ...]


def cover(
    schema: Field,
    routes: Sequence[OutputRoute],
    vocabularies: Mapping[str, Vocabulary] = NO_WORDS,
) -> Coverage | None:
    """Play through all answers; None where they are too many.

    Args:
        schema: of the answers.
        routes: in their order; their fields are in the schema.
        vocabularies: by name; of one that is not there any text is known.
    """
    conditions: dict[str, list[OutputCondition]] = {}
    for route in routes:
        for name, condition in route.when.items():
            conditions.setdefault(name, []).append(condition)
    domains: dict[str, list[DomainPart]] = {}
    for name, given in conditions.items():
        parts = _parts(schema.properties[name], given, vocabularies)
        if parts is None:
            return None
        is_required = name in schema.required
        domains[name] = parts if is_required else [*parts, ABSENT]
    if prod(len(parts) for parts in domains.values()) > MAX_CASES:
        return None
    names = list(domains)
    # one bit a route: whether its condition fits a part is looked at once, not in each case
    fitting = [[_fitting(name, part, routes) for part in domains[name]] for name in names]
    cases = product(*(range(len(parts)) for parts in fitting))
    open_cases: list[tuple[int, ...]] = []
    found: set[int] = set()
    for case, bits in zip(cases, product(*fitting), strict=True):
        common = reduce(and_, bits, (1 << len(routes)) - 1)
        if common:
            found.add(common)
        else:
            open_cases.append(case)
    taken: set[int] = set()
    before: dict[int, set[int]] = {}
    for common in found:
        first, *others = (place for place in range(len(routes)) if common >> place & 1)
        taken.add(first)
        for place in others:
            before.setdefault(place, set()).add(first)
    covered = {n: tuple(sorted(before.get(n, ()))) for n in range(len(routes)) if n not in taken}
    return Coverage(covered, tuple(_gaps(open_cases, domains)))


def _fitting(name: str, part: DomainPart, routes: Sequence[OutputRoute]) -> int:
    """Return the routes with a condition on a field that fits, or with none: a bit for each."""
    return sum(
        1 << place
        for place, one in enumerate(routes)
        if name not in one.when or one.when[name].fits(part.value)
    )


def _parts(
    field: Field, conditions: Sequence[OutputCondition], vocabularies: Mapping[str, Vocabulary]
) -> list[DomainPart] | None:
    """Return the parts of a field's domain; None where they are too many."""
    if field.kind == "array":
        return _lists(field, conditions, vocabularies)
    if field.kind == "object":
        return [DomainPart({}, "there")]
    if (values := _values(field, vocabularies)) is not None:
        return [DomainPart(one, value_text(one)) for one in values]
    if field.kind in NUMBERS:
        return _numbers(field, conditions)
    mentioned = _mentioned(conditions)
    others = DomainPart(_other(mentioned), "another text" if mentioned else "there")
    # an empty text is one that is absent
    may_be_empty = field.vocabulary is None and (field.pattern is None or field.pattern.search(""))
    empty = [DomainPart("", "empty")] if may_be_empty else []
    return [*(DomainPart(one, value_text(one)) for one in mentioned), others, *empty]


def _values(field: Field, vocabularies: Mapping[str, Vocabulary]) -> Sequence[Any] | None:
    """Return all values that a field can have, where they are few."""
    if field.kind == "boolean":
        return (True, False)
    if field.enum:
        return field.enum
    words = vocabularies.get(field.vocabulary or "")
    if words is None or words.on_unknown == "keep":
        return None
    known = list(dict.fromkeys(words.spellings.values()))
    return known if len(known) <= MAX_WORDS else None


def _mentioned(conditions: Sequence[OutputCondition]) -> list[Any]:
    values = ((*(one.values or ()), *one.other_than, *one.has, *one.lacks) for one in conditions)
    return list(dict.fromkeys(chain.from_iterable(values)))


def _other(mentioned: Sequence[Any]) -> str:
    """Return a text that is none of those."""
    text = "another"
    while text in mentioned:
        text += "_"
    return text


def _numbers(field: Field, conditions: Sequence[OutputCondition]) -> list[DomainPart]:
    """Return the numbers that conditions mention, and what lies between and beside them."""
    given = [*_mentioned(conditions)]
    given += [one for c in conditions for one in (c.low, c.high) if one is not None]
    given += [one for one in (field.minimum, field.maximum) if one is not None]
    step = 1 if field.kind == "integer" else 0
    points = sorted(set(given))
    if not points:
        return [DomainPart(0, "any number")]
    parts = [DomainPart(_whole(points[0], step, -1), f"below {number_text(points[0])}")]
    for here, after in zip(points, [*points[1:], None], strict=True):
        parts.append(DomainPart(here, f"{number_text(here)}"))
        if after is None:
            parts.append(DomainPart(_whole(here, step, 1), f"above {number_text(here)}"))
            continue
        between = _whole(here, 1, 1) if step else (here + after) / 2
        if here < between < after:
            parts.append(
                DomainPart(between, f"between {number_text(here)} and {number_text(after)}")
            )
    low = field.minimum if field.minimum is not None else parts[0].value
    high = field.maximum if field.maximum is not None else parts[-1].value
    kept = [one for one in parts if low <= one.value <= high]
    return [one for one in kept if not step or one.value == int(one.value)]


def _whole(number: float, step: int, way: int) -> float:
    """Return the next number below (-1) or above (1): a whole one for a step of 1."""
    if not step:
        return number + way
    return -(-number // 1) - 1 if way < 0 else number // 1 + 1


@dataclass(frozen=True, slots=True)
class _Items:
    """Stands for all lists of one length that have the same of what is mentioned."""

    count: int
    inside: Sequence[Any]

    def __len__(self) -> int:
        return self.count

    def __contains__(self, value: object) -> bool:
        return value in self.inside


def _lists(
    field: Field, conditions: Sequence[OutputCondition], vocabularies: Mapping[str, Vocabulary]
) -> list[DomainPart] | None:
    """Return lists by what they have of what is mentioned, and by their length."""
    assert field.items is not None, "a list has items"
    mentioned = _mentioned(conditions)
    if len(mentioned) > MAX_MENTIONED:
        return None
    least = field.min_items or 0
    lengths = {least, *(c.fewest for c in conditions if c.fewest is not None)}
    lengths |= {c.most for c in conditions if c.most is not None}
    lengths |= {one + 1 for one in lengths} | {one - 1 for one in lengths}
    longest = field.max_items if field.max_items is not None else max(lengths) + len(mentioned) + 1
    lengths |= {longest, *range(len(mentioned) + 1)}
    values = _values(field.items, vocabularies)
    has_others = values is None or bool(set(values) - set(mentioned))
    # two texts of a vocabulary are one value, so that each is there once
    is_set = field.items.vocabulary is not None and values is not None
    parts = []
    for count in sorted(one for one in lengths if least <= one <= longest):
        for size in range(min(count, len(mentioned)) + 1):
            if size < count and not has_others and (is_set or not size):
                # what is left would have to be one of those
                continue
            for inside in combinations(mentioned, size):
                label = _list_label(count, inside, mentioned)
                parts.append(DomainPart(_Items(count, inside), label))
    return parts


def _list_label(count: int, inside: Sequence[Any], mentioned: Sequence[Any]) -> str:
    items = f"of {count}"
    if not mentioned:
        return items
    said = (
        ", ".join(value_text(one) for one in inside)
        or f"none of {', '.join(map(value_text, mentioned))}"
    )
    return f"{items} with {said}"


def _gaps(
    cases: Sequence[tuple[int, ...]], domains: Mapping[str, Sequence[DomainPart]]
) -> Iterator[Gap]:
    """Yield cases, merged where they differ in one field only."""
    boxes = [tuple(frozenset((one,)) for one in case) for case in cases]
    for place in range(len(domains)):
        merged: dict[tuple[frozenset[int], ...], frozenset[int]] = {}
        for box in boxes:
            others = (*box[:place], *box[place + 1 :])
            merged[others] = merged.get(others, frozenset()) | box[place]
        boxes = [(*key[:place], here, *key[place:]) for key, here in merged.items()]
    for box in boxes:
        fields = {}
        for (name, parts), here in zip(domains.items(), box, strict=True):
            if len(here) < len(parts):
                fields[name] = tuple(parts[one] for one in sorted(here))
        yield Gap(fields)
