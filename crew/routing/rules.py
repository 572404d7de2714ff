"""The transitions of an agent: one ordered tuple of rules; runs decide by it, the graph shows it.

The first rule that applies decides. A rule behind an unconditional one never applies: what
configures it has no effect.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from crew.routing.outputs import OutputRoute
from crew.routing.signals import Signal, find
from crew.routing.steps import Group, Why

# an agent's signals are compared with each other up to so many: more than a crew has
MAX_COMPARED = 500
WayKind = Literal[
    "plan", "output", "signal", "pause", "terminal", "default", "handoff_target", "order", "end"
]
# of a transition without a signal, in `Routing.sources`
SourceKey = Why | Literal["pause", "terminal", "end"]
# the key in the YAML that makes a rule
RuleKey = Literal[
    "plan",
    "outputs",
    "signals",
    "wait_for_signal",
    "is_terminal",
    "defaults",
    "handoff_targets",
    "auto_route",
    "",
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
class AgentAnswer:
    """What an agent has answered, as rules look at it."""

    words: str
    # a typed one; None where it has none
    output: Mapping[str, Any] | None = None


# of an agent of which no answer is looked at
NO_ANSWER = AgentAnswer("")


@dataclass(frozen=True, slots=True)
class Transition:
    """Where a rule leads: to an agent or a group, to the end (None), or to a pause."""

    kind: WayKind
    target: str | None = None
    # of kind `signal`: the route that was taken, and the others with signals in the answer
    route: Route | None = None
    others: tuple[Route, ...] = ()
    # what in the files says so, as `file:line`; None where nothing does
    source: str | None = None
    # of kind `output`: when it is taken; and the fields that decided, where an answer was looked at
    label: str = ""
    matched: Mapping[str, Any] | None = None


def find_routes(routes: Sequence[Route], answer: AgentAnswer) -> list[Route]:
    """Find the routes with signals in an answer, in their order."""
    return [routes[place] for place in find([route.signal for route in routes], answer.words)]


def take(route: Route, found: Sequence[Route]) -> Transition:
    """Return the transition by one of the routes that were found."""
    others = tuple(other for other in found if other is not route)
    return Transition("signal", route.target, route, others, route.source)


@dataclass(frozen=True, slots=True)
class OutputRule:
    """The agent's typed answer fits one of its routes; the first in the order of crew.yaml wins."""

    routes: tuple[OutputRoute, ...]
    # whether an answer may fit none
    conditional: bool
    key: ClassVar[RuleKey] = "outputs"
    after_group: ClassVar[bool] = False

    def apply(self, answer: AgentAnswer, visited: Container[str]) -> Transition | None:
        """See Rule."""
        output = answer.output
        if output is None:
            return None
        for route in self.routes:
            if route.fits(output):
                return _take_output(route, route.matched(output))
        return None

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        for route in self.routes:
            yield _take_output(route, None)


def _take_output(route: OutputRoute, matched: Mapping[str, Any] | None) -> Transition:
    kind: WayKind = "pause" if route.pauses else "output"
    source, label = route.source, route.label
    return Transition(kind, route.target, source=source, label=label, matched=matched)


@dataclass(frozen=True, slots=True)
class SignalRule:
    """One of the agent's signals is in its answer; the first in the order of crew.yaml wins."""

    routes: tuple[Route, ...]
    key: ClassVar[RuleKey] = "signals"
    conditional: ClassVar[bool] = True
    after_group: ClassVar[bool] = False

    def apply(self, answer: AgentAnswer, visited: Container[str]) -> Transition | None:
        """See Rule."""
        found = find_routes(self.routes, answer)
        return take(found[0], found) if found else None

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        for route in winnable(self.routes):
            yield take(route, ())


@dataclass(frozen=True, slots=True)
class FixedRule:
    """Leads to one place, whatever the answer."""

    key: RuleKey
    transition: Transition
    # it also decides after a group that this agent started
    after_group: bool = True
    conditional: ClassVar[bool] = False

    def apply(self, answer: AgentAnswer, visited: Container[str]) -> Transition | None:
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
    # of each agent, where it is in the files
    sources: tuple[str | None, ...]
    key: ClassVar[RuleKey] = ""
    conditional: ClassVar[bool] = True
    after_group: ClassVar[bool] = True

    def apply(self, answer: AgentAnswer, visited: Container[str]) -> Transition | None:
        """See Rule."""
        return next(self.transitions(visited), None)

    def transitions(self, visited: Container[str]) -> Iterator[Transition]:
        """See Rule."""
        for place in range(self.place, len(self.agents)):
            if self.agents[place] not in visited:
                yield Transition("order", self.agents[place], source=self.sources[place])
                return


# Each has `key`; `conditional` (whether a later rule may apply); `after_group` (whether it applies
# after a group that the agent started, too); `apply(answer, visited)`, its transition, or None;
# `transitions(visited)`, all it can take.
Rule = OutputRule | SignalRule | FixedRule | OrderRule


