"""What the schema of a typed answer may say."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.outputs.schema import Field, SchemaError, parse_schema
from agents.outputs.typed import schema_for_model

GOOD: dict[str, Any] = {
    "properties": {
        "kind": {"enum": ["new", "Old"], "description": "which"},
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
        "level": {"enum": [1, 2]},
        "ok": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string", "vocabulary": "names"}},
        "parts": {
            "type": "array",
            "maxItems": 3,
            "items": {"properties": {"text": {"type": "string", "pattern": "^x"}}},
        },
    },
    "required": ["kind", "ok"],
}


def one(**field: Any) -> dict[str, Any]:
    return {"properties": {"a": field}}


WRONG: dict[str, tuple[Any, tuple[str | int, ...], str]] = {
    "no object": ({"type": "string"}, ("type",), "an answer is an object"),
    "no properties": ({"type": "object"}, (), "expected properties"),
    "no schema": ({"properties": {"a": "string"}}, ("properties", "a"), "expected a schema"),
    "no type": (one(description="x"), ("properties", "a"), "type is missing"),
    "a type that is none": (one(type="text"), ("properties", "a", "type"), "expected one of"),
    "several types": (one(type=["string", "null"]), ("properties", "a", "type"), "`required`"),
    "a misspelt keyword": (one(type="string", maxlength=3), ("properties", "a", "maxlength"), ""),
    "a keyword of others": (
        one(type="string", minimum=3),
        ("properties", "a", "minimum"),
        "not for a text",
    ),
    "no more than this": (
        {**one(type="string"), "additionalProperties": False},
        ("additionalProperties",),
        "left out of answers",
    ),
    "a reference": (
        one(**{"type": "object", "$ref": "#/x"}),
        ("properties", "a", "$ref"),
        "where it belongs",
    ),
    "a comma in a text": (
        one(type="string", description="what to ask", **{"if it is not clear": None}),
        ("properties", "a", "if it is not clear"),
        "put quotes around",
    ),
    "an enum twice": (one(enum=["a", " A "]), ("properties", "a", "enum", 1), "already"),
    "a mixed enum": (one(enum=["a", 1]), ("properties", "a", "enum", 1), "quotes"),
    "an empty enum": (one(type="string", enum=[]), ("properties", "a", "enum"), "a list of values"),
    "no items": (one(type="array"), ("properties", "a"), "items is missing"),
    "a bad pattern": (
        one(type="string", pattern="("),
        ("properties", "a", "pattern"),
        "no regular expression",
    ),
    "bounds that cross": (
        one(type="integer", minimum=3, maximum=2),
        ("properties", "a", "maximum"),
        "below minimum",
    ),
    "a bound in words": (
        one(type="integer", minimum="3"),
        ("properties", "a", "minimum"),
        "a number",
    ),
    "a negative count": (
        one(type="string", maxLength=-1),
        ("properties", "a", "maxLength"),
        "0 to 1,000,000",
    ),
    "required of nothing": (
        {**one(type="string"), "required": ["b"]},
        ("required", 0),
        "no property 'b'",
    ),
    "required in words": ({**one(type="string"), "required": "a"}, ("required",), "a list"),
    "enum and vocabulary": (
        one(enum=["a"], vocabulary="v"),
        ("properties", "a", "vocabulary"),
        "says all",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_mistake_has_its_place(case: str):
    schema, path, words = WRONG[case]
    with pytest.raises(SchemaError) as raised:
        parse_schema(schema)
    found = {problem.path: problem for problem in raised.value.problems}
    assert path in found, found
    assert words in found[path].text
    if case == "a misspelt keyword":
        assert found[path].suggestion == "maxLength"


def test_all_mistakes_are_found_at_once():
    schema = {"properties": {"a": {"type": "strin"}, "b": {"type": "array"}}, "required": ["c"]}
    with pytest.raises(SchemaError) as raised:
        parse_schema(schema)
    assert len(raised.value.problems) == 3


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_it_is_four_levels_deep_and_has_a_hundred_properties():
    assert parse_schema(nested(4)).kind == "object"
    with pytest.raises(SchemaError, match="4 levels"):
        parse_schema(nested(5))
    names = {f"p{n}": {"type": "string"} for n in range(100)}
    assert len(parse_schema({"properties": names}).properties) == 100
    with pytest.raises(SchemaError, match="101 properties"):
        parse_schema({"properties": {**names, "more": {"type": "string"}}})


def test_strict_servers_get_every_property_required():
    schema = schema_for_model(parse_schema(GOOD))
    assert schema["required"] == list(GOOD["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["count"]["type"] == ["integer", "null"]
    assert schema["properties"]["kind"]["type"] == "string"
    assert schema["properties"]["level"]["enum"] == [1, 2, None]
    assert "vocabulary" not in json.dumps(schema)
    jsonschema_rs.validator_for(schema)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "properties", "items", "enum", "a", "required", "maxItems", "minimum"]
                )
                | st.text(max_size=3),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_data_is_a_schema_or_a_mistake(data: Any):
    """Nothing else is raised, and what is taken is a JSON schema."""
    try:
        found = parse_schema(data)
    except SchemaError:
        return
    assert isinstance(found, Field)
    jsonschema_rs.validator_for(schema_for_model(found))
