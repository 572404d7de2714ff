"""Calls written as text: any nesting and quoting is understood, or is one call with an error; nothing raises."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.written.find import find_written_calls
from agents.written.text_calls import find_calls
from tools.calls import ToolCall

TEXT, MAYBE_TEXT = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}
TOOLS: dict[str, dict[str, Any]] = {
    "Ping": {"host": {}, "count": {"type": "integer"}},
    "PingAll": {},
    "Record": {"question": {}, "answer": {}, "ok": {}, "tags": {}},
    "Pay": {"account": TEXT, "amount": {"type": "number"}, "note": MAYBE_TEXT},
}


def found_calls(text: str) -> list[ToolCall]:
    return [one.call for one in find_calls(text, TOOLS)]


def found(text: str) -> list[tuple[str, dict[str, Any]]]:
    calls = found_calls(text)
    assert all(call.argument_error is None for call in calls), calls
    return [(call.tool, call.arguments) for call in calls]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Ping(192.168.1.1)", [("Ping", {"host": "192.168.1.1"})]),
        ("Ping(192.168.1.1, 4)", [("Ping", {"host": "192.168.1.1", "count": 4})]),
        ('Ping(host="a", count=2)', [("Ping", {"host": "a", "count": 2})]),
        ("Ping( 'a, b)' )", [("Ping", {"host": "a, b)"})]),
        ('Ping("say \\"hi\\"\\n")', [("Ping", {"host": 'say "hi"\n'})]),
        ("Let me see.\nPing(a)\nPingAll()\nDone.", [("Ping", {"host": "a"}), ("PingAll", {})]),
        ("I call Ping(a) now", []),
        ("Pinger(a)\nPing (a)", []),
        ("```\nPing(a)\n```\nPing(b)", [("Ping", {"host": "b"})]),
        ("~~~\nPing(a)\n```\nPing(b)", []),
        (
            'Record(question="What\nis it?", ok=true, tags=["a", 1, null, {k: [2]}])',
            [
                (
                    "Record",
                    {"question": "What\nis it?", "ok": True, "tags": ["a", 1, None, {"k": [2]}]},
                )
            ],
        ),
        (
            "Record(What is 2+2?, four (4), false)",
            [("Record", {"question": "What is 2+2?", "answer": "four (4)", "ok": False})],
        ),
        (
            "Record(\n  question='q',\n  answer='a',\n)",
            [("Record", {"question": "q", "answer": "a"})],
        ),
        ("Ping(-1.5e3, .5)", [("Ping", {"host": -1500.0, "count": 0.5})]),
        ('Ping(host="```\ncode\n```")', [("Ping", {"host": "```\ncode\n```"})]),
        ("Ping(host=a=b)", [("Ping", {"host": "a=b"})]),
        ("```code``` is inline\nPing(a)", [("Ping", {"host": "a"})]),
        ("```python\nPing(a)\n```python\nPing(b)\n```\nPing(c)", [("Ping", {"host": "c"})]),
        ("Ping(1e999)", [("Ping", {"host": "1e999"})]),
        # a text stays as it is written: accounts, versions, telephone numbers
        ("Pay(00123, 1.50)", [("Pay", {"account": "00123", "amount": 1.5})]),
        ("Pay(account=+84901234567)", [("Pay", {"account": "+84901234567"})]),
        ("Pay(1.10, note=1e5)", [("Pay", {"account": "1.10", "note": "1e5"})]),
        ("Pay(true, note=None)", [("Pay", {"account": "true", "note": None})]),
        (r'Ping("H\u00e0 N\u1ed9i \uD83D\uDE00")', [("Ping", {"host": "Hà Nội 😀"})]),
        (r'Ping("\ud83d \u12 C:\users")', [("Ping", {"host": r"\ud83d \u12 C:\users"})]),
    ],
)
def test_what_is_understood(text: str, calls: list[tuple[str, dict[str, Any]]]):
    """As models write them."""
    assert found(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        "Ping(",
        "Ping(a",
        'Ping("a',
        "Ping(a, b, c)",
        "Ping(host=a, host=b)",
        "Ping([1, 2)",
        "Ping({1})",
        "Ping(a, , b)",
        "Ping(" + "[" * 99,
    ],
)
def test_what_cannot_be_read_is_a_call_with_an_error(text: str):
    """So that the model knows, and every call has its result."""
    calls = found_calls(text)
    assert len(calls) == 1
    assert calls[0].argument_error


# escapes such as \u0007 are JSON's own; text calls take characters as they are
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(values, min_size=1, max_size=2), st.booleans())
def test_json_arguments_come_back_as_they_were(given_: list[Any], positional: bool):
    """Whatever JSON can say, in any nesting and quoting, by place and by name."""
    arguments = dict(zip(["host", "count"], given_, strict=False))
    texts = [(key, json.dumps(value, ensure_ascii=False)) for key, value in arguments.items()]
    text = ", ".join(value if positional else f"{key}={value}" for key, value in texts)
    assert found(f"Ping({text})") == [("Ping", arguments)]


@given(st.text(alphabet="Ping(Record)[]{}\"'\\,=:\n `~1.e-xé", max_size=200))
def test_nothing_raises(text: str):
    """Any text gives calls of known tools, each readable or with an error."""
    for call in found_calls(text):
        assert call.tool in TOOLS
        assert isinstance(call.arguments, dict)


@pytest.mark.parametrize(
    "piece",
    [
        "Ping(\n",
        "Ping('\n",
        "Ping([\n",
        "Ping({a:\n",
        "Ping(x(\n",
        'Ping("a", \n',
        "```\n",
        "(\nPing(",
    ],
)
def test_long_texts_are_read_at_once(piece: str):
    """Half a million characters of beginnings: what is quadratic would take minutes."""
    text = piece * (500_000 // len(piece))
    assert all(call.tool == "Ping" for call in found_calls(text))


@pytest.mark.parametrize("mark", ["<function=add>", "<tool_call>", ""])
@pytest.mark.parametrize(
    "piece", ["`", "```\n", "<a>", "{ ", "<tool_call>add<arg_key>", "<function=add>", " ", "[ ["]
)
def test_long_texts_with_marks_are_read_at_once(piece: str, mark: str):
    """A model that repeats itself holds nothing up: what is quadratic would take minutes."""
    text = f"{mark}{piece * (1_000_000 // len(piece))}x"
    found = find_written_calls(text, {"add": {"a": {"type": "integer"}}})
    assert all(one.call.tool == "add" for one in found)


def test_marks_within_json_are_its_texts():
    """Of an argument that is a page."""
    body = '{"title": "A", "html": "<title>x</title>"}'
    tools = {"write": {"title": {"type": "string"}, "html": {"type": "string"}}}
    (found,) = find_written_calls(f'<invoke name="write">{body}</invoke>', tools)
    assert found.call.arguments == json.loads(body)
