"""Rules between several keys: the problem is at the key that should change."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from crew.config.problems import Problem
from tests.support.problems import AGENT, problems

MAIL = "kind: email, host: localhost, sender: a@b.example, to: [a@b.example]"
TOOL = "tools:\n  look: {kind: command, argv: [ls, '{n}'], effect: read, %s}\n"
NUMBER = "parameters: {properties: {n: {type: number}}}"

WRONG: dict[str, tuple[Mapping[str, str], list[str]]] = {
    "a user without a password": (
        {"crew": f"agents: [a]\nnotify:\n  mail: {{{MAIL}, username: me}}\n"},
        ["3:90 bad-value username and password are needed together; add password"],
    ),
    "a password without a user": (
        {"crew": f"agents: [a]\nnotify:\n  mail: {{password: '${{SET}}', {MAIL}}}\n"},
        ["3:20 bad-value password and username are needed together; add username"],
    ),
    "a password that anyone can read": (
        {
            "crew": "agents: [a]\nnotify:\n  mail: {encryption: none, username: me, "
            f"password: '${{SET}}', {MAIL}}}\n"
        },
        ["3:22 bad-value encryption none would send the password so that anyone can read it"],
    ),
    "a fingerprint of another kind": (
        {
            "crew": "agents: [a]\nhooks:\n  alerts: {kind: grafana, fingerprint: [/x]}\n",
        },
        ["3:40 bad-value fingerprint is for kind json alone; grafana sends its own"],
    ),
    "an empty query": (
        {"crew": "agents: [a]\nhooks:\n  alerts: {kind: json, query: ' '}\n"},
        ["3:31 bad-value kind json needs a query"],
    ),
    "no query": (
        {"crew": "agents: [a]\nhooks:\n  alerts: {kind: json}\n"},
        ["3:18 bad-value kind json needs a query"],
    ),
    "file and text": (
        {
            "crew": "agents: [a]\ncontext:\n  blocks: [history, {kind: text, file: crew.yaml, text: b}]\n"
        },
        ["3:57 bad-value a text block has file or text, not both"],
    ),
    "neither file nor text": (
        {"crew": "agents: [a]\ncontext:\n  blocks: [history, {max_tokens: 5, kind: text}]\n"},
        ["3:43 bad-value a text block needs file or text"],
    ),
    "a block twice": (
        {"crew": "agents: [a]\ncontext:\n  blocks: [history, {kind: text, text: b}, history]\n"},
        ["3:44 bad-value blocks has history twice"],
    ),
    "no history": (
        {
            "crew": "agents: [a]\ncontext:\n  window_tokens: 9000\n  blocks: [{kind: text, text: b}]\n"
        },
        ["4:11 bad-value blocks needs history"],
    ),
    "a range that no number is in": (
        {"tools": TOOL % f"requires_approval: {{when: {{n: {{above: 5, below: 3}}}}}}, {NUMBER}"},
        ["2:106 bad-value no number is above 5 and below 3"],
    ),
}
ABOVE: dict[str, tuple[Mapping[str, str], list[str]]] = {
    "attempts, calls and groups": (
        {
            "crew": "agents: [a]\nsettings:\n  timeout_seconds: 20\n"
            "  tool_result_timeout_seconds: 25\n  parallel_timeout_seconds: 20.5\n"
            "  tool_execution_timeout_seconds: 26\n",
        },
        [
            "4:32 timeout-above tool_result_timeout_seconds of 25 s never comes: "
            "settings.timeout_seconds ends the run after 20 s",
            "5:29 timeout-above parallel_timeout_seconds of 20.5 s never comes",
            "6:35 timeout-above tool_execution_timeout_seconds of 26 s never comes: "
            "settings.tool_result_timeout_seconds ends all calls of an answer after 25 s",
        ],
    ),
    "what is not written": ({"crew": "agents: [a]\nsettings: {timeout_seconds: 2}\n"}, []),
    "as long as the one around it": (
        {
            "crew": "agents: [a]\nsettings: {timeout_seconds: 9, tool_result_timeout_seconds: 9}\n",
        },
        [],
    ),
    "a tool": (
        {"tools": TOOL % "timeout_seconds: 31, parameters: {properties: {n: {type: number}}}"},
        ["2:75 timeout-above timeout_seconds of 31 s never comes"],
    ),
    "a group": (
        {
            "crew": "agents: [a, b, c]\nrouting:\n  signals: {a: [{signal: '[G]', target: g}]}\n"
            "  parallel_groups:\n    g: {agents: [b, c], next_agent: a, timeout_seconds: 301}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
            "agents.c": AGENT.replace("id: a", "id: c"),
        },
        ["5:57 timeout-above timeout_seconds of 301 s never comes: settings.timeout_seconds"],
    ),
    "a provider": (
        {
            "crew": "agents: [a]\nproviders:\n  p: {base_url: http://127.0.0.1:1/v1, "
            "timeout_seconds: 400}\n",
            "agents.a": AGENT.replace("scripted", "p"),
        },
        ["3:57 timeout-above timeout_seconds of 400 s never comes"],
    ),
    "settings with a mistake": (
        {"crew": "agents: [a]\nsettings: {timeout_seconds: x, tool_result_timeout_seconds: 900}\n"},
        [],
    ),
}


def check(found: list[Problem], expected: list[str]) -> None:
    texts = [f"{one.line}:{one.column} {one.code} {one.message}" for one in found]
    assert len(texts) == len(expected), texts
    for text, start in zip(texts, expected, strict=True):
        assert text.startswith(start)


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_between_keys(name: str, tmp_path: Path):
    """One problem, at the key, and what to do."""
    files, expected = WRONG[name]
    check([one for one in problems(tmp_path, **files) if one.severity == "error"], expected)


@pytest.mark.parametrize("name", ABOVE)
def test_a_timeout_above_the_one_around_it(name: str, tmp_path: Path):
    """A warning at each that is written, with the setting that ends it."""
    files, expected = ABOVE[name]
    check([one for one in problems(tmp_path, **files) if one.code == "timeout-above"], expected)
