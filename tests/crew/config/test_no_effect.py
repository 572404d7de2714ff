"""What is right by itself and has no effect is reported; what has one is not."""

from pathlib import Path

import pytest

from crew import check
from crew.config.routing_plan import entry_point, routing_of
from crew.routing.graph import RoutingGraph
from tests.support.problems import AGENT, problems


def agent(name: str, more: str = "") -> str:
    return AGENT.replace("id: a", f"id: {name}") + more


BOTH = "agents: [a, b]\nrouting:\n"
GROUP = "  parallel_groups: {g: {agents: [b]%s}}\n"
TERMINAL = {"agents.b": agent("b", "is_terminal: true\n")}

INERT: dict[str, tuple[dict[str, str], list[str]]] = {
    "a default of a terminal agent": (
        {"crew": BOTH + "  defaults: {a: b, b: a}\n", **TERMINAL},
        ["3:20 the default of b has no effect: b is terminal"],
    ),
    "targets beside a default": (
        {
            "crew": BOTH + "  defaults: {a: b}\n",
            "agents.a": agent("a", "handoff_targets: [b]\n"),
            **TERMINAL,
        },
        ["6:1 handoff_targets has no effect: routing.defaults comes first"],
    ),
    "a second target that no signal leads to": (
        {
            "crew": "agents: [a, b, c]\n",
            "agents.a": agent("a", "handoff_targets: [b, c]\n"),
            **TERMINAL,
            "agents.c": agent("c"),
        },
        ["6:22 c is never reached from here"],
    ),
    "auto_route of an agent that waits": (
        {
            "crew": 'agents: [a]\nrouting:\n  agent_behaviors: {a: {wait_for_signal: true, auto_route: false}}\n  signals: {a: [{signal: "[E]"}]}\n'
        },
        ["3:48 auto_route has no effect: a waits for a signal"],
    ),
    "auto_route beside targets": (
        {
            "crew": BOTH + "  agent_behaviors: {a: {auto_route: false}}\n",
            "agents.a": agent("a", "handoff_targets: [b]\n"),
            **TERMINAL,
        },
        ["3:25 auto_route has no effect: handoff_targets are given"],
    ),
    "an end that a pause comes before": (
        {
            "crew": 'agents: [a]\nentry_point: a\nrouting:\n  agent_behaviors: {a: {wait_for_signal: true}}\n  signals: {a: [{signal: "[E]"}]}\n',
            "agents.a": agent("a", "is_terminal: true\n"),
        },
        ["6:1 is_terminal has no effect: a waits for a signal"],
    ),
    "signals of members where next_agent decides": (
        {
            "crew": 'agents: [a, b]\nrouting:\n  defaults: {a: g}\n  signals: {b: [{signal: "[E]"}]}\n'
            + GROUP % ", next_agent: a",
            "agents.b": agent("b"),
        },
        ["4:13 the signals of b lead nowhere: b speaks only in g, and next_agent decides there"],
    ),
    "a pause and a default of a member": (
        {
            "crew": "agents: [a, b]\nrouting:\n  defaults: {a: g, b: a}\n  agent_behaviors: {b: {wait_for_signal: true}}\n"
            + GROUP % "",
            "agents.b": agent("b"),
        },
        [
            "3:20 the default of b has no effect: b speaks only in g",
            "4:25 wait_for_signal has no effect: b speaks only in g",
        ],
    ),
    "an end of the waiting of one who never waits": (
        {
            "crew": "agents: [a]\nrouting:\n  agent_behaviors: {a: {wait_timeout_seconds: 5, on_wait_timeout: a}}\n"
        },
        [
            "3:25 wait_timeout_seconds has no effect: a never pauses",
            "3:50 on_wait_timeout has no effect: a waits for approvals only",
        ],
    ),
    "where to go after no end": (
        {
            "crew": 'agents: [a, b]\nrouting:\n  agent_behaviors: {a: {wait_for_signal: true, on_wait_timeout: b}}\n  signals: {a: [{signal: "[B]", target: b}]}\n',
            **TERMINAL,
        },
        ["3:48 on_wait_timeout has no effect: wait_timeout_seconds is not given"],
    ),
    "a price limit without prices": (
        {"agents.a": agent("a", "cost_limits: {max_cost_per_day_usd: 1}\n")},
        ["6:15 max_cost_per_day_usd has no effect: without input_token_price"],
    ),
    "an alert and a block without a limit": (
        {"agents.a": agent("a", "cost_limits: {alert_threshold: 0.5, enforce: true}\n")},
        [
            "6:15 alert_threshold has no effect: there is no limit",
            "6:37 enforce has no effect: there is no limit",
        ],
    ),
    "an address of the script": (
        {"agents.a": agent("a", "provider_url: http://localhost/v1\n")},
        ["6:1 provider_url has no effect: the scripted provider has no address"],
    ),
    "a provider that is the script": (
        {"crew": "agents: [a]\nproviders: {scripted: {max_retries: 1, timeout_seconds: 3}}\n"},
        ["2:40 timeout_seconds has no effect: the scripted provider"],
    ),
    "how tools are called, without tools": (
        {"agents.a": agent("a", "tool_call_mode: text\n")},
        ["6:1 tool_call_mode has no effect: it has no tools"],
    ),
    "a backstory that the prompt leaves out": (
        {"agents.a": agent("a", "backstory: old\n")},
        ["6:1 backstory has no effect: system_prompt does not have {{backstory}} in it"],
    ),
}