@dataclass(frozen=True, slots=True)
class PlanWay:
    """Who works for an agent that plans, and who goes on then."""

    workers: tuple[str, ...]
    # an agent or a group; None: the planner speaks
    then: str | None


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
    # where the files say so, as `file:line`: of transitions without a signal, by their kind and the
    # agent or group that they leave (of `order`: that they lead to)
    sources: Mapping[tuple[SourceKey, str], str] = field(default_factory=dict)
    # of agents with typed answers
    outputs: Mapping[str, tuple[OutputRoute, ...]] = field(default_factory=dict)
    # agents the routes of which take every typed answer
    complete: frozenset[str] = frozenset()
    # where to go when an agent has no right answer; where it has no entry, the run fails
    on_invalid: Mapping[str, str] = field(default_factory=dict)
    # of agents that plan
    plans: Mapping[str, PlanWay] = field(default_factory=dict)
    # by agent: those that it has as tools
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # agents that speak only for others: on tasks, as tools. They have no place in the order
    workers_only: frozenset[str] = frozenset()
    # agents that may wait for a person's words
    pausing: frozenset[str] = field(init=False, repr=False, compare=False)
    rules: Mapping[str, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        made = {agent: tuple(_rules(self, agent)) for agent in self.agents}
        object.__setattr__(self, "rules", made)
        pausing = frozenset(agent for agent, rules in made.items() if _may_pause(rules))
        object.__setattr__(self, "pausing", pausing)

    def source(self, why: SourceKey, name: str) -> str | None:
        """Return where a transition is written that follows no signal; see `sources`."""
        return self.sources.get((why, name))

    def find_routes(self, agent_id: str, answer: AgentAnswer) -> list[Route]:
        """Find the routes with signals in an agent's answer, in the order of crew.yaml."""
        return find_routes(self.routes.get(agent_id, ()), answer)

    def rules_after_group(self, origin: str) -> tuple[Rule, ...]:
        """Return the rules that decide where a group leads that nothing else decides.

        Args:
            origin: the agent that started the group.
        """
        return tuple(rule for rule in self.rules[origin] if rule.after_group)


def _rules(routing: Routing, agent: str) -> Iterator[Rule]:
    """Yield the rules of an agent, in their order (spec, 3.4)."""
    routes, targets = routing.routes.get(agent), routing.handoff_targets.get(agent)
    if (plan := routing.plans.get(agent)) is not None and plan.then is not None:
        leads = Transition("plan", plan.then, source=routing.source("plan", agent))
        yield FixedRule("plan", leads, after_group=False)
    if outputs := routing.outputs.get(agent):
        is_complete = agent in routing.complete or not all(route.when for route in outputs)
        yield OutputRule(outputs, not is_complete)
    if routes:
        yield SignalRule(routes)
    if agent in routing.waits:
        source = routing.source("pause", agent)
        yield FixedRule("wait_for_signal", Transition("pause", source=source), after_group=False)
    if agent in routing.terminal:
        source = routing.source("terminal", agent)
        yield FixedRule("is_terminal", Transition("terminal", source=source), after_group=False)
    if agent in routing.defaults:
        source = routing.source("default", agent)
        yield FixedRule("defaults", Transition("default", routing.defaults[agent], source=source))
    others = [target for target in targets or () if target != agent]
    source = routing.source("handoff_target", agent)
    if others:
        leads = Transition("handoff_target", others[0], source=source)
        yield FixedRule("handoff_targets", leads)
    elif targets is not None:
        # a list of only itself counts as empty, and an empty one as: nowhere
        yield FixedRule("handoff_targets", Transition("end", source=source))
    if agent in routing.no_auto_route:
        leads = Transition("end", source=routing.source("end", agent))
        yield FixedRule("auto_route", leads)
    listed = [one for one in routing.agents if one == agent or one not in routing.workers_only]
    places = tuple(routing.source("order", name) for name in listed)
    yield OrderRule(tuple(listed), listed.index(agent) + 1, places)
    yield FixedRule("", Transition("end"))


def rules_in_use(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules up to the first that always applies."""
    out: list[Rule] = []
    for rule in rules:
        out.append(rule)
        if not rule.conditional:
            break
    return out


def _may_pause(rules: Sequence[Rule]) -> bool:
    used = [rule for rule in rules_in_use(rules) if not isinstance(rule, OrderRule)]
    return any(leads.kind == "pause" for rule in used for leads in rule.transitions(()))


def first_transition(
    rules: Sequence[Rule], answer: AgentAnswer, visited: Container[str]
) -> Transition:
    """Return the transition of the first rule that applies."""
    for rule in rules:
        if (transition := rule.apply(answer, visited)) is not None:
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
