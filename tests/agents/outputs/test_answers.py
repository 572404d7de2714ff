"""A model's text is a right answer, or is not; nothing is converted."""

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.outputs.answers import CheckedAnswer, UnknownValue, check_answer
from agents.outputs.schema import parse_schema
from agents.outputs.typed import schema_for_model
from agents.outputs.vocabularies import OnUnknown, Vocabulary, read_vocabulary

SCHEMA: dict[str, Any] = {
    "properties": {
        "kind": {"enum": ["new", "Straße"]},
        "tools": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "maximum": 1},
        "level": {"enum": [1, 2]},
        "symbols": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string", "vocabulary": "symbols"},
        },
        "note": {"type": "string", "maxLength": 10, "pattern": "^[a-z{}. ]*$"},
        "who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    "required": ["kind", "tools"],
}
SPELLINGS = read_vocabulary(
    "symbol,name\nNVDA,Nvidia\nFPT,FPT Corp\n", is_csv=True, column="symbol", aliases=["name"]
)
RIGHT: dict[str, Any] = {
    "kind": "new",
    "tools": True,
    "count": 3,
    "share": 0.5,
    "level": 2,
    "symbols": ["NVDA"],
    "note": "a note",
    "who": {"name": "Ann"},
}


def checked(answer: Any, on_unknown: OnUnknown = "drop", *, is_cut: bool = False) -> CheckedAnswer:
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    words = {"symbols": Vocabulary("symbols", SPELLINGS, on_unknown)}
    return check_answer(text, parse_schema(SCHEMA), words, is_cut=is_cut)


def changed(**values: Any) -> dict[str, Any]:
    return {**RIGHT, **values}


def test_a_right_answer_is_what_was_said():
    assert checked(RIGHT).output == RIGHT


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (changed(kind=" NEW "), RIGHT),
        (changed(kind="STRASSE"), changed(kind="Straße")),
        (changed(kind="stra\u0073\u0073e"), changed(kind="Straße")),
        (changed(count=3.0), RIGHT),
        (changed(more=1), RIGHT),
        (changed(symbols=["nvidia", "nvda"]), RIGHT),
        (changed(symbols=["  fpt  corp"]), changed(symbols=["FPT"])),
        (changed(note=None), {key: value for key, value in RIGHT.items() if key != "note"}),
        (f"```json\n{json.dumps(RIGHT)}\n```", RIGHT),
        (f"Here it is:\n```\n```json\n{json.dumps(RIGHT)}\n```\n```\nThat is all.", RIGHT),
    ],
)
def test_case_form_and_what_stands_around_do_not_count(said: Any, expected: Any):
    assert checked(said).output == expected


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("no JSON at all", "there is no JSON object in the answer"),
        ('{"kind": "new"} {"tools": true}', "more than one JSON object"),
        ('{"kind": "new", "kind": "new", "tools": true}', "kind stands twice"),
        ('{"kind": "new", "tools": true, "share": NaN}', "NaN is no JSON"),
        ('{"kind": "new", "tools": true, "share": 1e400}', "share: is too large"),
        ('{"kind": "new", "tools": true, "count": ' + "9" * 5000 + "}", "a number is too long"),
        ('{"kind": ' * 3000 + "}" * 3000, "nested too deep"),
        ('{"kind": "new", "tools"}', "the answer is no JSON"),
        ({"kind": "x" * 8 * 2**20, "tools": True}, "longer than 1,000,000 characters"),
        (changed(tools="false"), 'tools: must be true or false, not "false"'),
        (changed(tools=0), "tools: must be true or false, not 0"),
        (changed(tools=None), "tools: is missing"),
        (changed(count=True), "count: must be a whole number, not true"),
        (changed(count=3.5), "count: must be a whole number, not 3.5"),
        (changed(count="3"), 'count: must be a whole number, not "3"'),
        (changed(count=0), "count: must be at least 1, not 0"),
        (changed(count=10), "count: must be at most 9, not 10"),
        (changed(level=3), "level: must be one of 1, 2, not 3"),
        (changed(kind="old"), 'kind: must be one of new, Straße, not "old"'),
        (changed(kind=["new"]), "kind: must be a text, not a list"),
        (changed(symbols="NVDA"), 'symbols: must be a list, not "NVDA"'),
        (changed(note="x" * 11), "note: must have at most 10 characters, not 11"),
        (changed(note="X"), "note: must match"),
        (changed(who={"name": 1}), "who.name: must be a text, not 1"),
        (changed(who={}), "who.name: is missing"),
        ({"x": 1}, "kind: is missing"),
        (changed(who="Ann"), 'who: must be an object, not "Ann"'),
    ],
)
def test_what_is_wrong_is_no_answer(said: Any, problem: str):
    found = checked(said)
    assert found.output is None
    assert any(problem in one for one in found.problems), found.problems


def test_all_that_is_wrong_is_said_at_once():
    found = checked({"kind": "x", "count": "y"})
    assert [one.partition(":")[0] for one in found.problems] == ["kind", "tools", "count"]


def test_a_cut_answer_says_so():
    found = checked('{"kind": "new", "tools": tr', is_cut=True)
    assert found.problems[0].startswith("the answer was cut off because it is too long")


@pytest.mark.parametrize(
    ("on_unknown", "symbols"), [("drop", ["NVDA"]), ("keep", ["NVDA", "XYZ"]), ("fail", None)]
)
def test_what_a_vocabulary_does_not_have(on_unknown: OnUnknown, symbols: list[str] | None):
    found = checked(changed(symbols=["nvidia", "XYZ"]), on_unknown)
    assert found.unknown == (UnknownValue("symbols", "XYZ"),)
    if symbols is None:
        assert found.problems == ('symbols[1]: "XYZ" is not in the vocabulary symbols',)
    else:
        assert found.output == changed(symbols=symbols)


def test_halves_of_pairs_can_be_stored():
    found = checked('{"kind": "new", "tools": true, "who": {"name": "\\ud83d\\ude00 \\ud800"}}')
    assert found.output is not None
    assert json.dumps(found.output, ensure_ascii=False).encode()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10)
    | st.floats(allow_nan=True)
    | st.sampled_from(["new", "nvidia", "false", "", "a note"])
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "name"]), inner, max_size=4)
    ),
    max_leaves=6,
)
# the judge: a validator of others, for what was made of an answer
JUDGE = jsonschema_rs.validator_for(
    {
        **schema_for_model(parse_schema(SCHEMA)),
        "required": SCHEMA["required"],
    }
)


@settings(max_examples=2000)
@given(st.data())
def test_a_mutant_of_a_right_answer_is_right_or_refused(data: st.DataObject):
    """What is taken has the types of the schema, as another validator judges."""
    mutant = copy.deepcopy(RIGHT)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([*SCHEMA["properties"], "name", "new"]))
        if data.draw(st.booleans()):
            mutant.pop(place, None)
        else:
            mutant[place] = data.draw(JSON)
    found = checked(json.dumps(mutant))
    assert (found.output is None) == bool(found.problems)
    if found.output is not None:
        # what may be absent is, where it is null
        whole = {name: found.output.get(name) for name in SCHEMA["properties"]}
        assert set(found.output) <= set(SCHEMA["properties"])
        assert JUDGE.is_valid(whole), found.output


@settings(max_examples=500)
@given(st.text(alphabet='{}[]":,0123456789.eE+-ntfalsru \\\n`kd', max_size=60))
def test_any_text_is_an_answer_or_is_not(text: str):
    found = checked(text)
    assert (found.output is None) == bool(found.problems)
