"""What a model writes, as a schema that somebody wrote wants it."""

from typing import Any

import pytest

from tools.errors import ArgumentsError
from tools.schemas.schema import JsonSchema
from tools.schemas.schema_types import Types


@pytest.mark.parametrize(
    ("schema", "given", "read"),
    [
        ({"type": "integer"}, " 5 ", 5),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"oneOf": [{"type": "number"}, {"type": "null"}]}, "-.5e1", -5.0),
        ({"$ref": "#/$defs/count"}, "5", 5),
        ({"$ref": "#/$defs/a~1b%25"}, "true", True),
        ({"type": "array", "items": {"type": "integer"}}, ["5", 6], [5, 6]),
        ({"$ref": "#/$defs/list"}, ["5"], [5]),
        (
            {"properties": {"a": {"$ref": "#/$defs/count"}}},
            {"a": "5", "b": "6"},
            {"a": 5, "b": "6"},
        ),
        ({"$ref": "#/$defs/again"}, "5", "5"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": True}, "TRUE", True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 5, "5"),
        # it may be a text as well
        ({"type": ["integer", "string"]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {}]}, "5", "5"),
        ({}, "5", "5"),
    ],
)
def test_a_text_stands_for_what_a_schema_wants(schema: dict[str, Any], given: Any, read: Any):
    """In all ways in which others write that something may be left out."""
    defs = {
        "count": {"type": "integer"},
        "a/b%": {"type": "boolean"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/count"}},
        "again": {"anyOf": [{"$ref": "#/$defs/again"}, {"type": "string"}]},
    }
    checked = JsonSchema({"properties": {"x": schema}, "$defs": defs}).check({"x": given})["x"]
    assert (checked, type(checked)) == (read, type(read))


@pytest.mark.parametrize("text", ["1_000", "NaN", "inf", "1e999", "0x10", "٣", "1" * 5000])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_what_is_no_number_in_json_is_none(text: str, kind: str):
    """Python would read most of them."""
    with pytest.raises(ArgumentsError, match=f'is not of type "{kind}"'):
        JsonSchema({"properties": {"x": {"type": kind}}}).check({"x": text})


@pytest.mark.parametrize("schema", [{"enum": ["a"]}, {"const": 1}, {"$ref": "#/$defs/t"}])
def test_a_null_is_left_out_where_it_can_be_nothing_else(schema: dict[str, Any]):
    """However the schema says so."""
    check = JsonSchema({"properties": {"x": schema}, "$defs": {"t": {"type": "string"}}}).check
    assert check({"x": None}) == {}


def test_properties_in_parts_of_a_schema_are_known():
    """And no others: such a tool could never be called else."""
    part = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for schema in (
        {"$ref": "#/$defs/A", "$defs": {"A": part}},
        {"anyOf": [part]},
        {"allOf": [part]},
    ):
        made = JsonSchema(schema)
        assert made.check({"a": 5}) == {"a": 5}
        with pytest.raises(ArgumentsError, match="b"):
            made.check({"a": 5, "b": 1})


def test_a_schema_that_leads_to_itself_in_many_ways_is_read_at_once():
    """Somebody else wrote it: by all ways it would take years."""
    defs: dict[str, Any] = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{(n + step) % 20}"} for step in range(1, 20)]}
        for n in range(20)
    }
    defs["d0"]["anyOf"].append({"type": "integer"})
    types = Types({"$defs": defs})
    assert types.of({"$ref": "#/$defs/d1"}) is None
    assert types.of({"anyOf": [{"type": "integer"}, {"type": "null"}]}) == frozenset(
        {"integer", "null"}
    )
