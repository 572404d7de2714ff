"""Decisions and graph are one truth: every way taken is drawn, every way drawn can be taken."""

from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from crew.routing.decisions import (
    decide,
    decide_group,
    decide_invalid,
    decide_unanswered,
    deciding_member,
)
from crew.routing.graph import END, RoutingGraph
from crew.routing.outputs import OutputCondition, OutputRoute
from crew.routing.rules import AgentAnswer, Route, Routing
from crew.routing.signals import Signal
from crew.routing.steps import Finish, Fork, Group, Handoff, NextStep, Pause

NAMES = ("a", "b", "c", "d")
# some hide others: where [B] [C] is written, [B] is found too
SIGNALS = ("[A]", "[B]", "[C]", "[B] [C]", "[END]")
# of the field that rules look at
VALUES = ("p", "q", "r")
Taken = set[tuple[str, str]]


def groups(draw: st.DrawFn) -> dict[str, Group]:
    made = {}
    for name in ("g", "h")[: draw(st.integers(0, 2))]:
        members = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
        aim = draw(st.none() | st.sampled_from(NAMES))
        made[name] = Group(name, tuple(members), draw(st.booleans()), 60, aim)
    return made


def output_routes(draw: st.DrawFn, target: Any) -> dict[str, tuple[OutputRoute, ...]]:
    """Rules by typed answers, each of which can be taken."""
    made = {}
    for agent in draw(st.sets(st.sampled_from(NAMES), max_size=2)):
        values = draw(st.lists(st.sampled_from(VALUES), max_size=2, unique=True))
        whens = [{"k": OutputCondition(values=(value,))} for value in values]
        whens += [{}] * draw(st.integers(0, 1))
        routes = [(when, draw(st.none() | target), draw(st.booleans())) for when in whens]
        made[agent] = tuple(
            OutputRoute(when, None if pauses else aim, pauses, "", "")
            for when, aim, pauses in routes
        )
    return made


@st.composite
def routings(draw: st.DrawFn) -> Routing:
    """Any routing of four agents and up to two groups."""
    in_groups = groups(draw)
    target = st.sampled_from([*NAMES, *in_groups])
    some = st.sets(st.sampled_from(NAMES))
    routes: dict[str, Any] = {}
    for agent in NAMES:
        texts = draw(st.lists(st.sampled_from(SIGNALS), max_size=3, unique=True))
        aims = [draw(st.none() | target) for _ in texts]
        pairs = zip(texts, aims, strict=True)
        routes[agent] = tuple(Route(Signal.of(text), aim, "", "") for text, aim in pairs)
    outputs = output_routes(draw, target)
    # no signal is looked for in a typed answer
    routes |= dict.fromkeys(outputs, ())
    waits = draw(some)
    pausing = waits | {agent for agent, made in outputs.items() if any(r.pauses for r in made)}
    return Routing(
        agents=NAMES,
        routes=routes,
        defaults=draw(st.dictionaries(st.sampled_from(NAMES), st.none() | target, max_size=2)),
        handoff_targets={
            n: draw(st.none() | st.lists(target, max_size=2).map(tuple)) for n in NAMES
        },
        waits=frozenset(waits),
        terminal=frozenset(draw(st.sets(st.sampled_from(NAMES), max_size=1))),
        no_auto_route=frozenset(draw(some)),
        groups=in_groups,
        wait_seconds=dict.fromkeys(sorted(draw(some) & pausing), 5.0),
        on_wait_timeout={n: draw(st.none() | target) for n in sorted(pausing)},
        outputs=outputs,
        on_invalid={n: draw(target) for n in sorted(outputs) if draw(st.booleans())},
    )


def answers_of(routing: Routing, agent: str) -> Iterator[AgentAnswer]:
    """An answer for every set of the agent's signals; of a typed one, every value."""
    if agent in routing.outputs:
        yield from (AgentAnswer("", {"k": value}) for value in VALUES)
        yield AgentAnswer("", {})
        return
    texts = [route.signal.text for route in routing.routes[agent]]
    for count in range(len(texts) + 1):
        for some in combinations(texts, count):
            yield AgentAnswer(" and ".join(some))


def steps_of(routing: Routing, agent: str, now: frozenset[str]) -> Iterator[NextStep]:
    """What can follow an agent's answers, and one that is wrong to the end."""
    yield from (decide(routing, agent, answer, now) for answer in answers_of(routing, agent))
    if (step := decide_invalid(routing, agent)) is not None:
        yield step


def walk(routing: Routing) -> tuple[set[str], Taken]:
    """Every situation that the decisions lead to: what is entered, and the ways taken."""
    entered, taken = set[str](), Taken()
    # (agent or group, origin of the group, who has spoken)
    open_ = [("a", "", frozenset[str]())]
    seen = set(open_)

    def follow(step: NextStep, source: str, origin: str, spoken: frozenset[str]) -> None:
        match step:
            case Handoff(to, _):
                taken.add((source, to))
                push(to, "", spoken)
            case Fork(group, _):
                taken.add((source, group.name))
                push(group.name, origin, spoken)
            case Finish():
                taken.add((source, END))
            case Pause(agent):
                push(agent, "", frozenset())
                if agent in routing.wait_seconds:
                    follow(decide_unanswered(routing, agent), agent, agent, spoken)

    def push(name: str, origin: str, spoken: frozenset[str]) -> None:
        if (name, origin, spoken) not in seen:
            seen.add((name, origin, spoken))
            open_.append((name, origin, spoken))

    while open_:
        name, origin, spoken = open_.pop()
        entered.add(name)
        if name not in routing.groups:
            now = spoken | {name}
            for step in steps_of(routing, name, now):
                follow(step, name, name, now)
            continue
        group = routing.groups[name]
        for count in range(1, len(group.agents) + 1):
            for members in combinations(group.agents, count):
                now = spoken | set(members)
                for said in product(*(answers_of(routing, member) for member in members)):
                    answers = dict(zip(members, said, strict=True))
                    decider = deciding_member(routing, group, answers) or origin
                    follow(decide_group(routing, group, answers, origin, now), name, decider, now)
    return entered, taken


@settings(max_examples=400)
@given(routings())
def test_the_graph_has_every_way_and_no_other(routing: Routing):
    """Edges from what is entered are exactly the ways that decisions take."""
    entered, taken = walk(routing)
    graph = RoutingGraph.of(routing, "a")
    assert graph.exact
    assert graph.entered == entered
    drawn = {(e.from_, e.to) for e in graph.edges if e.from_ in entered and e.kind != "member"}
    assert drawn == taken


@settings(max_examples=200)
@given(routings())
def test_a_rule_behind_an_unconditional_one_never_applies(routing: Routing):
    """What `has no effect` says is true: without that rule every decision stays the same."""
    for agent in NAMES:
        rules = routing.rules[agent]
        first = next(place for place, rule in enumerate(rules) if not rule.conditional)
        kept = Routing(
            **{one.name: getattr(routing, one.name) for one in fields(Routing) if one.init}
        )
        object.__setattr__(kept, "rules", {**kept.rules, agent: rules[: first + 1]})
        for answer in answers_of(routing, agent):
            for count in range(len(NAMES)):
                for others in combinations(NAMES, count):
                    spoken = {agent, *others}
                    assert decide(routing, agent, answer, spoken) == decide(
                        kept, agent, answer, spoken
                    )
