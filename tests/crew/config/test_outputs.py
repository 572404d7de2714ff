"""Mistakes in typed answers and in the rules that look at them: each with its line and remedy."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.output_problems import LAST, NAMES, NESTED, problems

CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # name: (arguments, code, the line, words)
    "a route of nothing": (
        {"rules": [LAST], "agents": {"a": {"output": None}}},
        "output-agent",
        "a:",
        "a has no output",
    ),
    "signals beside it": (
        {"rules": [LAST], "routing": {"signals": {"a": [{"signal": "[X]"}]}}},
        "output-signals",
        "a:",
        "an enum field of an output says where to go",
    ),
    "no such words": (
        {"rules": [LAST], "agents": {"a": {"output_text": "not"}}},
        "output-text",
        "output_text: not",
        "note?",
    ),
    "words that are none": (
        {"rules": [LAST], "agents": {"a": {"output_text": "ok"}}},
        "output-text",
        "output_text: ok",
        "its texts are kind, note",
    ),
    "a field that is not there": (
        {"rules": [{"when": {"knd": "new"}, "target": "b"}, LAST]},
        "output-field",
        "knd: new",
        "kind?",
    ),
    "a value that is not there": (
        {"rules": [{"when": {"kind": "nwe"}, "target": "b"}, LAST]},
        "output-value",
        "kind: nwe",
        "new?",
    ),
    "a text for a boolean": (
        {"rules": [{"when": {"ok": "yes"}, "target": "b"}, LAST]},
        "output-value",
        "ok: 'yes'",
        "expected true or false",
    ),
    "a name that is unknown": (
        {"rules": [{"when": {"names": {"has": "An"}}, "target": "b"}, LAST]},
        "output-value",
        "has: An",
        "Ann?",
    ),
    "a list with a value": (
        {"rules": [{"when": {"names": "Ann"}, "target": "b"}, LAST]},
        "output-value",
        "names: Ann",
        "write has, lacks",
    ),
    "a bound of a text": (
        {"rules": [{"when": {"kind": {"min": 1}}, "target": "b"}, LAST]},
        "output-value",
        "min: 1",
        "min is for numbers",
    ),
    "items of a number": (
        {"rules": [{"when": {"count": {"min_items": 1}}, "target": "b"}, LAST]},
        "output-value",
        "min_items: 1",
        "min_items is for lists",
    ),
    "free text": (
        {"rules": [{"when": {"note": "x"}, "target": "b"}, LAST]},
        "when-text",
        "note: x",
        "give the field an enum or a vocabulary",
    ),
    "free text in a list": (
        {"rules": [{"when": {"tags": {"has": ["x"]}}, "target": "b"}, LAST]},
        "when-text",
        "- x",
        "any text may stand here",
    ),
    "an object": (
        {"rules": [{"when": {"who": "Ann"}, "target": "b"}, LAST]},
        "when-text",
        "who: Ann",
        "{absent: true}",
    ),
    "a rule behind one that always fits": (
        {"rules": [LAST, {"when": {"kind": "new"}, "target": "b"}]},
        "output-covered",
        "- when:",
        "this rule is never taken: the one in line",
    ),
    "a rule that nothing fits": (
        {"rules": [{"when": {"count": {"max": -1}}, "target": "b"}, LAST]},
        "output-covered",
        "- when:",
        "no answer fits all of its conditions",
    ),
    "a condition that says nothing": (
        {"rules": [{"when": {"kind": {}}, "target": "b"}, LAST]},
        "output-value",
        "kind: {}",
        "it says nothing",
    ),
    "no value": (
        {"rules": [{"when": {"ok": None}, "target": "b"}, LAST]},
        "output-value",
        "ok: null",
        "{absent: true} for a field that is not there",
    ),
    "none of no values": (
        {"rules": [{"when": {"names": {"has": []}}, "target": "b"}, LAST]},
        "output-value",
        "has: []",
        "has says nothing",
    ),
    "a number for a text": (
        {"rules": [{"when": {"kind": 1}, "target": "b"}, LAST]},
        "output-value",
        "kind: 1",
        "1 is no text here; put quotes around it",
    ),
    "a target and a pause": (
        {"rules": [{"target": "b", "pause": True}]},
        "bad-value",
        "pause: true",
        "a target or pauses",
    ),
    "a target that is not there": (
        {"rules": [{"target": "bb"}]},
        "unknown-agent",
        "- target: bb",
        "b?",
    ),
    "an agent that is not there": (
        {"rules": [LAST], "routing": {"outputs": {"a": [LAST], "c": [LAST]}}},
        "unknown-agent",
        "c:",
        "unknown agent 'c'",
    ),
    "nowhere to go with a wrong one": (
        {"rules": [LAST], "agents": {"a": {"on_invalid": "bb"}}},
        "unknown-agent",
        "on_invalid: bb",
        "b?",
    ),
    "no vocabulary": (
        {"rules": [LAST], "vocabularies": {"name": {"file": "names.txt"}}},
        "vocabulary",
        "vocabulary: names",
        "name?",
    ),
    "no file of one": (
        {"rules": [LAST], "vocabularies": {"names": {"file": "nams.txt"}}},
        "vocabulary",
        "file: nams.txt",
        "there is no file nams.txt",
    ),
    "a CSV without a column": (
        {"rules": [LAST], "vocabularies": {"names": {"file": "names.csv"}}},
        "bad-value",
        "file: names.csv",
        "a CSV needs column",
    ),
    "a vocabulary that is not used": (
        {"rules": [LAST], "vocabularies": {**NAMES, "more": {"file": "names.txt"}}},
        "ignored-key",
        "more:",
        "no output names this vocabulary",
    ),
    "a prompt with free text": (
        {"rules": [LAST], "agents": {"b": {"system_prompt": "{{output.a.note}}"}}},
        "output-field",
        "system_prompt: '{{output.a.note}}'",
        "show it by the context block outputs",
    ),
    "a prompt with a field that is not there": (
        {"rules": [LAST], "agents": {"b": {"system_prompt": "{{output.a.kin}}"}}},
        "output-field",
        "system_prompt: '{{output.a.kin}}'",
        "kind?",
    ),
    "a prompt with an agent that is not there": (
        {"rules": [LAST], "agents": {"b": {"system_prompt": "{{output.c.kind}}"}}},
        "output-field",
        "system_prompt: '{{output.c.kind}}'",
        "no agent 'c'",
    ),
    "a prompt with words that may be kept": (
        {
            "rules": [LAST],
            "agents": {"b": {"system_prompt": "{{output.a.names}}"}},
            "vocabularies": {"names": {"file": "names.txt", "on_unknown": "keep"}},
        },
        "output-field",
        "system_prompt: '{{output.a.names}}'",
        "any text of a model may stand in names",
    ),
    "a prompt with words within lists": (
        {
            "rules": [LAST],
            "agents": {
                "a": {"output": NESTED},
                "b": {"system_prompt": "{{output.a.lists}}"},
            },
            "vocabularies": {"names": {"file": "names.txt", "on_unknown": "keep"}},
        },
        "output-field",
        "system_prompt: '{{output.a.lists}}'",
        "any text of a model may stand in lists",
    ),
    "a prompt that names no field": (
        {"rules": [LAST], "agents": {"b": {"system_prompt": "{{output.a}}"}}},
        "output-field",
        "system_prompt: '{{output.a}}'",
        "has no field ''",
    ),
    "a block of nothing": (
        {"rules": [LAST], "context": {"blocks": ["history", {"kind": "outputs", "of": ["b"]}]}},
        "output-agent",
        "- b",
        "b has no output",
    ),
    "keys without an output": (
        {"agents": {"b": {"on_invalid": "a"}}},
        "ignored-key",
        "on_invalid: a",
        "b has no output",
    ),
    "a scripted answer that is refused": (
        {"rules": [LAST], "script": [{"agent": "a", "say": {"kind": "newer"}}, {"say": "x"}]},
        "script-output",
        "kind: newer",
        'kind: must be one of new, old, not "newer"',
    ),
    "answers without a rule": (
        {"rules": [{"when": {"kind": "new", "ok": True}, "target": "b"}]},
        "output-gap",
        "a:",
        "no rule takes answers with ok false; kind old, ok true; then b, the next in the list,",
    ),
    "too many cases": (
        {
            "rules": [{"when": {f"f{n}": True for n in range(15)}, "target": "b"}, LAST],
            "agents": {
                "a": {"output": {"properties": {f"f{n}": {"type": "boolean"} for n in range(15)}}}
            },
            "vocabularies": None,
        },
        "output-unchecked",
        "a:",
        "more than 20,000 cases",
    ),
    "read on a way without it": (
        {
            "rules": [LAST],
            "agents": {"b": {"system_prompt": "{{output.a.kind}}"}, "c": {}},
            "entry_point": "c",
            "routing": {
                "defaults": {"c": "a"},
                "signals": {"c": [{"signal": "[B]", "target": "b"}]},
            },
        },
        "output-unset",
        "system_prompt: '{{output.a.kind}}'",
        "empty on the way c → b",
    ),
    "nothing reads it": ({}, "output-unread", "output:", "nothing reads the output of a"),
    "a way behind one that always fits": (
        {"rules": [LAST], "routing": {"defaults": {"a": "b"}}},
        "ignored-key",
        "a: b",
        "a rule of routing.outputs without `when` always fits",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_mistake_has_its_line(tmp_path: Path, case: str):
    arguments, code, line, words = CASES[case]
    if case == "an agent that is not there":
        arguments = {key: value for key, value in arguments.items() if key != "rules"}
    found = problems(tmp_path, **arguments)
    assert code in found, found
    assert any(where == line and words in text for where, text in found[code]), found[code]
    expected = {code, "no-prompt", "few-handoffs"}
    if case == "a route of nothing":
        expected |= {"ignored-key"}
    assert set(found) <= expected | {"unreachable"}, found
