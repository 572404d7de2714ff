"""Statements that can have no effect are said: rules, bounds, keywords, conditions, signals."""

from pathlib import Path
from typing import Any

import pytest

from crew import check
from tests.support.crews import write_crew

LOOK: dict[str, Any] = {
    "kind": "command",
    "argv": ["ls", "{dir}"],
    "description": "Look.",
    "parameters": {"type": "object", "properties": {"dir": {"type": "string"}}},
}


def codes(folder: Path) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in check(folder).problems]


def with_tool(folder: Path, **keys: Any) -> Path:
    return write_crew(folder, {"a": {"tools": ["look"]}}, tools={"look": {**LOOK, **keys}})


def rules(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return list(given)


HIDDEN: dict[str, tuple[list[dict[str, Any]], list[int]]] = {
    "the same agent": (rules({"agent": "a", "say": "x"}, {"agent": "a", "say": "never"}), [2]),
    "any agent": (rules({"say": "x"}, {"agent": "a", "hears": "y", "say": "never"}), [2]),
    "a longer text": (
        rules({"hears": "on", "say": "x"}, {"hears": ["london", "bonn"], "say": "never"}),
        [2],
    ),
    "each agent by itself": (
        rules({"agent": "a", "say": "x"}, {"agent": "b", "say": "x"}, {"say": "never"}),
        [3],
    ),
    "another agent": (rules({"agent": "a", "say": "x"}, {"say": "y"}), []),
    "a shorter text": (rules({"hears": "london", "say": "x"}, {"hears": "on", "say": "y"}), []),
    "another turn": (rules({"turn": 1, "say": "x"}, {"turn": 2, "say": "y"}, {"say": "z"}), []),
    "after a tool": (rules({"after": "PingHost", "say": "x"}, {"say": "y"}), []),
    "a helper": (rules({"say": "x"}, {"helper": "title", "say": "y"}), []),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_rule_that_never_speaks(tmp_path: Path, name: str):
    """With the line of the rule that hides it."""
    given, hidden = HIDDEN[name]
    folder = write_crew(tmp_path, {"a": {}, "b": {}}, given)
    found = [one for one in check(folder).problems if one.code == "hidden-rule"]
    assert len(found) == len(hidden)
    for one in found:
        assert one.severity == "warning"
        assert "the one in line 2 fits" in one.message


CALL: dict[str, Any] = {"hears": "tea", "calls": ["PingHost"]}
AFTER: dict[str, Any] = {"after": "PingHost", "say": "x"}
REST: dict[str, Any] = {"say": "y"}


@pytest.mark.parametrize(
    ("given", "is_found"),
    [
        (rules(CALL, AFTER, REST), True),
        (rules({**CALL, "agent": "a"}, {**AFTER, "agent": "a"}, REST), True),
        (rules(AFTER, CALL, REST), False),
        # it speaks once, or for another one
        (rules({**CALL, "turn": 1}, AFTER, REST), False),
        (rules({**CALL, "agent": "a"}, {**AFTER, "agent": "b"}, REST), False),
        # what stands before it ends the calls
        (rules({**AFTER, "say": "z", "hears": "tea"}, CALL, AFTER, REST), False),
        (rules({**CALL, "calls": ["GetSystemInfo"]}, AFTER, REST), False),
    ],
)
def test_a_rule_that_calls_again_and_again(
    tmp_path: Path, given: list[dict[str, Any]], is_found: bool
):
    folder = write_crew(tmp_path, {"a": {"tools": ["PingHost"]}, "b": {}}, given)
    found = [one for one in check(folder).problems if one.code == "script-loop"]
    assert bool(found) == is_found
    for one in found:
        assert "after PingHost the rule in line 2 speaks again" in one.message


BOUNDS: dict[str, dict[str, Any]] = {
    "length": {"minLength": 10, "maxLength": 3},
    "number": {"minimum": 5, "maximum": 4},
    "items": {"minItems": 2, "maxItems": 1},
    "open": {"exclusiveMinimum": 2, "exclusiveMaximum": 2},
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_without_room(tmp_path: Path, name: str):
    """Also within a part of the schema."""
    inner = {"type": "object", "properties": {"x": BOUNDS[name]}}
    for schema in ({"dir": BOUNDS[name]}, {"dir": inner}):
        folder = with_tool(tmp_path, parameters={"type": "object", "properties": schema})
        (found,) = [one for one in check(folder).problems if one.code == "bad-value"]
        assert "leaves no room" in found.message


def test_a_keyword_that_is_none(tmp_path: Path):
    """A warning, with what was meant; keys that begin with x- are one's own."""
    parameters = {**LOOK["parameters"], "requierd": ["dir"], "x-note": 1}
    (found,) = check(with_tool(tmp_path, parameters=parameters)).problems
    assert (found.code, found.severity, found.suggestion) == (
        "unknown-keyword",
        "warning",
        "required",
    )


NOBODY: dict[str, tuple[Any, dict[str, Any]]] = {
    "above and below": ({"above": 100, "below": 50}, {"type": "number"}),
    "no whole number": ({"above": 5, "below": 6}, {"type": "integer"}),
    "beyond the schema": ({"above": 100}, {"type": "number", "maximum": 50}),
    "not either": ({"not": [True, False]}, {"type": "boolean"}),
    "not any": ({"not": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    "a comparison as a text": (">100", {"type": "integer"}),
    "a number as a text": ("100", {"type": "integer"}),
    "a comparison in a list": ([{"above": 100}], {"type": "number"}),
    "true for a number": (True, {"type": "integer"}),
    "one for a list": (5, {"type": "array", "items": {"type": "integer"}}),
    "in each branch": ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    "above the most": ({"above": 1000}, {"type": "integer", "maximum": 1000}),
    "below the least": ({"below": 1}, {"type": "number", "minimum": 1}),
    "above all but one": ({"above": 9}, {"type": "integer", "exclusiveMaximum": 10}),
    "a text too long": ("toolong", {"type": "string", "maxLength": 5}),
    "one of a list is a text": ([100, "200"], {"type": "integer"}),
    "one of a list is misspelt": (["alice", "bobb"], {"type": "string", "enum": ["alice", "bob"]}),
    "one of a list is no whole number": ([5.5, 6], {"type": "integer"}),
    "one of a list is no flag": ([True, "yes"], {"type": "boolean"}),
    "matches none": ({"matches": "^x"}, {"type": "string", "enum": ["a", "b"]}),
}


@pytest.mark.parametrize("name", NOBODY)
def test_a_condition_that_nothing_meets(tmp_path: Path, name: str):
    """Nobody would be asked: an error."""
    condition, schema = NOBODY[name]
    folder = with_tool(
        tmp_path,
        parameters={"type": "object", "properties": {"dir": schema}},
        requires_approval={"when": {"dir": condition}},
    )
    (found,) = check(folder).problems
    assert (found.severity, found.code) == ("error", "bad-value")
    assert "nobody would ever be asked" in found.message


def test_a_flag_as_it_is_written_elsewhere(tmp_path: Path):
    folder = with_tool(
        tmp_path,
        parameters={"type": "object", "properties": {"dir": {"type": "boolean"}}},
        requires_approval={"when": {"dir": "yes"}},
    )
    (found,) = check(folder).problems
    assert "write true" in found.message


def test_conditions_that_something_meets(tmp_path: Path):
    """At the ends of what a schema allows."""
    for condition, schema in (
        ({"above": 999}, {"type": "integer", "maximum": 1000}),
        ({"above": 9.5}, {"type": "number", "exclusiveMaximum": 10}),
        ({"above": 8}, {"type": "integer", "exclusiveMaximum": 10}),
        ({"above": 8, "below": 10}, {"type": "integer"}),
        (["abc", "de"], {"type": "string", "maxLength": 3}),
        ({"above": 100}, {"type": "string"}),
    ):
        folder = with_tool(
            tmp_path,
            parameters={"type": "object", "properties": {"dir": schema}},
            requires_approval={"when": {"dir": condition}},
        )
        assert not [one for one in check(folder).problems if one.severity == "error"], condition


def test_an_approval_with_nothing_behind_it(tmp_path: Path):
    """As when the line below it was made a comment: it asks nobody, and looks as if it did."""
    folder = with_tool(tmp_path, requires_approval=True)
    file = folder / "tools.yaml"
    file.write_text(file.read_text().replace("requires_approval: true", "requires_approval:"))
    (found,) = check(folder).problems
    assert (found.severity, found.code) == ("error", "bad-value")
    assert "nobody would be asked: write true" in found.message


def test_what_was_meant_by_a_comparison(tmp_path: Path):
    for condition in (">100", [{"above": 100}]):
        schema = {"type": "object", "properties": {"dir": {"type": "integer"}}}
        approval = {"when": {"dir": condition}}
        folder = with_tool(tmp_path, parameters=schema, requires_approval=approval)
        (found,) = check(folder).problems
        assert "above" in found.message.partition("write ")[2]


def test_a_value_that_an_enum_of_python_does_not_have(tmp_path: Path):
    folder = with_tool(tmp_path)
    (folder / "t.py").write_text(
        "from enum import Enum\n\nclass Env(Enum):\n    PROD = 'prod'\n\n"
        'def deploy(env: Env) -> str:\n    """Deploy."""\n    return env.value\n'
    )
    for value, count in (("PROD", 1), ("prod", 0)):
        approval = {"when": {"env": value}}
        tool = {"kind": "python", "function": "t.py:deploy", "requires_approval": approval}
        write_crew(folder, {"a": {"tools": ["deploy"]}}, tools={"deploy": tool})
        found = [one for one in check(folder).problems if one.code == "bad-value"]
        assert len(found) == count, found


@pytest.mark.parametrize("condition", [{"above": 50, "below": 100}, {"not": ["a"]}, [1, 2], 7])
def test_a_condition_that_may_hold_is_none(tmp_path: Path, condition: Any):
    """No error."""
    assert check(with_tool(tmp_path, requires_approval={"when": {"dir": condition}})).problems == ()


@pytest.mark.parametrize("signal", ["[]", "[ ]", "[!]", "?!"])
def test_a_signal_needs_a_letter(tmp_path: Path, signal: str):
    """Or any text may have it."""
    routing = {"signals": {"a": [{"signal": signal, "target": "b"}]}}
    folder = write_crew(tmp_path, {"a": {}, "b": {}}, routing=routing)
    assert ("error", "empty-signal") in codes(folder)


def test_a_folder_that_is_not_there(tmp_path: Path):
    """A warning for each; relative ones are of the crew's folder."""
    folder = with_tool(tmp_path, read=["/no/such/folder", "agents"], write=["/tmp"])
    (found,) = check(folder).problems
    assert (found.code, found.severity) == ("no-folder", "warning")


def test_a_list_that_can_never_be_sent(tmp_path: Path):
    """In a path or a header; a query takes several values."""
    http = {"kind": "http", "description": "Get.", "url": "https://e.example.com/{ids}"}
    schema = {"type": "object", "properties": {"ids": {"type": "array"}}, "required": ["ids"]}
    tools = {"look": {**http, "parameters": schema}}
    (found,) = check(write_crew(tmp_path / "1", {"a": {"tools": ["look"]}}, tools=tools)).problems
    assert (found.code, "can never stand in url" in found.message) == ("bad-value", True)
    tools["look"] |= {"url": "https://e.example.com/x", "query": {"ids": "{ids}"}}
    assert check(write_crew(tmp_path / "2", {"a": {"tools": ["look"]}}, tools=tools)).problems == ()
