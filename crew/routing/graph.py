"""The routing graph: what can be reached, what can never be left, which loops there are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import networkx as nx

from crew.routing.exploration import Exploration, explore
from crew.routing.members import may_decide_nothing, member_transitions
from crew.routing.rules import NO_ANSWER, OrderRule, Routing, Rule, Transition
from crew.routing.steps import Group

END = "(end)"
# of edges that are no handoffs
NO_WAYS = frozenset({"member", "tool"})
EdgeKind = Literal[
    "plan",
    "tool",
    "signal",
    "output",
    "invalid",
    "default",
    "handoff_target",
    "order",
    "member",
    "group",
    "no_answer",
]
# of the transitions to an end without a signal
END_LABELS = {"terminal": "terminal", "default": "default", "end": "no next", "order": "no next"}


@dataclass(frozen=True, slots=True)
class Edge:
    """One transition from an agent or a group to another, or to the end."""

    from_: str
    to: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RoutingGraph:
    """The graph of a crew: agents, groups and the end as nodes."""

    routing: Routing
    entry_point: str
    edges: tuple[Edge, ...]
    # without the edges from a group to its members, which are no handoffs
    digraph: "nx.DiGraph[str]"
    # agents that can be the current one, and groups; not agents that speak only as members
    entered: frozenset[str]
    # by group: the agents whose rules decide after it, if nothing else does
    origins: Mapping[str, set[str]]
    # every edge can be taken; False for a crew too large to play through
    exact: bool

    @classmethod
    def of(cls, routing: Routing, entry_point: str) -> "RoutingGraph":
        """Build the graph."""
        found = explore(routing, entry_point)
        for name in routing.agents:
            # transitions out of agents that nothing leads to are drawn all the same
            if name not in found.reached:
                found.order_targets[name] = {_next_in_order(routing, name)}
        edges = tuple(dict.fromkeys(_edges(routing, found)))
        digraph: nx.DiGraph[str] = nx.DiGraph()
        digraph.add_nodes_from((*routing.agents, *routing.groups, END))
        ways = [edge for edge in edges if edge.kind not in NO_WAYS]
        digraph.add_edges_from((edge.from_, edge.to) for edge in ways)
        return cls(
            routing,
            entry_point,
            edges,
            digraph,
            frozenset(found.reached),
            found.origins,
            found.exact,
        )

    def unreachable(self) -> list[str]:
        """Return agents and groups that no transition leads to, in the order of crew.yaml."""
        reached = self.entered | self.members_only()
        return [n for n in (*self.routing.agents, *self.routing.groups) if n not in reached]

    def drawn(self) -> list[Edge]:
        """Return the edges that a run can take, by their sources.

        Not of those that speak only in groups.

        What a member of a group says leads on from the group.
        """
        hidden = self.members_only()
        edges: dict[str, list[Edge]] = {}
        for edge in self.edges:
            if edge.from_ not in hidden:
                edges.setdefault(edge.from_, []).append(edge)
        return [edge for found in edges.values() for edge in found]

    def members_only(self) -> set[str]:
        """Return agents that only speak as members of groups, on tasks of a plan, or as tools."""
        groups = [g for g in self.routing.groups.values() if g.name in self.entered]
        members = {member for group in groups for member in group.agents}
        for agent, plan in self.routing.plans.items():
            members |= set(plan.workers) if agent in self.entered else set()
        for agent, tools in self.routing.tools.items():
            members |= set(tools) if agent in self.entered | members else set()
        return members - self.entered

    def traps(self) -> list[list[str]]:
        """Return sets of agents and groups that are never left: no end, pause or exit."""
        graph: nx.DiGraph[str] = nx.DiGraph(self.digraph)
        graph.add_edges_from((agent, END) for agent in self.routing.pausing if agent in graph)
        ended: set[str] = nx.ancestors(graph, END)
        trapped = graph.subgraph(self.entered - ended)
        return [sorted(part) for part in nx.weakly_connected_components(trapped)]

    def fewest_handoffs(self) -> int | None:
        """Count the handoffs on the shortest path from the entry to an end or pause, or None."""
        graph: nx.DiGraph[str] = nx.DiGraph(self.digraph)
        graph.add_edges_from((agent, END) for agent in self.routing.pausing if agent in graph)
        if not nx.has_path(graph, self.entry_point, END):
            return None
        return int(nx.shortest_path_length(graph, self.entry_point, END)) - 1

    def loops(self) -> list[list[str]]:
        """Return one shortest cycle, closed, for each set of nodes that lead back to each other."""
        order = {n: place for place, n in enumerate((*self.routing.agents, *self.routing.groups))}
        # a copy: views look every node up again
        entered: nx.DiGraph[str] = nx.DiGraph(self.digraph.subgraph(self.entered))
        if not self.routing.pausing:
            # the order leads only to agents that were not visited since a person's answer
            entered.remove_edges_from(self._order_only_pairs(entered))
        out = []
        for part in nx.strongly_connected_components(entered):
            start = min(part, key=order.__getitem__)
            if len(part) > 1:
                out.append(_shortest_cycle(entered.subgraph(part), start))
            elif entered.has_edge(start, start):
                out.append([start, start])
        return sorted(out)

    def _order_only_pairs(self, graph: "nx.DiGraph[str]") -> list[tuple[str, str]]:
        kept = {(e.from_, e.to) for e in self.edges if e.kind not in ("order", *NO_WAYS)}
        return [pair for pair in graph.edges if pair not in kept]


def _shortest_cycle(part: "nx.DiGraph[str]", start: str) -> list[str]:
    # shortest transitions from everywhere back to the start: one search along the reversed edges
    reverse = part.reverse(copy=False)
    back: dict[str, list[str]] = dict(nx.single_source_shortest_path(reverse, start))
    shortest = min((back[after] for after in part.successors(start)), key=len)
    return [start, *shortest[::-1]]


def _next_in_order(routing: Routing, agent: str) -> str | None:
    """Return where the order leads from an agent before any other was visited."""
    rule = next(rule for rule in routing.rules[agent] if isinstance(rule, OrderRule))
    transition = rule.apply(NO_ANSWER, (agent,))
    return None if transition is None else transition.target


def _edges(routing: Routing, found: Exploration) -> Iterator[Edge]:
    order = {name: place for place, name in enumerate(routing.agents)}
    for agent in routing.agents:
        if agent in routing.pausing and agent in routing.wait_seconds:
            target = routing.on_wait_timeout.get(agent)
            yield Edge(agent, target or END, "no_answer", "no answer")
        if agent in routing.plans:
            yield from (Edge(agent, one, "member") for one in routing.plans[agent].workers)
        yield from (Edge(agent, one, "tool", "tool") for one in routing.tools.get(agent, ()))
        if agent in routing.on_invalid:
            yield Edge(agent, routing.on_invalid[agent], "invalid", "invalid")
        yield from _edges_of_rules(routing.rules[agent], agent, found, order)
    for group in routing.groups.values():
        yield from (Edge(group.name, member, "member") for member in group.agents)
        yield from _edges_of_group(routing, group, found, order)


def _edges_of_group(
    routing: Routing, group: Group, found: Exploration, order: Mapping[str, int]
) -> Iterator[Edge]:
    if group.next_agent is not None:
        yield Edge(group.name, group.next_agent, "group")
        return
    for member in group.agents:
        for transition in member_transitions(routing, member):
            yield from _edge_of(group.name, transition)
    if not any(may_decide_nothing(routing, member) for member in group.agents):
        return
    for origin in sorted(found.origins.get(group.name, ())):
        rules = routing.rules_after_group(origin)
        yield from _edges_of_rules(rules, group.name, found, order)


def _edges_of_rules(
    rules: tuple[Rule, ...], source: str, found: Exploration, order: Mapping[str, int]
) -> Iterator[Edge]:
    """Yield the edges of the rules that can apply; `order`: the place of each agent among all."""
    for rule in rules:
        if isinstance(rule, OrderRule):
            targets = found.order_targets.get(source, set())
            for target in sorted((t for t in targets if t is not None), key=order.__getitem__):
                yield Edge(source, target, "order", "next")
            if None not in targets:
                return
            continue
        for transition in rule.transitions(()):
            yield from _edge_of(source, transition)
        if not rule.conditional:
            return


def _edge_of(source: str, transition: Transition) -> Iterator[Edge]:
    match transition.kind:
        case "pause":
            return
        case "signal":
            assert transition.route is not None, "a signal has its route"
            yield Edge(source, transition.target or END, "signal", transition.route.signal.text)
        case "output":
            yield Edge(source, transition.target or END, "output", transition.label)
        case "plan":
            yield Edge(source, transition.target or END, "plan", "then")
        case "handoff_target" if transition.target is not None:
            yield Edge(source, transition.target, "handoff_target", "target")
        case _:
            yield Edge(source, transition.target or END, "default", END_LABELS[transition.kind])
