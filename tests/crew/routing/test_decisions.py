"""Where an answer leads: each step of the order against each other, in tables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crew.routing.decisions import decide, decide_group, deciding_member, settles
from crew.routing.rules import AgentAnswer, Route, Routing
from crew.routing.signals import Signal
from crew.routing.steps import Finish, Fork, Group, Handoff, Pause


def route(text: str, target: str | None) -> Route:
    return Route(Signal.of(text), target, "", "crew.yaml:7")


GROUP = Group("g", ("b", "c"), wait_for_all=True, timeout_seconds=60, next_agent=None)


def routing(
    signals: dict[str, list[tuple[str, str | None]]] | None = None,
    defaults: dict[str, str | None] | None = None,
    targets: dict[str, tuple[str, ...]] | None = None,
    waits: str = "",
    terminal: str = "",
    manual: str = "",
    groups: dict[str, Group] | None = None,
) -> Routing:
    return Routing(
        ("a", "b", "c"),
        {agent: tuple(route(*pair) for pair in pairs) for agent, pairs in (signals or {}).items()},
        defaults or {},
        {agent: (targets or {}).get(agent) for agent in "abc"},
        frozenset(waits),
        frozenset(terminal),
        frozenset(manual),
        groups or {"g": GROUP},
        {},
        {"a": "b"},
    )


TO_B: dict[str, Any] = {"signals": {"a": [("[B]", "b"), ("[END]", None), ("[G]", "g")]}}
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # name: (routing, words, who was visited, expected)
    "signal": (TO_B, "x [B]", "a", "b signal"),
    "signal beats waiting": ({**TO_B, "waits": "a"}, "[B]", "a", "b signal"),
    "signal beats terminal": ({**TO_B, "terminal": "a"}, "[B]", "a", "b signal"),
    "signal beats default": ({**TO_B, "defaults": {"a": "c"}}, "[B]", "a", "b signal"),
    "signal beats targets": ({**TO_B, "targets": {"a": ("c",)}}, "[B]", "a", "b signal"),
    "signal to the end": (TO_B, "[END]", "a", "end signal"),
    "signal to a group": (TO_B, "[G]", "a", "fork signal"),
    "first signal in the crew's order": (TO_B, "[G] [END] [B]", "a", "b signal"),
    "another's signal is not looked at": (
        {"signals": {"b": [("[C]", "c")]}, "manual": "a"},
        "[C]",
        "a",
        "end no_next_agent",
    ),
    "waiting": ({**TO_B, "waits": "a"}, "x", "a", "pause"),
    "waiting beats terminal": ({"waits": "a", "terminal": "a"}, "x", "a", "pause"),
    "waiting beats default": ({"waits": "a", "defaults": {"a": "b"}}, "x", "a", "pause"),
    "terminal": ({"terminal": "a"}, "x", "a", "end terminal"),
    "terminal beats default": ({"terminal": "a", "defaults": {"a": "b"}}, "x", "a", "end terminal"),
    "default": ({"defaults": {"a": "c"}}, "x", "a", "c default"),
    "default beats targets": (
        {"defaults": {"a": "c"}, "targets": {"a": ("b",)}},
        "x",
        "a",
        "c default",
    ),
    "default to a group": ({"defaults": {"a": "g"}}, "x", "a", "fork default"),
    "null default ends": (
        {"defaults": {"a": None}, "targets": {"a": ("b",)}},
        "x",
        "a",
        "end no_next_agent",
    ),
    "default to one that was visited": ({"defaults": {"a": "b"}}, "x", "ab", "b default"),
    "target": ({"targets": {"a": ("c", "b")}}, "x", "a", "c handoff_target"),
    "target but itself": ({"targets": {"a": ("a", "b")}}, "x", "a", "b handoff_target"),
    "target that was visited": ({"targets": {"a": ("b",)}}, "x", "ab", "b handoff_target"),
    "target though manual": (
        {"targets": {"a": ("c",)}, "manual": "a"},
        "x",
        "a",
        "c handoff_target",
    ),
    "only itself counts as empty": ({"targets": {"a": ("a",)}}, "x", "a", "end no_next_agent"),
    "empty targets end": ({"targets": {"a": ()}}, "x", "a", "end no_next_agent"),
    "order": ({}, "x", "a", "b order"),
    "order leaves out who was visited": ({}, "x", "ab", "c order"),
    "order does not wrap": ({}, "x", "c", "end no_next_agent"),
    "manual ends": ({"manual": "a"}, "x", "a", "end no_next_agent"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_the_steps(name: str):
    """First match wins."""
    keys, words, visited, expected = CASES[name]
    speaker = "c" if name == "order does not wrap" else "a"
    match decide(routing(**keys), speaker, AgentAnswer(words), set(visited)):
        case Handoff(to, reason):
            said = f"{to} {reason.why}"
        case Fork(group, reason):
            assert group.name == "g"
            said = f"fork {reason.why}"
        case Pause():
            said = "pause"
        case Finish(reason):
            said = f"end {reason}"
    assert said == expected


def test_what_else_was_found_is_reported():
    """With the place of the one that won."""
    decision = decide(routing(**TO_B), "a", AgentAnswer("[END] [B]"), {"a"})
    assert isinstance(decision, Handoff)
    assert (decision.reason.signal, decision.reason.also_found, decision.reason.source) == (
        "[B]",
        ("[END]",),
        "crew.yaml:7",
    )


MEMBERS: dict[str, Any] = {
    "signals": {"b": [("[STOP]", None), ("[A]", "a")], "c": [("[G]", "g"), ("[STOP]", None)]}
}
GROUP_CASES: dict[str, tuple[dict[str, Any], dict[str, str], str, str | None]] = {
    # name: (routing, answers, expected, who decides)
    "first member in the crew's order": (MEMBERS, {"c": "[G]", "b": "[A]"}, "a signal", "b"),
    "a target beats an end": (MEMBERS, {"b": "[STOP]", "c": "[G]"}, "fork signal", "c"),
    "a member's target beats its own end": (MEMBERS, {"b": "[STOP] [A]", "c": ""}, "a signal", "b"),
    "an end": (MEMBERS, {"b": "x", "c": "[STOP]"}, "end signal", None),
    "a failed member decides nothing": (MEMBERS, {"c": "[STOP]"}, "end signal", None),
    "next agent": (
        {**MEMBERS, "groups": {"g": Group("g", ("b", "c"), True, 60, "a")}},
        {"b": "[STOP]"},
        "a group",
        None,
    ),
    "the origin's default": (
        {**MEMBERS, "defaults": {"a": "c"}},
        {"b": "x", "c": "y"},
        "c default",
        None,
    ),
    "the origin's targets": (
        {**MEMBERS, "targets": {"a": ("b",)}},
        {"b": "x", "c": "y"},
        "b handoff_target",
        None,
    ),
    "the origin's waiting and being terminal do not count": (
        {**MEMBERS, "waits": "a", "terminal": "a", "defaults": {"a": "c"}},
        {"b": "x"},
        "c default",
        None,
    ),
    "the order from the origin": (MEMBERS, {"b": "x", "c": "y"}, "end no_next_agent", None),
}


@pytest.mark.parametrize("name", GROUP_CASES)
def test_after_a_group(name: str):
    """The next agent; else the members' signals; else what the origin's words would lead to."""
    keys, answers, expected, decider = GROUP_CASES[name]
    plan = routing(**keys)
    said_by = {member: AgentAnswer(words) for member, words in answers.items()}
    match decide_group(plan, plan.groups["g"], said_by, "a", {"a", "b", "c"}):
        case Handoff(to, reason):
            said = f"{to} {reason.why}"
        case Fork(_, reason):
            said = f"fork {reason.why}"
        case Finish(reason):
            said = f"end {reason}"
        case Pause():
            said = "pause"
    assert said == expected
    assert deciding_member(plan, plan.groups["g"], said_by) == decider


def test_what_settles_a_group_that_does_not_wait():
    """Any answer where there is a next agent, else one with a signal that has a target."""
    plan = routing(**MEMBERS)
    assert settles(plan, plan.groups["g"], "b", AgentAnswer("[A]"))
    assert not settles(plan, plan.groups["g"], "b", AgentAnswer("[STOP]"))
    assert not settles(plan, plan.groups["g"], "b", AgentAnswer("x"))
    assert settles(plan, Group("g", ("b",), False, 60, "a"), "b", AgentAnswer("x"))


names = st.sampled_from(["a", "b", "c"])
targets = st.none() | names | st.just("g")


@given(
    signals=st.dictionaries(
        names,
        st.lists(
            st.tuples(st.sampled_from(["[X]", "[Y]", "Z"]), targets),
            max_size=3,
            unique_by=lambda pair: pair[0],
        ),
    ),
    defaults=st.dictionaries(names, targets),
    to=st.dictionaries(names, st.lists(names, max_size=3).map(tuple)),
    waits=st.sets(names),
    terminal=st.sets(names),
    manual=st.sets(names),
    speaker=names,
    words=st.text(alphabet="[XY]Z ", max_size=12),
    visited=st.sets(names),
)
def test_every_answer_leads_somewhere(
    signals: Any,
    defaults: Any,
    to: Any,
    waits: Any,
    terminal: Any,
    manual: Any,
    speaker: str,
    words: str,
    visited: set[str],
):
    """Exactly one decision, always the same, to a name that exists; no signal, waiting agent: a pause."""
    plan = routing(signals, defaults, to, "".join(waits), "".join(terminal), "".join(manual))
    answer = AgentAnswer(words)
    decision = decide(plan, speaker, answer, visited | {speaker})
    assert decision == decide(plan, speaker, answer, visited | {speaker})
    if isinstance(decision, Handoff):
        assert decision.to in plan.agents
        if decision.reason.why == "order":
            assert decision.to not in visited | {speaker}
            assert plan.agents.index(decision.to) > plan.agents.index(speaker)
        if decision.reason.why == "handoff_target":
            assert decision.to != speaker
    signalled = [
        pair
        for pair in signals.get(speaker, ())
        if Signal.of(pair[0]).occurs(
            " ".join(words.lower().split()).replace("[ ", "[").replace(" ]", "]")
        )
    ]
    if not signalled and speaker in waits:
        assert decision == Pause(speaker)
