"""Which agents and groups a run can come to, and where the order of the list can lead it.

Where the order leads depends on the visited agents, so the situations that a run can be in are
played through: the next agent, and those visited. There are few in most crews; past MAX_SITUATIONS
the visited ones are left open, and what is found may be more than a run can do (`exact` is False).
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from crew.routing.members import group_transitions, may_decide_nothing
from crew.routing.rules import OrderRule, Routing, Rule
from crew.routing.steps import Group

MAX_SITUATIONS = 20_000
# the subsets of a larger group's members (any may fail) are not played through one by one
MAX_MEMBERS = 6


@dataclass(frozen=True, slots=True)
class Situation:
    """An agent or a group is next."""

    name: str
    # of a group: the agent whose rules decide after it, if nothing else does
    origin: str
    # visited agents, a bit each by their place in the list; -1: not known
    visited: int


@dataclass(slots=True)
class Exploration:
    """What was found."""

    # agents that can be the current one, and groups
    reached: set[str] = field(default_factory=set)
    # by agent or group: where the order leads; None: no agent is left
    order_targets: dict[str, set[str | None]] = field(default_factory=dict)
    # by group: the agents whose rules decide after it, if nothing else does
    origins: dict[str, set[str]] = field(default_factory=dict)
    exact: bool = True


class _TooMany(Exception):
    pass


def explore(routing: Routing, start: str) -> Exploration:
    """Play through what can follow when a run starts at an agent."""
    try:
        return _Explorer(routing, exact=True).run(start)
    except _TooMany:
        return _Explorer(routing, exact=False).run(start)


@dataclass(frozen=True, slots=True)
class _Visited:
    """The agents of a situation's bits, as the rules ask for them."""

    bits: int
    places: dict[str, int]

    def __contains__(self, agent: object) -> bool:
        return isinstance(agent, str) and bool(self.bits >> self.places[agent] & 1)


class _Explorer:
    def __init__(self, routing: Routing, *, exact: bool) -> None:
        self.routing, self.exact = routing, exact
        self.found = Exploration(exact=exact)
        self.places = {agent: place for place, agent in enumerate(routing.agents)}
        self.seen: set[Situation] = set()
        self.open: list[Situation] = []
        # places of the list that the order can lead on from, where the visited agents are not known
        self.passed_places: set[int] = set()

    def run(self, start: str) -> Exploration:
        self._push(start, "", 0)
        while self.open:
            situation = self.open.pop()
            self.found.reached.add(situation.name)
            group = self.routing.groups.get(situation.name)
            if group is not None:
                self._play_group(group, situation)
            else:
                self._play_agent(situation)
        return self.found

    def _push(self, name: str, origin: str, visited: int) -> None:
        # who started a group matters only while the group is next
        origin = origin if name in self.routing.groups else ""
        situation = Situation(name, origin, visited if self.exact else -1)
        if situation in self.seen:
            return
        if self.exact and len(self.seen) >= MAX_SITUATIONS:
            raise _TooMany
        self.seen.add(situation)
        self.open.append(situation)

    def _bit(self, agent: str) -> int:
        return 1 << self.places[agent]

    def _play_agent(self, situation: Situation) -> None:
        routing, agent = self.routing, situation.name
        visited = situation.visited | self._bit(agent)
        if agent in routing.asks:
            # after a person's answer every agent may answer again
            self._push(agent, "", 0)
        if agent in routing.on_invalid:
            self._push(routing.on_invalid[agent], agent, visited)
        self._play_rules(routing.rules[agent], agent, agent, visited)

    def _play_rules(self, rules: tuple[Rule, ...], source: str, origin: str, visited: int) -> None:
        """Push what the rules lead to, up to the first that always applies."""
        for rule in rules:
            if isinstance(rule, OrderRule):
                if self._play_order(rule, source, origin, visited):
                    return
                continue
            for transition in rule.transitions(()):
                if transition.kind == "pause":
                    self._play_pause(origin, visited)
                elif transition.target is not None:
                    self._push(transition.target, origin, visited)
            if not rule.conditional:
                return

    def _play_pause(self, agent: str, visited: int) -> None:
        self._push(agent, "", 0)
        target = self.routing.on_wait_timeout.get(agent)
        if agent in self.routing.wait_seconds and target is not None:
            self._push(target, agent, visited)

    def _play_order(self, rule: OrderRule, source: str, origin: str, visited: int) -> bool:
        """Return whether the order leads anywhere, for certain."""
        targets = self.found.order_targets.setdefault(source, set())
        if not self.exact:
            targets |= {rule.agents[rule.place] if rule.place < len(rule.agents) else None}
            self._pass_places(rule, origin)
            return False
        known: Container[str] = _Visited(visited, self.places)
        transition = next(rule.transitions(known), None)
        if transition is None:
            targets.add(None)
            return False
        assert transition.target is not None, "the order leads to agents"
        targets.add(transition.target)
        self._push(transition.target, origin, visited)
        return True

    def _pass_places(self, rule: OrderRule, origin: str) -> None:
        """Push all places behind a place: each may be next."""
        for place in range(rule.place, len(rule.agents)):
            if place in self.passed_places:
                return
            self.passed_places.add(place)
            self._push(rule.agents[place], origin, -1)

    def _play_group(self, group: Group, situation: Situation) -> None:
        origin = situation.origin
        self.found.origins.setdefault(group.name, set()).add(origin)
        for members in self._answering(group):
            visited = situation.visited
            for member in members:
                visited |= self._bit(member)
            if group.next_agent is not None:
                self._push(group.next_agent, origin, visited)
                continue
            for member, transition in group_transitions(self.routing, members):
                if transition.target is not None:
                    self._push(transition.target, member, visited)
            if all(may_decide_nothing(self.routing, member) for member in members):
                rules = self.routing.rules_after_group(origin)
                self._play_rules(rules, group.name, origin, visited)

    def _answering(self, group: Group) -> Iterator[tuple[str, ...]]:
        """Yield the members that may have answered: any, but at least one."""
        if not self.exact:
            # more than can be: each alone, too
            yield from ((member,) for member in group.agents)
            yield group.agents
            return
        if len(group.agents) > MAX_MEMBERS:
            raise _TooMany
        for count in range(1, len(group.agents) + 1):
            yield from combinations(group.agents, count)