@pytest.mark.parametrize("name", INERT)
def test_what_has_no_effect_is_reported(name: str, tmp_path: Path):
    """At its place, with what comes before it."""
    files, expected = INERT[name]
    found = [
        f"{p.line}:{p.column} {p.message}"
        for p in problems(tmp_path, **files)
        if p.code == "ignored-key"
    ]
    assert len(found) == len(expected), found
    for one, start in zip(found, expected, strict=True):
        assert one.startswith(start)


EFFECTIVE = {
    "an end that says where a run starts": {
        "crew": 'agents: [m, a]\nrouting:\n  defaults: {a: g}\n  signals: {a: [{signal: "[E]"}]}\n  parallel_groups: {g: {agents: [m], next_agent: a}}\n',
        "agents.m": agent("m", "is_terminal: true\n"),
    },
    "the same target twice": {
        "crew": "agents: [a, b]\n",
        "agents.a": agent("a", "handoff_targets: [b, b]\n"),
        "agents.b": agent("b"),
    },
    "a default of an agent that waits and leads to a group": {
        "crew": 'agents: [a, b]\nrouting:\n  defaults: {a: null}\n  agent_behaviors: {a: {wait_for_signal: true}}\n  signals: {a: [{signal: "[G]", target: g}]}\n'
        + GROUP % "",
        "agents.b": agent("b"),
    },
    "signals of members that decide": {
        "crew": 'agents: [a, b]\nrouting:\n  defaults: {a: g}\n  signals: {b: [{signal: "[E]"}, {signal: "[A]", target: a}]}\n'
        + GROUP % ", wait_for_all: false",
        "agents.b": agent("b"),
    },
    "a second target that a signal leads to": {
        "crew": 'agents: [a, b, c]\nrouting: {signals: {a: [{signal: "[C]", target: c}]}}\n',
        "agents.a": agent("a", "handoff_targets: [b, c]\n"),
        "agents.b": agent("b"),
        "agents.c": agent("c"),
    },
    "a limit of calls that blocks": {
        "agents.a": agent(
            "a", "cost_limits: {max_tokens_per_call: 5, block_on_cost_exceed: true}\n"
        )
    },
}


@pytest.mark.parametrize("name", EFFECTIVE)
def test_what_has_an_effect_is_not(name: str, tmp_path: Path):
    """Nobody is warned of what works."""
    assert not [
        p
        for p in problems(tmp_path, **EFFECTIVE[name])
        if p.severity == "error" or p.code in ("ignored-key", "undecided-group")
    ]


def graph_of(folder: Path, crew: str, *names: str) -> RoutingGraph:
    problems(folder, crew=crew, **{f"agents.{name}": agent(name) for name in names})
    files = check(folder).files
    return RoutingGraph.of(routing_of(files, {}), entry_point(files))


def test_the_order_leads_past_those_who_have_spoken(tmp_path: Path):
    """Behind a group: to a member only if that has failed; behind the entry: not back to it."""
    crew = 'agents: [b, a, m, n, z]\nentry_point: a\nrouting:\n  signals: {a: [{signal: "[G]", target: g}]}\n  defaults: {m: null, n: null}\n  parallel_groups: {g: {agents: [m, n]}}\n'
    graph = graph_of(tmp_path, crew, *"bamnz")
    ways = {(edge.from_, edge.to) for edge in graph.edges if edge.kind == "order"}
    assert ways == {("b", "a"), ("a", "m"), ("g", "z"), ("g", "m"), ("g", "n")}
    assert graph.unreachable() == ["b"]


def test_the_order_leads_on_when_the_next_has_spoken(tmp_path: Path):
    """A → b → a, and then past b to c; nobody is led back by the order."""
    problems(
        tmp_path,
        crew="agents: [a, b, c]\n",
        **{"agents.b": agent("b", "handoff_targets: [a]\n"), "agents.c": agent("c")},
    )
    found = [problem.code for problem in check(tmp_path).problems]
    assert "unreachable" not in found
    assert "loop" not in found


def test_members_lead_nowhere_by_themselves(tmp_path: Path):
    """What only a member's default names is not reached."""
    crew = "agents: [a, m, z]\nrouting:\n  defaults: {a: g, m: z}\n  parallel_groups: {g: {agents: [m], next_agent: a}}\n"
    graph = graph_of(tmp_path, crew, *"amz")
    assert graph.members_only() == {"m"}
    assert graph.unreachable() == ["z"]


def test_limits_of_a_process_without_one(tmp_path: Path):
    """`isolate` gives a tool its process."""
    (tmp_path / "acts.py").write_text("def act() -> str:\n    return ''\n")
    entry = "{kind: python, function: 'acts.py:act', max_memory_mb: 100%s}"
    tools = f"tools:\n  t: {entry % ''}\n  u: {entry % ', isolate: process'}\n"
    (found,) = problems(tmp_path, tools=tools, **{"agents.a": AGENT + "tools: [t, u]\n"})
    assert (found.line, found.column, found.code) == (2, 46, "ignored-key")
    assert found.message == "max_memory_mb has no effect: isolate: process is not given"
