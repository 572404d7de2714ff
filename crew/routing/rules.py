"""The transitions of an agent: one ordered tuple of rules; runs decide by it, the graph shows it.

The first rule that applies decides. A rule behind an unconditional one never applies: what
configures it has no effect.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from crew.routing.signals import Signal, find
from crew.routing.steps import Group, Why

# an agent's signals are compared with each other up to so many: more than a crew has
MAX_COMPARED = 500
WayKind = Literal["signal", "pause", "terminal", "default", "handoff_target", "order", "end"]
# the key in the YAML that makes a rule
RuleKey = Literal[
    "signals", "wait_for_signal", "is_terminal", "defaults", "handoff_targets", "auto_route", ""
]


@dataclass(frozen=True, slots=True)
class Route:
    """One entry of `routing.signals.<agent>`."""

    signal: Signal
    # an agent, a group, or None: the run ends
    target: str | None
    description: str
    # where it is defined, as `file:line`
    source: str


@dataclass(frozen=True, slots=True)
class Transition:
    """Where a rule leads: to an agent or a group, to the end (None), or to a pause."""

    kind: WayKind
    target: str | None = None
    route: Route | None = None


@dataclass(frozen=True, slots=True)
class SignalRule:
    """One of the agent's signals is in its answer; the first in the order of crew.yaml wins."""

    routes: tuple[Route, ...]
    key: ClassVar[RuleKey] = "signals"
    conditional: ClassVar[bool] = True
    after_group: ClassVar[bool] = False

    def apply(self, found: Sequence[Route], visited: Container[str]) -> Transition | None:
        """See Rule."""
        return Transition("signal", found[0].target, found[0]) if found else None

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        for route in winnable(self.routes):
            yield Transition("signal", route.target, route)


@dataclass(frozen=True, slots=True)
class FixedRule:
    """Leads to one place, whatever the answer."""

    key: RuleKey
    transition: Transition
    # it also decides after a group that this agent started
    after_group: bool = True
    conditional: ClassVar[bool] = False

    def apply(self, found: Sequence[Route], visited: Container[str]) -> Transition | None:
        """See Rule."""
        return self.transition

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        yield self.transition


@dataclass(frozen=True, slots=True)
class OrderRule:
    """The next agent of the list that was not visited, without wrapping round."""

    agents: tuple[str, ...]
    # where the search starts
    place: int
    key: ClassVar[RuleKey] = ""
    conditional: ClassVar[bool] = True
    after_group: ClassVar[bool] = True

    def apply(self, found: Sequence[Route], visited: Container[str]) -> Transition | None:
        """See Rule."""
        return next(self.transitions(visited), None)

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        for place in range(self.place, len(self.agents)):
            if self.agents[place] not in visited:
                yield Transition("order", self.agents[place])
                return


# Each has `key`; `conditional` (whether a later rule may apply); `after_group` (whether it applies
# after a group that the agent started, too); `apply(found, visited)`, its transition, or None;
# `transitions(visited)`, all it can take.
Rule = SignalRule | FixedRule | OrderRule


@dataclass(frozen=True, slots=True)
class Routing:
    """Where an agent's words may lead."""

    # in the order of crew.yaml
    agents: tuple[str, ...]
    routes: Mapping[str, tuple[Route, ...]]
    # has an entry only where crew.yaml has one; None: the run ends
    defaults: Mapping[str, str | None]
    # None where the agent's file has no handoff_targets; () where the list is empty
    handoff_targets: Mapping[str, tuple[str, ...] | None]
    waits: frozenset[str]
    terminal: frozenset[str]
    # agents with `auto_route: false`
    no_auto_route: frozenset[str]
    groups: Mapping[str, Group]
    # how long an agent's pauses wait, and where to go then (None: the run ends)
    wait_seconds: Mapping[str, float]
    on_wait_timeout: Mapping[str, str | None]
    # agents with a tool that a person must approve
    asks: frozenset[str] = frozenset()
    # where the files say so, as `file:line`: of transitions without a signal, by why they are taken
    # and the agent or group that they leave (of `order`: that they lead to)
    sources: Mapping[tuple[Why, str], str] = field(default_factory=dict)
    rules: Mapping[str, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = {agent: place for place, agent in enumerate(self.agents)}
        made = {agent: tuple(_rules(self, agent, places[agent])) for agent in self.agents}
        object.__setattr__(self, "rules", made)

    def source(self, why: Why, name: str) -> str | None:
        """Return where a transition is written that follows no signal; see `sources`."""
        return self.sources.get((why, name))

    def find_routes(self, agent_id: str, words: str) -> list[Route]:
        """Find the routes with signals in an agent's answer, in the order of crew.yaml."""
        routes = self.routes.get(agent_id, ())
        return [routes[place] for place in find([route.signal for route in routes], words)]

    def rules_after_group(self, origin: str) -> tuple[Rule, ...]:
        """Return the rules that decide where a group leads that nothing else decides.

        Args:
            origin: the agent that started the group.
        """
        return tuple(rule for rule in self.rules[origin] if rule.after_group)


def _rules(routing: Routing, agent: str, place: int) -> Iterator[Rule]:
    """Yield the rules of an agent, in their order (spec, 3.4)."""
    routes, targets = routing.routes.get(agent), routing.handoff_targets.get(agent)
    if routes:
        yield SignalRule(routes)
    if agent in routing.waits:
        yield FixedRule("wait_for_signal", Transition("pause"), after_group=False)
    if agent in routing.terminal:
        yield FixedRule("is_terminal", Transition("terminal"), after_group=False)
    if agent in routing.defaults:
        yield FixedRule("defaults", Transition("default", routing.defaults[agent]))
    others = [target for target in targets or () if target != agent]
    if others:
        yield FixedRule("handoff_targets", Transition("handoff_target", others[0]))
    elif targets is not None:
        # a list of only itself counts as empty, and an empty one as: nowhere
        yield FixedRule("handoff_targets", Transition("end"))
    if agent in routing.no_auto_route:
        yield FixedRule("auto_route", Transition("end"))
    yield OrderRule(routing.agents, place + 1)
    yield FixedRule("", Transition("end"))


def first_transition(
    rules: Sequence[Rule], found: Sequence[Route], visited: Container[str]
) -> Transition:
    """Return the transition that the first applicable rule leads."""
    for rule in rules:
        if (transition := rule.apply(found, visited)) is not None:
            return transition
    raise AssertionError("the last rule always applies")


def winnable(routes: Sequence[Route]) -> list[Route]:
    """Return the routes that can win: no earlier signal is found in every text that has theirs."""
    if len(routes) > MAX_COMPARED:
        return list(routes)
    out = []
    for place, route in enumerate(routes):
        text = route.signal.normal
        if not any(earlier.signal.occurs(text) for earlier in routes[:place]):
            out.append(route)
    return out


def winnable_in_group(routes: Sequence[Route]) -> list[Route]:
    """Return a member's routes that can decide where its group leads: targets beat ends."""
    aimed = [route for route in routes if route.target is not None]
    ends = [route for route in routes if route.target is None]
    return winnable(aimed) + [route for route in ends if route in winnable([*aimed, route])]
