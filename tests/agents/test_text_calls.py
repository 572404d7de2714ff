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
    "piece",
    [
        *("`", "```\n", "<a>", "{ ", "<tool_call>add<arg_key>", "<function=add>", " ", "[ ["),
        *("a <|tool_call|>{}a ", "{x\n"),
    ],
)
def test_long_texts_with_marks_are_read_at_once(piece: str, mark: str):
    """A model that repeats itself holds nothing up: what is quadratic would take minutes."""
    text = f"{mark}{piece * (1_000_000 // len(piece))}x"
    found = find_written_calls(text, {"add": {"a": {"type": "integer"}}})
    assert all(one.call.tool == "add" for one in found)


FRAMES = [
    '<tool_call>\n{"name": "note", "arguments": %s}\n</tool_call>',
    '<|python_tag|>{"name": "note", "parameters": %s}',
    "[TOOL_CALLS]note[ARGS]%s",
    '[TOOL_CALLS][{"name": "note", "arguments": %s}]',
    "<function=note>%s</function>",
    '<invoke name="note">%s</invoke>',
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.note:0<|tool_call_argument_begin|>%s"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "<｜tool▁call▁begin｜>note<｜tool▁sep｜>%s<｜tool▁call▁end｜>",
    "<tool_call>\n<function=note>%s</function>\n</tool_call>",
    '{"name": "note", "arguments": %s}',
]
WITHIN = [
    "<title>x</title>",
    "see <function=ping></function> ok",
    "see <|python_tag|>ping.call() x",
    "x [TOOL_CALLS]ping[ARGS]{} y",
    "a </tool_call> b",
    "see <tool_call> ok",
    "the marker [TOOL_CALLS] starts a call",
    "see </function> ok",
    "</invoke><|tool_call_end|><｜tool▁call▁end｜>",
    'one\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>',
    "a \\u003c and a \\ < b",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("words", WITHIN)
def test_marks_within_json_are_its_texts(frame: str, words: str):
    """Whatever frame stands around it; it is no call of another tool either."""
    tools = {"note": {"title": TEXT, "text": TEXT}, "ping": {}}
    body = json.dumps({"title": "A", "text": words}, ensure_ascii=False)
    (found,) = find_written_calls(frame % body, tools)
    assert (found.call.tool, found.call.argument_error) == ("note", None)
    assert found.call.arguments == {"title": "A", "text": words}


@given(st.sampled_from(FRAMES), st.text(alphabet='<>|[]{}"\\/` a\n', max_size=30))
def test_any_text_within_json(frame: str, words: str):
    body = json.dumps({"text": words}, ensure_ascii=False)
    (found,) = find_written_calls(frame % body, {"note": {"text": TEXT}, "a": {}})
    assert (found.call.tool, found.call.arguments) == ("note", {"text": words})


def test_an_answer_with_a_number_of_many_digits():
    """It is no call, and no mistake."""
    assert not find_written_calls(f'The number is {{"n": {"1" * 5000}}}', {"note": {"text": TEXT}})


def test_one_call_directly_behind_another():
    """Within a line with other words before; words behind a call make it a sentence."""
    text = 'Sure. [TOOL_CALLS]note{"text":"a"}note{"text":"b"}'
    found = [
        one.call.arguments["text"] for one in find_written_calls(text, {"note": {"text": TEXT}})
    ]
    assert found == ["a", "b"]


def test_a_fence_for_each_call():
    """And nothing else: words beside them are an answer."""
    fence = '```json\n{"name": "note", "arguments": {"text": "%s"}}\n```'
    both = f"{fence % 'a'}\n\n{fence % 'b'}"
    found = [one.call.arguments for one in find_written_calls(both, {"note": {"text": TEXT}})]
    assert found == [{"text": "a"}, {"text": "b"}]
    assert not find_written_calls(f"Such as:\n{both}", {"note": {"text": TEXT}})
