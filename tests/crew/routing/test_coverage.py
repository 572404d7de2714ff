"""Which rules by output can be taken: what is said of them is true of every answer."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.outputs.schema import Field, parse_schema
from agents.outputs.vocabularies import Vocabulary
from crew.routing.coverage import cover
from crew.routing.outputs import OutputCondition, OutputRoute

COLOURS = ("red", "green", "blue")
SCHEMA = parse_schema(
    {
        "properties": {
            "ok": {"type": "boolean"},
            "colour": {"enum": list(COLOURS)},
            "count": {"type": "integer", "minimum": 0, "maximum": 5},
            "share": {"type": "number"},
            "tags": {"type": "array", "maxItems": 3, "items": {"enum": list(COLOURS)}},
            "note": {"type": "string"},
            "word": {"type": "string", "vocabulary": "v"},
        },
        "required": ["ok", "count"],
    }
)
Condition = OutputCondition
numbers = st.integers(-1, 6).map(float)
some_colours = st.lists(st.sampled_from(COLOURS), min_size=1, max_size=2, unique=True).map(tuple)
CONDITIONS: dict[str, Any] = {
    "ok": st.booleans().map(lambda one: Condition(values=(one,))),
    "colour": some_colours.map(lambda some: Condition(values=some))
    | some_colours.map(lambda some: Condition(other_than=some)),
    "count": st.builds(Condition, low=st.none() | numbers, high=st.none() | numbers)
    | st.integers(0, 5).map(lambda one: Condition(values=(one,))),
    "share": st.builds(Condition, low=st.none() | numbers, high=st.none() | numbers),
    "tags": st.builds(
        Condition,
        fewest=st.none() | st.integers(0, 3),
        most=st.none() | st.integers(0, 3),
        has=st.just(()) | some_colours,
        lacks=st.just(()) | some_colours,
    ),
    "note": st.booleans().map(lambda one: Condition(absent=one)),
    "word": some_colours.map(lambda some: Condition(values=some))
    | st.booleans().map(lambda one: Condition(absent=one)),
}
VALUES: dict[str, Any] = {
    "ok": st.booleans(),
    "colour": st.none() | st.sampled_from(COLOURS),
    "count": st.integers(0, 5),
    "share": st.none() | st.sampled_from([-1.5, -1, 0, 0.5, 1, 2.25, 6, 7]),
    "tags": st.none() | st.lists(st.sampled_from(COLOURS), max_size=3),
    "note": st.none() | st.sampled_from(["", "  ", "x"]),
    "word": st.none() | st.sampled_from([*COLOURS, "other"]),
}


@st.composite
def rule_sets(draw: st.DrawFn) -> tuple[OutputRoute, ...]:
    made = []
    for place in range(draw(st.integers(1, 5))):
        names = draw(st.lists(st.sampled_from(list(CONDITIONS)), max_size=2, unique=True))
        when = {name: draw(CONDITIONS[name]) for name in names}
        made.append(OutputRoute(when, f"t{place}", False, "", f"crew.yaml:{place}"))
    return tuple(made)


def first_of(routes: tuple[OutputRoute, ...], output: dict[str, Any]) -> int | None:
    return next((place for place, one in enumerate(routes) if one.fits(output)), None)


@settings(max_examples=400)
@given(rule_sets(), st.lists(st.fixed_dictionaries(VALUES), min_size=20, max_size=20))
def test_no_claim_is_false(routes: tuple[OutputRoute, ...], outputs: list[dict[str, Any]]):
    """A rule that is never taken takes no answer; without a gap every answer is taken."""
    found = cover(SCHEMA, routes)
    if found is None:
        return
    for output in outputs:
        taken = first_of(routes, output)
        assert taken not in found.covered
        for place, route in enumerate(routes):
            if place in found.covered and route.fits(output):
                assert taken in found.covered[place]
        if not found.gaps:
            assert taken is not None


@settings(max_examples=500)
@given(rule_sets())
def test_each_claim_has_its_proof(routes: tuple[OutputRoute, ...]):
    """What is named as a gap is one: an answer of those parts fits no rule."""
    found = cover(SCHEMA, routes)
    if found is None:
        return
    others = {name: field_value(field) for name, field in SCHEMA.properties.items()}
    mentioned = {name for route in routes for name in route.when}
    for gap in found.gaps:
        output = {
            name: gap.fields[name][0].value if name in gap.fields else others[name]
            for name in mentioned
        }
        assert first_of(routes, output) is None, gap.text


def field_value(field: Field) -> Any:
    """A right value of a field."""
    match field.kind:
        case "boolean":
            return True
        case "integer" | "number":
            return 0
        case "array":
            return []
        case _:
            return field.enum[0] if field.enum else "x"


def route(when: dict[str, Condition], target: str = "x") -> OutputRoute:
    return OutputRoute(when, target, False, "", "")


def test_bounds_from_both_sides_leave_no_gap():
    low, high = Condition(high=2), Condition(low=3)
    found = cover(SCHEMA, [route({"count": low}), route({"count": high})])
    assert found is not None
    assert found.gaps == ()
    # of numbers there are some between
    found = cover(SCHEMA, [route({"share": low}), route({"share": high})])
    assert found is not None
    assert [gap.text for gap in found.gaps] == ["share between 2 and 3 or absent"]


def test_an_item_in_an_empty_list_is_never_there():
    found = cover(SCHEMA, [route({"tags": Condition(has=("red",), most=0)}), route({})])
    assert found is not None
    assert found.covered == {0: ()}


def test_rules_that_together_cover_a_third():
    yes, no = Condition(values=(True,)), Condition(values=(False,))
    rules = [route({"ok": yes}), route({"ok": no}), route({"note": Condition(absent=True)})]
    found = cover(SCHEMA, rules)
    assert found is not None
    assert found.covered == {2: (0, 1)}


WORDS = {"v": Vocabulary("v", {"a": "A", "alias": "A", "b": "B"})}


def test_all_words_of_a_vocabulary_can_be_named():
    rules = [route({"word": Condition(values=("A",))}), route({"word": Condition(values=("B",))})]
    rules.append(route({"word": Condition(absent=True)}))
    known, unknown = cover(SCHEMA, rules, WORDS), cover(SCHEMA, rules)
    assert known is not None
    assert known.gaps == ()
    assert unknown is not None
    assert [gap.text for gap in unknown.gaps] == ["word another text"]


def test_a_list_of_booleans_has_no_others():
    schema = parse_schema(
        {
            "properties": {"flags": {"type": "array", "items": {"type": "boolean"}}},
            "required": ["flags"],
        }
    )
    rules = [route({"flags": Condition(has=(one,))}) for one in (True, False)]
    found = cover(schema, [*rules, route({"flags": Condition(most=0)})])
    assert found is not None
    assert found.gaps == ()


@pytest.mark.parametrize(("count", "is_checked"), [(14, True), (20, False)])
def test_many_fields_are_not_played_through(count: int, is_checked: bool):
    schema = parse_schema(
        {
            "properties": (names := {f"f{n}": {"type": "boolean"} for n in range(count)}),
            "required": list(names),
        }
    )
    when = {name: Condition(values=(True,)) for name in names}
    assert (cover(schema, [route(when)]) is not None) == is_checked
