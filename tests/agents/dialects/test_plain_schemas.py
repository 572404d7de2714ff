"""Schemas of tools in few forms: nothing that a model needs is lost, and none grows for ever."""

import json
from typing import Any

import pytest

from agents.dialects.chat.messages import plain_tool_form
from agents.model import ToolDefinition

NODE = {
    "type": "object",
    "properties": {"left": {"$ref": "#/$defs/N"}, "right": {"$ref": "#/$defs/N"}},
}
FILTER = {
    "type": "object",
    "properties": {
        "and": {"type": "array", "items": {"$ref": "#/$defs/N"}},
        "or": {"type": "array", "items": {"$ref": "#/$defs/N"}},
        "not": {"$ref": "#/$defs/N"},
    },
}


def plain(parameters: dict[str, Any]) -> Any:
    form = plain_tool_form(ToolDefinition("find", "Find.", parameters))
    return form["function"].get("parameters")


@pytest.mark.parametrize("node", [NODE, FILTER])
def test_a_schema_that_stands_within_itself(node: dict[str, Any]):
    found = plain(
        {"type": "object", "properties": {"it": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}
    )
    assert len(json.dumps(found)) < 1000
    assert "$ref" not in json.dumps(found)


def test_many_that_refer_to_many():
    """Each to the next one twice: written out, that doubles with each."""
    defs = {
        f"D{n}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/$defs/D{n + 1}"} for key in ("a", "b")},
        }
        for n in range(30)
    }
    found = plain({"type": "object", "properties": {"it": {"$ref": "#/$defs/D0"}}, "$defs": defs})
    assert len(json.dumps(found)) < 300_000


IDS = {"id": {"type": "string"}, "name": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (
            {
                "type": "object",
                "properties": IDS,
                "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
            },
            {"type": "object", "properties": IDS},
        ),
        (
            {
                "allOf": [
                    {"type": "object", "properties": IDS, "required": ["id"]},
                    {"required": ["name"]},
                ]
            },
            {"type": "object", "properties": IDS, "required": ["id", "name"]},
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string", "allOf": [{"minLength": 1}]}},
            },
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        (
            {
                "properties": {
                    "a": {
                        "description": "what",
                        "anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}],
                    }
                }
            },
            {
                "properties": {
                    "a": {"anyOf": [{"description": "what", "type": "integer"}, {"type": "string"}]}
                }
            },
        ),
        (
            {
                "$ref": "#/$defs/A",
                "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "object", "properties": IDS}},
            },
            {"type": "object", "properties": IDS},
        ),
        ({"type": "object", "properties": {}}, None),
    ],
)
def test_what_it_says_stays(schema: dict[str, Any], found: Any):
    assert plain(schema) == found
