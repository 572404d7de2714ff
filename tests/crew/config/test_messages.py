"""What people really write gets a message that names the remedy; all mistakes come at once."""

from pathlib import Path

import pytest

from crew.config.problems import Problem
from tests.support.problems import AGENT, CREW, places, problems

IMPORTS = "tools: {t: {kind: python, function: '%s'}, u: {kind: python, function: '%s'}}\n"
WITH_TOOLS = {"agents.a": AGENT + "tools: [t, u]\n"}
GO = "routing:\n  signals: {a: [{signal: '[X]', parallel_targets: [a]}]}\n"

# files, then for each problem: its place and code, and a part of its message
CASES: dict[str, tuple[dict[str, str], list[tuple[str, str]]]] = {
    "an id unlike the name that is listed": (
        {"crew": "agents: [a, bob]\n", "agents.bob": AGENT.replace("id: a", "id: b")},
        [
            (
                "agents/bob.yaml:1:5 e missing-agent (bob)",
                "has the id 'b', and crew.yaml lists 'bob'; write the same name in both",
            )
        ],
    ),
    "a file that no list names": (
        {
            "crew": CREW + 'routing: {signals: {a: [{signal: "[D]", target: dba}]}}\n',
            "agents.dba": AGENT.replace("id: a", "id: dba") + "is_terminal: true\n",
        },
        [
            ("crew.yaml:2:49 e unknown-agent", "is not listed; add dba to agents"),
            ("agents/dba.yaml:1:5 w unused-agent", "does not list agent dba"),
        ],
    ),
    "a name where a list is expected": (
        {"agents.a": AGENT + "tools: PingHost\n"},
        [("agents/a.yaml:6:8 e wrong-type", "write [PingHost]")],
    ),
    "a unit": (
        {"crew": CREW + "settings: {timeout_seconds: 20s}\n"},
        [("crew.yaml:2:29 e wrong-type", "a number without a unit; the key's name has the unit")],
    ),
    "parts of a budget": (
        {
            "crew": CREW
            + "budgets:\n  d: {scope: crew, per: day, calls: 9, warn: 80%, then: stop}\n"
            + "  e: {scope: crew, per: day, calls: 9, warn: [0.04%, 101%], then: {}}\n"
        },
        [
            ("crew.yaml:3:46 e wrong-type", "write [80%]"),
            ("crew.yaml:3:57 e bad-value", "expected 'block', 'end', 'pause' or 'warn'"),
            ("crew.yaml:4:47 e bad-value", "such as 80% or 99.5%"),
            ("crew.yaml:4:54 e bad-value", "such as 80% or 99.5%"),
            ("crew.yaml:4:61 e missing-key", "the key 'model' is missing"),
        ],
    ),
    "a key of another level": (
        {"crew": CREW + "wait_for_signal: true\n"},
        [("crew.yaml:2:1 e unknown-key", "it belongs under routing.agent_behaviors")],
    ),
    "a plural": (
        {"crew": CREW + "documents: {d: {description: x, scope: user, chunk: {token: 40}}}\n"},
        [
            ("crew.yaml:2:13 w ignored-key", "no agent has it"),
            ("crew.yaml:2:54 e unknown-key (tokens)", "unknown key 'token'"),
        ],
    ),
    "a name alone": (
        {"crew": CREW + "memory:\n  core:\n    profile:\n"},
        [("crew.yaml:4:5 e missing-key", "the key 'description' is missing")],
    ),
    "a key of the other file": (
        {"agents.a": AGENT + "wait_for_signal: true\n"},
        [("agents/a.yaml:6:1 e unknown-key", "it belongs in crew.yaml, under routing")],
    ),
    "words of other frameworks": (
        {"agents.a": AGENT + "llm: gpt-4o\ngoal: help\n"},
        [
            ("agents/a.yaml:6:1 e unknown-key (model)", "here it is 'model'"),
            ("agents/a.yaml:7:1 e unknown-key (system_prompt)", "here it is 'system_prompt'"),
        ],
    ),
    "variables of other frameworks": (
        {"agents.a": AGENT.replace("You are a.", '"You are ${NAME} and {name}"')},
        [
            ("agents/a.yaml:5:16 w foreign-variable", "${NAME} stays as written"),
            ("agents/a.yaml:5:16 w foreign-variable ({{name}})", "{name} stays as written"),
        ],
    ),
    "a file that does not import, once for its tools": (
        {"tools": IMPORTS % ("broken.py:f", "broken.py:g"), **WITH_TOOLS},
        [("tools.yaml:1:37 e tool-import", "No module named 'nowhere_to_be_found'")],
    ),
    "a module that is a file beside crew.yaml": (
        {"tools": IMPORTS % ("ops:f", "base64:b64decode"), **WITH_TOOLS},
        [
            ("tools.yaml:1:37 e tool-import", "write ops.py:f"),
            ("tools.yaml:1:75 e tool-import", ""),
        ],
    ),
    "fewer handoffs than there must be": (
        {
            "crew": "agents: [a, b, c]\nsettings: {max_handoffs: 1}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
            "agents.c": AGENT.replace("id: a", "id: c"),
        },
        [("crew.yaml:2:26 w few-handoffs", "takes 2 handoffs; settings.max_handoffs = 1")],
    ),
    "an answer without a signal": (
        {
            "crew": 'agents: [a, b]\nrouting: {signals: {a: [{signal: "[E]"}]}}\n',
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        [("crew.yaml:2:21 w falls-through", "a hands over to b, the next in the list")],
    ),
    "a script with a signal that nobody has": (
        {
            "crew": CREW + 'routing: {signals: {a: [{signal: "[DONE]"}]}}\n',
            "script": 'rules: [{agent: a, say: "[DOEN]"}]\n',
        },
        [("script.yaml:1:25 w script-signal", "[DOEN], which is no signal of a")],
    ),
    "a script with arguments that are refused": (
        {
            "agents.a": AGENT + "tools: [PingHost]\n",
            "script": "rules: [{calls: [{tool: PingHost, arguments: {host: a, count: 99}}]}]\n",
        },
        [("script.yaml:1:18 w script-arguments", "PingHost refuses these arguments: count")],
    ),
    "keys of go-agentic": (
        {"crew": CREW + GO, "agents.a": AGENT + "parallel_execution: true\n"},
        [
            ("crew.yaml:3:33 w ignored-key", "parallel_targets"),
            ("agents/a.yaml:6:1 w ignored-key", "parallel_execution"),
        ],
    ),
    "a key twice": (
        {"crew": "name: x\nagents: [a]\nname: y\n"},
        [("crew.yaml:3:1 e duplicate-key", "duplicate key 'name'; first at line 1")],
    ),
    "a bracket that is never closed": (
        {"crew": "agents: [a, b\nname: x\n"},
        [("crew.yaml:1:9 e syntax", "the [ that opens here is never closed, or lacks a comma")],
    ),
    "a comment in a bracket": (
        {"crew": "routing:\n  signals: {a: [{signal: #B, target: a}]}\nagents: [a]\n"},
        [("crew.yaml:2:17 e syntax", "what stands behind a # is a comment")],
    ),
    "a key without a value": (
        {
            "crew": "agents: [a]\n",
            "agents.a": "id: a\nname:\nrole: ~\nprovider: scripted\nbackstory: x\n",
        },
        [
            ("agents/a.yaml:2:1 e missing-key", "the key 'name' is empty"),
            ("agents/a.yaml:3:1 e missing-key", "the key 'role' is empty"),
        ],
    ),
    "a variable of a program": (
        {
            "crew": "agents: [a]\n",
            "tools": "tools: {t: {kind: command, argv: [ls], env: {MY-VAR: x}}}\n",
            "agents.a": AGENT + "tools: [t]\n",
        },
        [("tools.yaml:1:46 e bad-name", "no variable can have this name")],
    ),
    "tools that a script names": (
        {
            "crew": "agents: [a]\n",
            "agents.a": AGENT + "tools: [PingHost]\n",
            "script": "rules:\n  - {agent: a, after: Pong, say: '{{result.Ping}} {{result.PingHost}}'}\n"
            "results: {Pung: x}\n",
        },
        [
            ("script.yaml:2:23 w script-tool", "the script names Pong"),
            ("script.yaml:2:34 w script-tool (PingHost)", "the script names Ping"),
            ("script.yaml:3:11 w script-tool", "the script names Pung"),
        ],
    ),
    "a place in a hook without its slash": (
        {"crew": "agents: [a]\nhooks:\n  b: {kind: json, query: 'Ticket {title}'}\n"},
        [("crew.yaml:3:26 e bad-value", "{title} stands for nothing; write {/title}")],
    ),
    "a place in a hook without its end": (
        {"crew": "agents: [a]\nhooks:\n  b: {kind: json, query: 'Ticket {/title and {/b}'}\n"},
        [("crew.yaml:3:26 e bad-value", "stands for nothing")],
    ),
    "a key of a merge twice": (
        {"crew": "x-a: &a {max_rounds: 2}\nagents: [a]\nsettings:\n  <<: *a\n  <<: *a\n"},
        [("crew.yaml:5:3 e duplicate-key", "first at line 4")],
    ),
    "variables that are none": (
        {
            "crew": "agents: [a]\nproviders:\n  p:\n    base_url: http://$HOST/v1\n"
            "    api_key: ${MY-KEY}\n    headers: {X-Team: '${ TEAM }', X-Cost: '5$', X-A: '${A:-$1}'}\n",
            "tools": "tools:\n  t: {kind: command, argv: [grep, '^$HOME'], env: {A: $HOME}}\n",
            "agents.a": AGENT.replace("scripted", "p") + "tools: [t]\n",
        },
        [
            ("crew.yaml:4:15 w unread-variable", "a $ here names no variable"),
            ("crew.yaml:5:14 w unread-variable", "write ${NAME}"),
            ("crew.yaml:6:23 w unread-variable", "stays as written"),
            ("tools.yaml:2:55 w unread-variable", "a $ here names no variable"),
        ],
    ),
    "a schema that another address has": (
        {
            "tools": "tools:\n  t:\n    kind: python\n    function: 'own.py:f'\n"
            "    parameters: {properties: {text: {$ref: 'http://127.0.0.1:9/x.json'}}}\n",
            "agents.a": AGENT + "tools: [t]\n",
        },
        [("tools.yaml:5:17 e schema-ref", "may refer only to itself")],
    ),
    "mistakes of every kind": (
        {
            "crew": "agents: [a, nobody]\nsettings: {max_rounds: many}\n"
            "routing: {defaults: {a: ghost}}\n",
            "tools": "tools: {t: {kind: python}, u: {kind: python, function: 'nope.py:f'}}\n",
            "script": "rules: [{sya: x}]\n",
            "agents.a": AGENT.replace("scripted", "scriptd") + "tools: PingHost\n",
        },
        [
            ("crew.yaml:1:13 e missing-agent", "agent nobody has no file agents/nobody.yaml"),
            ("crew.yaml:2:24 e wrong-type", "expected a whole number"),
            ("crew.yaml:3:25 e unknown-agent", "unknown agent or group 'ghost'"),
            ("agents/a.yaml:4:11 e unknown-provider (scripted)", "unknown provider"),
            ("agents/a.yaml:6:8 e wrong-type", "write [PingHost]"),
            ("script.yaml:1:10 e unknown-key (say)", "unknown key 'sya'"),
            ("tools.yaml:1:9 e missing-key", "the key 'function' is missing"),
            ("tools.yaml:1:56 e tool-import", "there is no file nope.py"),
        ],
    ),
}


def with_files(folder: Path, **files: str) -> list[Problem]:
    (folder / "broken.py").write_text("import nowhere_to_be_found\n")
    (folder / "ops.py").write_text("def f(text: str) -> str:\n    return text\n")
    (folder / "own.py").write_text("def f(text: str) -> str:\n    return text\n")
    return problems(folder, **files)


@pytest.mark.parametrize("name", CASES)
def test_the_message_names_the_remedy(name: str, tmp_path: Path):
    """At its place, and nothing that only follows from it."""
    files, expected = CASES[name]
    found = with_files(tmp_path, **files)
    assert places(found) == [place for place, _ in expected]
    for problem, (_, part) in zip(found, expected, strict=True):
        assert part in problem.message
