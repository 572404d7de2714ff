"""Paths with `…`, beside a plain search of all ways to read them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from crew.rehearsal.files.nodes import Node, Place, merged, substituted
from crew.rehearsal.judging.paths import describe_difference, first_difference
from crew.rehearsal.judging.story import Step
from crew.rehearsal.keys.expected import ExpectedStep
from crew.rehearsal.matching import is_like

NAMES = st.sampled_from("abc")
STEPS = st.lists(NAMES, max_size=7)
WANTED = st.lists(st.sampled_from(["a", "b", "c", "…"]), max_size=6)
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(WANTED, STEPS)
def test_a_path_fits_as_a_regular_expression_would(wanted: list[str], taken: list[str]):
    pattern = "".join(".*" if one == "…" else one for one in wanted)
    expected = [ExpectedStep(name=one) for one in wanted]
    steps = [Step(one) for one in taken]
    found = first_difference(expected, steps)
    assert (found is None) == (re.fullmatch(pattern, "".join(taken)) is not None)
    if found is not None:
        before = "".join(".*" if one == "…" else one for one in wanted[: found.number])
        assert re.match(before, "".join(taken)), "what stands before the difference fits"
        assert describe_difference(expected, steps, found, {})


@given(VALUES)
def test_a_value_is_like_itself_and_like_more(value: object):
    assert is_like(value, value)
    if isinstance(value, dict):
        assert is_like(value, {**value, "more": 1})


def tree(value: object, line: int = 1, *, default: bool = False) -> Node:
    place = Place("f", line, 1)
    if isinstance(value, dict):
        return Node(
            {key: tree(inner, line, default=default) for key, inner in value.items()},
            place,
            place,
            default,
        )
    if isinstance(value, list):
        return Node([tree(inner, line, default=default) for inner in value], place, place, default)
    return Node(value, place, place, default)


def plain_merge(base: object, over: object) -> object:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    keys = [*base, *(key for key in over if key not in base)]
    return {
        key: plain_merge(base[key], over[key]) if key in base and key in over else over.get(key, base.get(key))
        for key in keys
    }  # fmt: skip


@given(VALUES, VALUES)
def test_maps_are_merged_and_places_stay(base: object, over: object):
    both = merged(tree(base, 1, default=True), tree(over, 2))
    assert both.plain() == plain_merge(base, over)
    assert merged(both, tree({}, 3)).plain() == (
        both.plain() if isinstance(both.plain(), dict) else {}
    )


@given(st.text("<>ab", max_size=12), st.text("ab", max_size=3))
def test_variables_are_filled_in_once(text: str, value: str):
    given_text = f"{text}<<a>>"
    found = substituted(tree(given_text), {"a": value}, set()).plain()
    assert found == re.sub(r"<<a>>", lambda _: value, given_text)
