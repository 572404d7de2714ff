"""What an argument may be in each place of a request, and what no argument can make of it."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.made_tools import tool_of
from tests.support.raw_server import answer, raw_server
from tools import ArgumentsError, ToolDefinitionError
from tools.config import HttpTool
from tools.kinds.http.request import RequestPlan
from tools.schemas.schema import JsonSchema

CONTROLS = ["a\r\nX: y", "a\nb", "a\0b", "\x1b[1m", "\x7f", "\x85", "\ud800"]


def plan(**entry: Any) -> RequestPlan:
    entry = {"kind": "http", "url": "http://example.com/a/{x}/b", **entry}
    return RequestPlan(HttpTool.model_validate(entry))


@pytest.mark.parametrize(
    "value",
    [
        *CONTROLS,
        *("", ".", "..", "../x", "a/../b", "a/./b", "a//b", "/a", "a/", "..\\x", "a\\b", "\\"),
        *("%2e%2e", "%2E", "a%2fb", "%5c", "..%2f", "%2e./x"),
        *(["a"], {"a": 1}, [], {}),
    ],
)
def test_what_cannot_stand_in_a_path(value: Any):
    """Refused before anything is sent."""
    with pytest.raises(ArgumentsError):
        plan().build({"x": value}, "k")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("é", "%C3%A9"),
        ("%41", "%2541"),
        ("?x=1#y", "%3Fx%3D1%23y"),
        ("{x}", "%7Bx%7D"),
        ("-._~", "-._~"),
        ("a;b=c,d&e", "a%3Bb%3Dc%2Cd%26e"),
        ("...", "..."),
        (7, "7"),
        (True, "true"),
        (2.5, "2.5"),
        (None, "null"),
    ],
)
def test_what_stands_in_a_path_is_encoded(value: Any, written: str):
    """RFC 6570, level 1."""
    assert plan().build({"x": value}, "k").url == f"http://example.com/a/{written}/b"


def test_a_place_that_is_escaped_is_sent_as_a_text():
    r"""`\{{x}}` is `{{x}}`, of an API with templates of its own; `{x}` is still the argument."""
    escaped = plan(
        method="POST",
        url=r"http://example.com/\{{x}}/{x}?t=\{{x}}",
        headers={"X-Tpl": r"\{{x}} {x}"},
        query={"q": r"\{{x}}{x}"},
        body={"t": r"\{{x}}", "u": "{x}"},
    )
    assert escaped.places == ["x"]
    request = escaped.build({"x": "Hue"}, "k")
    assert request.url == (
        "http://example.com/%7B%7Bx%7D%7D/Hue?t=%7B%7Bx%7D%7D&q=%7B%7Bx%7D%7DHue"
    )
    assert request.headers["X-Tpl"] == "{{x}} Hue"
    assert json.loads(request.body or b"") == {"t": "{{x}}", "u": "Hue"}


def test_a_whole_number_is_written_as_one():
    """A model may write 5.0 for an integer."""
    schema = JsonSchema({"properties": {"id": {"type": "integer"}, "n": {"type": "number"}}})
    assert schema.check({"id": 5.0, "n": 5.0}) == {"id": 5, "n": 5.0}
    assert isinstance(schema.check({"id": 5.0})["id"], int)


def test_segments_that_several_arguments_make():
    """Two dots, each harmless."""
    two = plan(url="http://example.com/{x}{y}/b")
    with pytest.raises(ArgumentsError):
        two.build({"x": ".", "y": "."}, "k")
    dotted = plan(url="http://example.com/.{x}/b")
    with pytest.raises(ArgumentsError):
        dotted.build({"x": "."}, "k")
    assert dotted.build({"x": "git"}, "k").url == "http://example.com/.git/b"


@given(st.text(max_size=30))
def test_no_argument_changes_another_part_of_the_url(value: str):
    """It is refused, or stands in its own segment alone."""
    try:
        url = plan(query={"q": "{x}", "r": "fixed"}).build({"x": value}, "k").url
    except ArgumentsError:
        return
    parts = urlsplit(url)
    assert parts.netloc == "example.com"
    assert [unquote(one) for one in parts.path.split("/")] == ["", "a", value, "b"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", value), ("r", "fixed")]
    assert parts.fragment == ""


@pytest.mark.parametrize("value", [*CONTROLS, "é", "→", ["a"], {"a": 1}, "\t"])
def test_what_cannot_stand_in_a_header(value: Any):
    """Printable ASCII only."""
    with pytest.raises(ArgumentsError):
        plan(url="http://example.com/", headers={"X-A": "{x}"}).build({"x": value}, "k")


@pytest.mark.parametrize("value", [*CONTROLS, {"a": 1}, [["a"]], [{"a": 1}]])
def test_what_cannot_stand_in_a_query(value: Any):
    """An object, and what no text may hold."""
    with pytest.raises(ArgumentsError):
        plan(url="http://example.com/", query={"a": "{x}"}).build({"x": value}, "k")
    with pytest.raises(ArgumentsError):
        plan(url="http://example.com/", method="POST", form={"a": "{x}"}).build({"x": value}, "k")


@pytest.mark.parametrize("value", ["\0", "\x1b", "\ud800", {"\x07": 1}, ["\ud800"]])
def test_what_cannot_stand_in_a_body(value: Any):
    """Control characters, at any depth; but lines are text."""
    post = plan(url="http://example.com/", method="POST", body={"a": "{x}"})
    with pytest.raises(ArgumentsError):
        post.build({"x": value}, "k")
    built = post.build({"x": "a\r\n\tb"}, "k").body
    assert json.loads(built or b"") == {"a": "a\r\n\tb"}
    within = plan(url="http://example.com/", method="POST", body={"a": "say {x}"})
    with pytest.raises(ArgumentsError):
        within.build({"x": ["a"]}, "k")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc{x}\"'\\ é", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(json_values)
def test_no_argument_changes_another_part_of_a_body(value: Any):
    """Whatever stands in it."""
    entry = {"method": "POST", "body": {"before": 1, "x": "{x}", "after": "{y}"}}
    built = plan(url="http://example.com/", **entry).build({"x": value, "y": "{x}"}, "k")
    assert json.loads(built.body or b"") == {"before": 1, "x": value, "after": "{x}"}


@pytest.mark.parametrize(
    ("entry", "key", "code"),
    [
        ({"url": "http://example.com/{x}"}, None, None),
        ({"url": "http://example.com/../x"}, "url", "bad-value"),
        ({"url": "http://example.com/a b"}, "url", "bad-value"),
        ({"url": "http://example.com/?a={x}"}, "url", "bad-value"),
        ({"method": "GET", "body": {}}, "body", "bad-value"),
        ({"method": "GET", "form": {}}, "form", "bad-value"),
        ({"method": "POST", "body": {}, "form": {}}, "form", "bad-value"),
        ({"headers": {"Host": "x"}}, "headers", "bad-value"),
        ({"headers": {"content-length": "0"}}, "headers", "bad-value"),
        ({"query": {"{x}": "1"}}, "kind", "bad-value"),
        ({"parameters": {"properties": {"y": {}}}}, "parameters", "bad-value"),
        (
            {"url": "http://example.com/{y}", "parameters": {"properties": {"y": {}}}},
            "parameters",
            "bad-value",
        ),
        (
            {"query": {"a": "{y}"}, "parameters": {"properties": {"z": {}}}},
            "parameters",
            "bad-value",
        ),
        ({"parameters": {"type": "array"}}, "parameters", "bad-value"),
        (
            {"parameters": {"properties": {}, "$ref": "http://127.0.0.1/x"}},
            "parameters",
            "schema-ref",
        ),
    ],
)
async def test_entries_that_make_no_request(
    entry: dict[str, Any], key: str | None, code: str | None
):
    """Told before anything starts, at the key that is wrong."""
    entry = {"url": "http://example.com/", **entry}
    if key is None:
        async with tool_of("http", **entry):
            return
    with pytest.raises(ToolDefinitionError) as raised:
        async with tool_of("http", **entry):
            pass
    assert (raised.value.path, raised.value.code) == ((key,), code)


async def test_wrong_arguments_send_nothing():
    """The model reads why."""
    async with raw_server(answer("x")) as server:
        entry: dict[str, Any] = {"url": server.url + "/{x}", "allow_private": True}
        async with tool_of("http", **entry) as tool:
            for arguments in ({}, {"x": 1, "y": 2}, {"x": "../etc"}, {"x": None}):
                result = await tool(**arguments)
                assert result.status == "error", arguments
    assert server.connections == 0
