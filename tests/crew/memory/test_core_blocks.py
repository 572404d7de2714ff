"""What a block of core memory takes, shows, and refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.outputs.schema import parse_schema
from crew.journal.records.remembered.core import CoreFill, CoreVersion, filled, owner_in
from crew.memory.core import CoreError, CoreRule, block_text, checked, edited, value_of

SCHEMA = parse_schema(
    {
        "properties": {
            "risk": {"enum": ["low", "high"]},
            "style": {"type": "string"},
            "age": {"type": "integer", "maximum": 150},
            "owns": {"type": "array", "items": {"type": "string"}},
            "member": {"type": "boolean"},
        }
    }
)
WRITERS = frozenset({"agent", "person"})
TEXT = CoreRule("notes", "user", "what is known", 50, "", None, WRITERS)  # type: ignore[arg-type]
FIELDS = CoreRule("profile", "user", "who it is", 100, {}, SCHEMA, WRITERS)  # type: ignore[arg-type]


def test_a_text_is_edited_at_once():
    """Each old stands there exactly once, in the text as it was."""
    assert edited(TEXT, "", [("", "likes tea")]) == "likes tea"
    assert edited(TEXT, "tea, milk", [("tea", "milk"), ("milk", "tea")]) == "milk, tea"
    assert edited(TEXT, "a b c", [("c", "C"), ("a", "")]) == "b C"


EDITS: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "nowhere": ("tea", [("milk", "x")], "'milk' does not stand there. It is now:\ntea"),
    "twice": ("tea tea", [("tea", "x")], "more than once"),
    "overlapping itself": ("aaa", [("aa", "x")], "more than once"),
    "overlapping another": ("one two", [("one t", "x"), ("two", "y")], "the same words"),
    "the same twice": ("one", [("one", "x"), ("one", "y")], "the same words"),
    "two into nothing": ("", [("", "x"), ("", "y")], "make one edit"),
    "empty": ("tea", [("", "x")], "old is empty"),
    "none": ("tea", [], "1 to 20 entries"),
    "many": ("tea", [("tea", "x")] * 21, "1 to 20 entries"),
    "over the cap": ("tea", [("tea", "word " * 60)], "cut "),
    "a NUL": ("tea", [("tea", "a\0b")], "U+0000"),
}


@pytest.mark.parametrize("case", EDITS)
def test_all_edits_are_made_or_none(case: str):
    text, edits, said = EDITS[case]
    with pytest.raises(CoreError, match="(?s)" + said.replace("+", r"\+").replace(".", r"\.")):
        edited(TEXT, text, edits)


def test_what_is_too_long_is_shown_whole():
    with pytest.raises(CoreError, match="max_tokens is 50: cut") as refused:
        checked(TEXT, "word " * 100)
    assert str(refused.value).count("word") == 100


def test_fields_are_lines():
    value = {"risk": "high", "age": 41, "owns": ["FPT", "VNM"], "member": True}
    text = block_text(FIELDS, value)
    assert text == 'risk: high\nstyle: null\nage: 41\nowns: ["FPT", "VNM"]\nmember: true'
    changed = edited(FIELDS, value, [("style: null", "style: concise"), ("age: 41", "age: null")])
    assert changed == {k: v for k, v in value.items() if k != "age"} | {"style": "concise"}
    # an enum has its own spelling
    assert edited(FIELDS, {}, [("risk: null", "risk: HIGH")]) == {"risk": "high"}


FIELD_EDITS = {
    "another value": ("risk: null", "risk: medium", "risk: must be one of low, high"),
    "another kind": ("age: null", "age: old", "age: must be a whole number"),
    "too large": ("age: null", "age: 151", "age: must be at most 150"),
    "another field": ("age: null", "salary: 5", "there is no field salary"),
    "no field": ("age: null", "something", "on one line"),
    "nested deeply": ("age: null", "age: " + "[" * 100_000, "age: must be a whole number"),
    "one twice": ("age: null", "risk: low", "on one line"),
}


@pytest.mark.parametrize("case", FIELD_EDITS)
def test_each_field_is_checked(case: str):
    old, new, said = FIELD_EDITS[case]
    with pytest.raises(CoreError, match=said):
        edited(FIELDS, {}, [(old, new)])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "risk": st.sampled_from(["low", "high"]),
            "style": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
            | st.sampled_from([" x", "x ", "null", "5", '"x"', "[1]"]),
            "age": st.integers(-1000, 150),
            "owns": st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)),
            "member": st.booleans(),
        },
    )
)
def test_what_is_shown_is_read_as_it_was(value: dict[str, Any]):
    """An edit of one line changes no other field."""
    wide = CoreRule("profile", "user", "who it is", 100_000, {}, SCHEMA, WRITERS)  # type: ignore[arg-type]
    line = next(one for one in block_text(wide, value).split("\n") if one.startswith("risk: "))
    if block_text(wide, value).count(line) == 1:
        assert edited(wide, value, [(line, "risk: low")]) == {**value, "risk": "low"}


def test_a_schema_may_have_changed():
    """What is right still stays; the rest is named, and not shown."""

    def kept(value: Any) -> CoreVersion:
        return CoreVersion("user:ann", "profile", 3, value, "", "agent", "a")

    assert value_of(FIELDS, None) == ({}, [])
    value, problems = value_of(FIELDS, kept({"risk": "medium", "age": 5, "gone": 1}))
    assert value == {"age": 5}
    assert len(problems) == 2
    assert value_of(FIELDS, kept("a text"))[0] == {}
    assert value_of(TEXT, kept({"age": 5})) == (
        "",
        ["it has fields, and the block is a text now"],
    )


def test_owners_do_not_meet():
    assert owner_in("user", "", "c") is None
    assert owner_in("conversation", "ann", "") is None
    assert owner_in("crew", "", "") == "crew"
    owners = {
        owner_in("user", "ann", "c"),
        owner_in("user", "conversation:ann:c", ""),
        owner_in("user", "crew", ""),
        owner_in("conversation", "ann", "c"),
        owner_in("conversation", "ann:x", "c"),
        owner_in("conversation", "", "c"),
    }
    assert len(owners) == 6


def test_a_block_is_filled_newest_first():
    fill = CoreFill("shares", ("b", "a", "b"), 3, 100, "x")
    first = filled(None, fill, "o", "r", "t")
    assert first is not None
    assert (first.value, first.version) == ("b\na", 1)
    assert filled(first, fill, "o", "r", "t") is None
    more = filled(first, CoreFill("shares", ("d", "c"), 3, 100, "x"), "o", "r", "t")
    assert more is not None
    assert (more.value, more.version) == ("d\nc\nb", 2)
    short = filled(None, CoreFill("shares", ("word " * 50, "b"), 3, 30, "x"), "o", "r", "t")
    assert short is not None
    assert short.value == "b"
