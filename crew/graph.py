"""The routing graph: what can be reached, what can never be left, which loops there are."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import networkx as nx

from crew.routing import Routing

END = "(end)"
EdgeKind = Literal["signal", "default", "handoff_target", "order", "member", "group"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from an agent or a group to another, or to the end."""

    from_: str
    to: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True)
class RoutingGraph:
    """The graph of a crew: agents, groups and the end as nodes."""

    routing: Routing
    entry_point: str
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, routing: Routing, entry_point: str) -> "RoutingGraph":
        """Build the graph."""
        return cls(routing, entry_point, tuple(dict.fromkeys(_edges(routing))))

    def _digraph(self, *, members: bool) -> "nx.DiGraph[str]":
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from((*self.routing.agents, *self.routing.groups, END))
        graph.add_edges_from((edge.from_, edge.to) for edge in self.edges if members or edge.kind != "member")
        return graph

    def unreachable(self) -> list[str]:
        """Agents and groups that no way leads to, in the order of crew.yaml."""
        graph = self._digraph(members=True)
        reached = {self.entry_point, *nx.descendants(graph, self.entry_point)} if self.entry_point in graph else set()
        return [name for name in (*self.routing.agents, *self.routing.groups) if name not in reached]

    def traps(self) -> list[list[str]]:
        """Sets of agents and groups that can be entered and never left: no end, no pause, no way out."""
        graph = self._digraph(members=False)
        graph.add_edges_from((agent, END) for agent in self.routing.waits if agent in graph)
        ended = nx.ancestors(graph, END)
        stuck = graph.subgraph([node for node in self._entered(graph) if node not in ended and node != END])
        return [sorted(part) for part in nx.weakly_connected_components(stuck)]

    def loops(self) -> list[list[str]]:
        """For each knot of ways that lead back: one shortest way round, first name first again at the end."""
        order = {name: place for place, name in enumerate((*self.routing.agents, *self.routing.groups, END))}
        graph = self._digraph(members=False)
        entered = graph.subgraph(self._entered(graph))
        out = []
        for part in nx.strongly_connected_components(entered):
            knot = entered.subgraph(part)
            start = min(part, key=lambda name: order[name])
            if len(part) > 1:
                out.append(self._way_round(knot, start))
            elif knot.has_edge(start, start):
                out.append([start, start])
        return sorted(out)

    def _way_round(self, knot: "nx.DiGraph[str]", start: str) -> list[str]:
        # shortest ways from everywhere back to the start: one search along the reversed arrows
        back: dict[str, list[str]] = dict(nx.single_source_shortest_path(knot.reverse(copy=False), start))
        shortest = min((back[after] for after in knot.successors(start)), key=len)
        return [start, *shortest[::-1]]

    def _entered(self, graph: "nx.DiGraph[str]") -> set[str]:
        return {self.entry_point, *nx.descendants(graph, self.entry_point)} if self.entry_point in graph else set()


def _edges(routing: Routing) -> Iterator[Edge]:
    after = dict(itertools.pairwise(routing.agents))
    for agent in routing.agents:
        for route in routing.routes.get(agent, ()):
            yield Edge(agent, route.target or END, "signal", route.signal.text)
        if agent not in routing.waits:
            yield from _fallback(routing, agent, agent, after)
    origins: dict[str, set[str]] = {group: set() for group in routing.groups}
    for agent in routing.agents:
        for name in _targets(routing, agent):
            origins[name].add(agent)
    _pass_on(routing, origins)
    for group in routing.groups.values():
        for member in group.agents:
            yield Edge(group.name, member, "member")
        if group.next_agent is not None:
            yield Edge(group.name, group.next_agent, "group")
            continue
        for member in group.agents:
            for route in routing.routes.get(member, ()):
                yield Edge(group.name, route.target or END, "signal", route.signal.text)
        # without a deciding signal it goes on from the agent that led to it
        for origin in sorted(origins[group.name]):
            yield from _fallback(routing, origin, group.name, after)


def _pass_on(routing: Routing, origins: dict[str, set[str]]) -> None:
    """A group that another group's `next_agent` leads to goes on from the first one's origins."""
    waiting = [group for group in routing.groups.values() if origins[group.name]]
    while waiting:
        group = waiting.pop()
        after = routing.groups.get(group.next_agent or "")
        if after is not None and not origins[group.name] <= origins[after.name]:
            origins[after.name] |= origins[group.name]
            waiting.append(after)


def _targets(routing: Routing, agent: str) -> list[str]:
    """The groups that an agent may lead to."""
    targets = (
        [route.target for route in routing.routes.get(agent, ())]
        + [routing.defaults.get(agent)]
        + list(routing.handoff_targets.get(agent) or ())
    )
    return [target for target in targets if target is not None and target in routing.groups]


def _fallback(routing: Routing, agent: str, from_: str, after: Mapping[str, str]) -> Iterator[Edge]:
    """Where an agent's words lead when they hold no signal; `after`: the next one in the order of crew.yaml."""
    others = [target for target in routing.handoff_targets.get(agent) or () if target != agent]
    if agent in routing.terminal and from_ == agent:
        yield Edge(from_, END, "default", "terminal")
    elif agent in routing.defaults:
        yield Edge(from_, routing.defaults[agent] or END, "default", "default")
    elif others:
        yield Edge(from_, others[0], "handoff_target", "target")
    else:
        # the order leads to agents that have not spoken, so it comes to its end
        if agent in after and agent not in routing.no_auto_route and routing.handoff_targets.get(agent) is None:
            yield Edge(from_, after[agent], "order", "next")
        yield Edge(from_, END, "default", "no next")
