"""Every mistake in a crew's files has its place, its code and its remedy."""

import json
from pathlib import Path

import pytest

from crew import check
from crew.config.report import problems_document, render_problem
from tests.support.problems import AGENT, CREW, places, problems

MISTAKES: dict[str, tuple[dict[str, str], list[str]]] = {
    "unknown key": (
        {"crew": CREW + "entry_pont: a\n"},
        ["crew.yaml:2:1 e unknown-key (entry_point)"],
    ),
    "unknown setting": (
        {"crew": CREW + "settings:\n  max_round: 3\n"},
        ["crew.yaml:3:3 e unknown-key (max_rounds)"],
    ),
    "wrong type": (
        {"crew": CREW + "settings:\n  max_rounds: many\n"},
        ["crew.yaml:3:15 e wrong-type"],
    ),
    "out of range": (
        {"crew": CREW + "settings:\n  max_rounds: 0\n"},
        ["crew.yaml:3:15 e out-of-range"],
    ),
    "version": ({"crew": CREW + "version: 2.0\n"}, ["crew.yaml:2:10 e bad-value (1.0)"]),
    "missing key": (
        {"agents.a": "id: a\nname: A\n"},
        [
            "agents/a.yaml:1:1 e missing-key",
            "agents/a.yaml:1:1 w no-prompt",
        ],
    ),
    "misspelt provider": (
        {"agents.a": AGENT.replace("provider:", "provder:")},
        ["agents/a.yaml:4:1 e unknown-key (provider)"],
    ),
    "no agents": ({"crew": "agents: []\n"}, ["crew.yaml:1:9 e out-of-range"]),
    "missing agent file": ({"crew": "agents: [a, aa]\n"}, ["crew.yaml:1:13 e missing-agent (a)"]),
    "agent twice": ({"agents.b": AGENT}, ["agents/b.yaml:1:5 e agent-twice"]),
    "file name": (
        {"crew": "agents: [a, b]\n", "agents.x": AGENT.replace("id: a", "id: b")},
        ["agents/x.yaml:1:5 w file-name"],
    ),
    "unused agent": (
        {"agents.b": AGENT.replace("id: a", "id: b")},
        ["agents/b.yaml:1:5 w unused-agent"],
    ),
    "unknown tool": (
        {"agents.a": AGENT + "tools: [GetCPUUsag]\n"},
        ["agents/a.yaml:6:9 e unknown-tool (GetCPUUsage)"],
    ),
    "shell tool": (
        {"agents.a": AGENT + "tools: [ExecuteCommand]\n"},
        ["agents/a.yaml:6:9 e unknown-tool"],
    ),
    "unknown provider": (
        {"agents.a": AGENT.replace("scripted", "scriptd")},
        ["agents/a.yaml:4:11 e unknown-provider (scripted)"],
    ),
    "unknown channel": (
        {"crew": CREW + "budgets: { b: { scope: run, calls: 9, notify: [phon] } }\n"},
        ["crew.yaml:2:48 e unknown-channel"],
    ),
    "unknown target": (
        {"agents.a": AGENT + "handoff_targets: [b]\n"},
        ["agents/a.yaml:6:19 e unknown-agent"],
    ),
    "unknown entry": ({"crew": CREW + "entry_point: b\n"}, ["crew.yaml:2:14 e unknown-agent"]),
    "unknown signal agent": (
        {"crew": CREW + "routing:\n  signals:\n    b: []\n"},
        ["crew.yaml:4:5 e unknown-agent"],
    ),
    "unknown signal target": (
        {
            "crew": CREW
            + 'routing:\n  signals:\n    a:\n      - signal: "[X]"\n        target: bb\n'
        },
        ["crew.yaml:6:17 e unknown-agent"],
    ),
    "signal twice": (
        {"crew": CREW + 'routing:\n  signals:\n    a: [{signal: "[X]"}, {signal: "[ x ]"}]\n'},
        ["crew.yaml:4:35 e signal-twice"],
    ),
    "signal in signal": (
        {"crew": CREW + "routing:\n  signals:\n    a: [{signal: X}, {signal: X Y}]\n"},
        ["crew.yaml:4:31 w signal-in-signal"],
    ),
    "signal as a list": (
        {"crew": CREW + "routing:\n  signals:\n    a:\n      - signal: [X]\n"},
        ["crew.yaml:5:17 e wrong-type"],
    ),
    "empty group": (
        {"crew": CREW + "routing:\n  parallel_groups:\n    g: {agents: []}\n"},
        ["crew.yaml:4:17 e empty-group"],
    ),
    "group named like an agent": (
        {"crew": CREW + "routing:\n  parallel_groups:\n    a: {agents: [a]}\n"},
        ["crew.yaml:4:5 e group-name"],
    ),
    "terminal disagreement": (
        {
            "crew": CREW + "routing:\n  agent_behaviors:\n    a: {is_terminal: false}\n",
            "agents.a": AGENT + "is_terminal: true\n",
        },
        ["crew.yaml:4:22 e terminal-disagreement"],
    ),
    "tool twice": (
        {
            "crew": CREW + "tools: {t: {kind: python, function: base64:b64encode}}\n",
            "tools": "tools: {t: {kind: python, function: x:y}}\n",
        },
        [
            "crew.yaml:2:9 w unused-tool",
            "crew.yaml:2:37 e tool-import",
            "tools.yaml:1:9 e tool-twice",
        ],
    ),
    "tool named like a built-in": (
        {"tools": "tools: {PingHost: {kind: python, function: os.path:join}}\n"},
        ["tools.yaml:1:9 e tool-twice", "tools.yaml:1:9 w unused-tool"],
    ),
    "tool that does not import": (
        {"tools": "tools: {t: {kind: python, function: nope.py:f}}\n"},
        ["tools.yaml:1:9 w unused-tool", "tools.yaml:1:37 e tool-import"],
    ),
    "unset variable": (
        {"crew": CREW + "providers: {p: {base_url: 'http://${NOPE}'}}\n"},
        ["crew.yaml:2:13 w unused-provider", "crew.yaml:2:27 e unset-variable"],
    ),
    "trap": (
        {
            "crew": "agents: [a, b]\nrouting: {defaults: {a: b, b: a}}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:10 e trap"],
    ),
    "loop": (
        {
            "crew": 'agents: [a, b]\nrouting: {defaults: {a: b, b: a}, signals: {a: [{signal: "[E]"}]}}\n',
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:10 w loop"],
    ),
    "unreachable": (
        {
            "crew": "agents: [a, b]\nrouting: {defaults: {a: null}}\n",
            "agents.b": AGENT.replace("id: a", "id: b"),
        },
        ["crew.yaml:1:13 w unreachable"],
    ),
    "unmentioned signal": (
        {
            "crew": CREW
            + 'settings: {route_hints: never}\nrouting: {signals: {a: [{signal: "[E]"}]}}\n'
        },
        ["crew.yaml:3:34 w unmentioned-signal"],
    ),
    "unknown signal in a prompt": (
        {"agents.a": AGENT.replace("You are a.", '"End with [GO] or [ok]"')},
        ["agents/a.yaml:5:16 w unknown-signal"],
    ),
    "unknown variable": (
        {"agents.a": AGENT.replace("You are a.", '"{{nam}}"')},
        ["agents/a.yaml:5:16 w unknown-variable"],
    ),
    "no prompt": (
        {"agents.a": AGENT.replace("system_prompt: You are a.\n", "")},
        ["agents/a.yaml:1:1 w no-prompt"],
    ),
    "ignored keys": (
        {"crew": CREW + "tasks: []\nsettings: {max_memory_mb: 1}\n"},
        ["crew.yaml:2:1 w ignored-key", "crew.yaml:3:12 w ignored-key"],
    ),
    "duplicate key": ({"crew": CREW + "name: x\nname: y\n"}, ["crew.yaml:3:1 e duplicate-key"]),
    "syntax": ({"crew": CREW + "name: a: b\n"}, ["crew.yaml:2:8 e syntax"]),
    "a character that YAML does not allow": (
        {"crew": CREW + b"name: a\\u0007b\n".decode("unicode-escape")},
        ["crew.yaml:2:8 e syntax"],
    ),
    "tab": ({"crew": CREW + "settings:\n\tmax_rounds: 3\n"}, ["crew.yaml:3:1 e syntax"]),
    "tag": ({"crew": CREW + "name: !!python/object:os.system x\n"}, ["crew.yaml:2:7 e tag"]),
    "empty file": ({"agents.a": ""}, ["agents/a.yaml:1:1 e empty"]),
    "a list at the top": ({"crew": "- a\n"}, ["crew.yaml:1:1 e not-a-mapping"]),
    "script": ({"script": "rules: [{sya: x}]\n"}, ["script.yaml:1:10 e unknown-key (say)"]),
    "unknown agent in a script": (
        {"script": "rules: [{agent: aa, say: x}]\n"},
        ["script.yaml:1:17 e unknown-agent (a)"],
    ),
    "unknown tool in a script": (
        {"script": "rules: [{calls: [PingHst]}]\n"},
        ["script.yaml:1:18 w script-tool (PingHost)"],
    ),
    "setting at the top": ({"crew": CREW + "max_rounds: 3\n"}, ["crew.yaml:2:1 e unknown-key"]),
    "quote that stays open": ({"crew": CREW + 'name: "x\n\n\n'}, ["crew.yaml:2:7 e syntax"]),
    "indentation": (
        {"crew": CREW + "settings:\n    max_rounds: 3\n  max_handoffs: 2\n"},
        ["crew.yaml:4:3 e syntax"],
    ),
    "provider without an address": (
        {
            "crew": CREW + "providers: {p: {api_key: x}}\n",
            "agents.a": AGENT.replace("scripted", "p"),
        },
        ["agents/a.yaml:4:11 e provider"],
    ),
    "no address": (
        {
            "crew": CREW + "providers: {p: {base_url: 'localhost:11434 '}}\n",
            "agents.a": AGENT + "provider_url: http://h:port/\n",
        },
        [
            "crew.yaml:2:13 w unused-provider",
            "crew.yaml:2:27 e bad-value",
            "agents/a.yaml:6:15 e bad-value",
        ],
    ),
    "no header": (
        {"crew": CREW + 'providers: {p: {headers: {X Team: a, X-Team: "a\\nb"}}}\n'},
        [
            "crew.yaml:2:13 w unused-provider",
            "crew.yaml:2:27 e bad-name",
            "crew.yaml:2:46 e bad-value",
        ],
    ),
    "a schema that the function does not take": (
        {
            "tools": "tools: {t: {kind: python, function: 'base64:b64encode', parameters: {properties: {s: {type: string}}}}}\n",
            "agents.a": AGENT + "tools: [t]\n",
        },
        ["tools.yaml:1:37 e tool-import"],
    ),
    "more mistakes than anybody reads": (
        {"tools": "".join(f"k{n}: 1\n" for n in range(1005))},
        [
            *(
                f"tools.yaml:{max(1, n)}:1 e {'unknown' if n else 'missing'}-key"
                for n in range(1000)
            ),
            "tools.yaml:1000:1 e too-many-problems",
        ],
    ),
    "tool whose entry is wrong": (
        {"tools": "tools: {t: {kind: python}}\n", "agents.a": AGENT + "tools: [t]\n"},
        ["tools.yaml:1:9 e missing-key"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_has_its_place(name: str, tmp_path: Path):
    """File, line, column, severity, code, and what was meant."""
    files, expected = MISTAKES[name]
    assert places(problems(tmp_path, **files)) == expected


def test_all_problems_of_all_files_are_reported_at_once(tmp_path: Path):
    """Errors and warnings together, by place, also as JSON."""
    found = problems(
        tmp_path,
        crew="agents: [a]\nnam: x\nsettings: {max_rounds: x}\n",
        **{"agents.a": AGENT + "temprature: 3\n", "tools": "tols: {}\n"},
    )
    assert places(found) == [
        "crew.yaml:2:1 e unknown-key (name)",
        "crew.yaml:3:24 e wrong-type",
        "agents/a.yaml:6:1 e unknown-key (temperature)",
        "tools.yaml:1:1 e unknown-key (tools)",
    ]
    document = json.loads(json.dumps(problems_document(found)))
    assert set(document["problems"][0]) == {
        "file",
        "line",
        "column",
        "severity",
        "code",
        "message",
        "suggestion",
    }


def test_a_problem_shows_its_line(tmp_path: Path):
    """With a caret, and what was probably meant."""
    (problem,) = problems(tmp_path, crew=CREW + "settings: {max_rouns: 3}\n")
    text = render_problem(problem, {"crew.yaml": CREW + "settings: {max_rouns: 3}\n"}, "dir/")
    assert (
        text
        == "dir/crew.yaml:2:12: error[unknown-key]: unknown key 'max_rouns'\n    settings: {max_rouns: 3}\n               ^\n    did you mean 'max_rounds'?"
    )


@pytest.mark.parametrize("end", ["", ", max_rounds: 3"])
def test_a_text_that_a_comma_cuts_off(end: str, tmp_path: Path):
    """The remedy is told: nobody meant a key."""
    text = f"{CREW}settings: {{organization: Acme, night shift{end}}}\n"
    (problem,) = problems(tmp_path, crew=text)
    assert (problem.line, problem.code) == (2, "unknown-key")
    assert "in { … } a comma ends a text; put quotes around the text before it" in problem.message


def test_secrets_are_not_shown(tmp_path: Path):
    """Neither a key in the file nor one from the environment."""
    text = CREW + "providers: {p: {base_url: [1], api_key: sk-written, heders: 1}}\n"
    found = problems(tmp_path, crew=text)
    assert found
    assert not any(
        "sk-written" in render_problem(problem, {"crew.yaml": text}) for problem in found
    )
    found = problems(
        tmp_path, crew=CREW + "providers:\n  p: {base_url: http://x, timeout_seconds: '${SET}'}\n"
    )
    assert places(found) == ["crew.yaml:3:3 w unused-provider", "crew.yaml:3:44 e wrong-type"]
    assert "value" not in found[1].message


def test_a_group_goes_on_from_where_its_first_came_from(tmp_path: Path):
    """A group behind a group is no trap where the first one's origin has a default."""
    crew = """
agents: [a, b, m]
routing:
  signals: {a: [{signal: "[G]", target: g1}]}
  defaults: {a: b, b: null}
  parallel_groups:
    g1: {agents: [m], next_agent: g2}
    g2: {agents: [m]}
"""
    others = {f"agents.{name}": AGENT.replace("id: a", f"id: {name}") for name in "bm"}
    assert problems(tmp_path, crew=crew, **others) == []


def test_two_files_of_one_kind_are_reported(tmp_path: Path):
    """And a model beside a primary."""
    agent = AGENT + "model: x\nprimary: {model: y, provider: scripted}\n"
    found = problems(tmp_path, **{"agents.a": agent})
    assert places(found) == ["agents/a.yaml:4:1 w ignored-key", "agents/a.yaml:6:1 w ignored-key"]
    (tmp_path / "crew.yml").write_text(CREW)
    assert "ignored-file" in [problem.code for problem in check(tmp_path).problems]


def test_a_script_that_is_missing_is_reported(tmp_path: Path):
    """Where the provider is named."""
    problems(tmp_path)
    (tmp_path / "script.yaml").unlink()
    assert places(check(tmp_path).problems) == ["agents/a.yaml:4:11 e no-script"]
