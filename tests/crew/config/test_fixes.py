"""What is certain is fixed in the text; everything else stays as it was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.config.files.sources import Sources
from crew.config.files.yaml_reader import read
from crew.config.fixes import fix

AGENT = "id: a\nname: A\nrole: r\nprovider: scripted\nsystem_prompt: You help.\n"


def fixed_files(crew: str, agent: str = AGENT) -> tuple[str, str]:
    sources = Sources(
        Path("nowhere"),
        {"crew.yaml": crew.encode(), "agents/a.yaml": agent.encode(), "script.yaml": b"rules: []"},
    )
    after = fix(sources).files
    return after["crew.yaml"].decode(), after["agents/a.yaml"].decode()


FIXED = {
    "keys": (
        "agents: [a]  # the crew\nsettings:\n    max_rouns:   3 # few\n\n\n    'max_handoff': 2\n",
        "agents: [a]  # the crew\nsettings:\n    max_rounds:   3 # few\n\n\n    'max_handoffs': 2\n",
    ),
    "a flow mapping": (
        "{agents: [a], settings: {max_rouns: 3}}\n",
        "{agents: [a], settings: {max_rounds: 3}}\n",
    ),
    "brackets": (
        "agents: [a]\nrouting:\n  signals:\n    a:\n      - signal: [KẾT THÚC] # ends\n        target: null\n",
        'agents: [a]\nrouting:\n  signals:\n    a:\n      - signal: "[KẾT THÚC]" # ends\n        target: null\n',
    ),
    "a text with a colon": (
        "agents: [a]\nname: night: shift  # late\n",
        'agents: [a]\nname: "night: shift"  # late\n',
    ),
    "one behind another": (
        "agents: [a]\nname: a: b\nsetings: {max_rouns: 1}\n",
        'agents: [a]\nname: "a: b"\nsettings: {max_rounds: 1}\n',
    ),
    "several on one line": (
        "agents: [a]\nsettings: {max_rouns: 3, max_roundz: 4, max_handofs: 5}\n",
        "agents: [a]\nsettings: {max_rounds: 3, max_roundz: 4, max_handoffs: 5}\n",
    ),
    "an anchor that is used twice": (
        "agents: [a, b]\nrouting: {agent_behaviors: {a: &x {auto_rout: true}, b: *x}}\n",
        "agents: [a, b]\nrouting: {agent_behaviors: {a: &x {auto_route: true}, b: *x}}\n",
    ),
    "other line ends": ("agents: [a]\r\nnme: x\r\n", "agents: [a]\r\nname: x\r\n"),
    "a byte order mark": ("\ufeffagnts: [a]\n", "\ufeffagents: [a]\n"),
}


@pytest.mark.parametrize("name", FIXED)
def test_what_is_certain_is_fixed(name: str):
    """And nothing else is touched."""
    before, after = FIXED[name]
    assert fixed_files(before)[0] == after


def test_the_word_of_go_agentic_is_fixed():
    """`enforce` is `block_on_cost_exceed`."""
    agent = AGENT + "cost_limits:\n  enforce: true # really\n  max_tokens_per_day: 5\n"
    assert fixed_files("agents: [a]\n", agent)[1] == agent.replace(
        "enforce:", "block_on_cost_exceed:"
    )


@pytest.mark.parametrize(
    "crew",
    [
        "agents: [a]\nsettings: {max: 3}\n",
        "agents: [a]\nentry_point: aa\n",
        "agents: [a]\nsettings: {max_rounds: 3, max_rouns: 4}\n",
        "agents: [a]\nname: [x, y]\n",
        "agents: [a]\nname: 'a: b\n",
        "agents: [a]\nsettings: {max_rounds: 0}\n",
        "agents: [a]\nsettings: {min_rounds: 2}\n",
        "agents: [a]\nsettings: {retry_backoff_max_millis: 5}\n",
        "agents: [a]\nsettings: {tool_execution_timeout_millis: 5}\n",
        "agents: [a]\nsettings: {max_request_body_size_mb: 10}\n",
        "agents: [a]\nrouting: {parallel_groups: {g: {agents: [a], wait_for_any: true}}}\n",
        "agents: [a]\nrouting: {agent_behaviors: {a: {no_auto_route: true}}}\n",
        "agents: [a]\nsettings: max_rounds: 3\n",
        "agents: [a] name: x\n",
        "agents: [a]\nrouting: {signals: {a: [{signal: x, target: [b]}]}}\n",
        'agents: [a]\nx-r: &r {signal: "[END]"}\nrouting:\n  <<: *r\n  signals:\n    a: [*r]\n',
        "agents: [a]\n",
        "",
    ],
)
def test_what_is_not_certain_is_left(crew: str):
    """A key that is far off, a name, one that is there already, a list of two, a value; and what is right."""
    assert fixed_files(crew)[0] == crew


KEYS = st.sampled_from(
    [
        "agents",
        "agnts",
        "name",
        "nme",
        "settings",
        "max_rouns",
        "max_rounds",
        "signal",
        "entry_pont",
        "x",
    ]
)
VALUES = st.sampled_from(
    ["[a]", "a: b", '"x"', "{max_rouns: 1}", "", "- y", "[x, y]", "'", "|\n  text", "&a [*a]"]
)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=6))
def test_fixing_ends_and_never_breaks_a_file(lines: list[tuple[str, str]]):
    """Whatever is in it: no more problems than before, and fixing twice is fixing once."""
    text = "".join(f"{key}: {value}\n" for key, value in lines)
    after = fixed_files(text)[0]
    assert len(read("crew.yaml", after.encode()).problems) <= len(
        read("crew.yaml", text.encode()).problems
    )
    assert fixed_files(after)[0] == after


@pytest.mark.parametrize(
    "agent",
    [
        "id: a\nname: A\n role: helper\nprovider: scripted\nsystem_prompt: You help.\n",
        "id: a\nname: A role: r\nprovider: scripted\nsystem_prompt: You help.\n",
        "id: a\nname: A\nrole: r\nprovider: scripted\nsystem_prompt: You are: helper\n  and: more\n",
        AGENT.replace("provider: scripted", "provider: [openai]"),
        "id: a\nname: A\nrole: helper provider: scripted\nsystem_prompt: You help.\n",
        AGENT + "handoff_targets: none\n",
        AGENT + "tools: false\n",
        AGENT + "tools: all\n",
        AGENT + "tools: 5\n",
    ],
)
def test_what_would_not_help_is_left(agent: str):
    """An indentation, a line break that is missing, a text over two lines, a name."""
    assert fixed_files("agents: [a]\n", agent)[1] == agent


def test_many_are_fixed_at_once():
    """Without a check for each."""
    crew = "agents: [a]\nrouting:\n  signals:\n    a:\n" + "".join(
        f"      - {{signal: S{n}, descripton: x}}\n" for n in range(400)
    )
    assert fixed_files(crew)[0] == crew.replace("descripton", "description")
