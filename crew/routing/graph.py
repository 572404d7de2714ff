"""The routing graph: what can be reached, what can never be left, which loops there are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import networkx as nx

from crew.routing.decisions import Group, Routing

END = "(end)"
EdgeKind = Literal["signal", "default", "handoff_target", "order", "member", "group", "no_answer"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One way from an agent or a group to another, or to the end."""

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
    # without the ways from a group to its members, which are no handoffs
    digraph: "nx.DiGraph[str]"
    # agents that can be the current one, and groups; an agent that only speaks as a member is not
    # among them
    entered: frozenset[str]

    @classmethod
    def of(cls, routing: Routing, entry_point: str) -> "RoutingGraph":
        """Build the graph."""
        edges = tuple(dict.fromkeys(_edges(routing, entry_point)))
        digraph: nx.DiGraph[str] = nx.DiGraph()
        digraph.add_nodes_from((*routing.agents, *routing.groups, END))
        digraph.add_edges_from((edge.from_, edge.to) for edge in edges if edge.kind != "member")
        return cls(
            routing, entry_point, edges, digraph, _entered(routing, entry_point, edges, digraph)
        )

    def unreachable(self) -> list[str]:
        """Agents and groups that no way leads to, in the order of crew.yaml."""
        reached = self.entered | self.members_only()
        return [
            name for name in (*self.routing.agents, *self.routing.groups) if name not in reached
        ]

    def members_only(self) -> set[str]:
        """Agents that only speak as members.

        Where they themselves would lead on to is never looked at.
        """
        groups = (group for group in self.routing.groups.values() if group.name in self.entered)
        return {member for group in groups for member in group.agents} - self.entered

    def traps(self) -> list[list[str]]:
        """Sets of agents and groups that can be entered and never left.

        No end, no pause, no way out.
        """
        graph: nx.DiGraph[str] = nx.DiGraph(self.digraph)
        graph.add_edges_from((agent, END) for agent in self.routing.waits if agent in graph)
        ended: set[str] = nx.ancestors(graph, END)
        return [
            sorted(part)
            for part in nx.weakly_connected_components(graph.subgraph(self.entered - ended))
        ]

    def loops(self) -> list[list[str]]:
        """For each knot of ways that lead back.

        One shortest way round, first name first again at the end.
        """
        order = {
            name: place for place, name in enumerate((*self.routing.agents, *self.routing.groups))
        }
        # a copy: views look every node up again
        entered: nx.DiGraph[str] = nx.DiGraph(self.digraph.subgraph(self.entered))
        if not self.routing.waits:
            # the order leads nobody back: it goes to those who have not spoken since a person has
            kept = {
                (edge.from_, edge.to) for edge in self.edges if edge.kind not in ("order", "member")
            }
            entered.remove_edges_from([edge for edge in entered.edges if edge not in kept])
        out = []
        for part in nx.strongly_connected_components(entered):
            start = min(part, key=order.__getitem__)
            if len(part) > 1:
                out.append(self._way_round(entered.subgraph(part), start))
            elif entered.has_edge(start, start):
                out.append([start, start])
        return sorted(out)

    def _way_round(self, knot: "nx.DiGraph[str]", start: str) -> list[str]:
        # shortest ways from everywhere back to the start: one search along the reversed arrows
        back: dict[str, list[str]] = dict(
            nx.single_source_shortest_path(knot.reverse(copy=False), start)
        )
        shortest = min((back[after] for after in knot.successors(start)), key=len)
        return [start, *shortest[::-1]]


def _entered(
    routing: Routing, entry_point: str, edges: Iterable[Edge], digraph: "nx.DiGraph[str]"
) -> frozenset[str]:
    """What can be reached, also where the order leads past agents that have spoken."""
    if entry_point not in digraph:
        return frozenset()
    graph: nx.DiGraph[str | int] = nx.DiGraph(digraph)
    members = {member for group in routing.groups.values() for member in group.agents}
    again = {
        name for part in nx.strongly_connected_components(digraph) if len(part) > 1 for name in part
    }
    # a number stands for a place in the order, from which the agent there is next, or the place
    # behind it
    for place, name in enumerate(routing.agents):
        graph.add_edge(place, name)
        if name in again or name in members or name == entry_point:
            graph.add_edge(place, place + 1)
    places = {name: place for place, name in enumerate(routing.agents)}
    graph.add_edges_from((edge.from_, places[edge.to]) for edge in edges if edge.kind == "order")
    reached = nx.descendants(graph, entry_point)
    return frozenset({entry_point, *(name for name in reached if isinstance(name, str))} - {END})


def _edges(routing: Routing, entry_point: str) -> Iterator[Edge]:
    places = {agent: place for place, agent in enumerate(routing.agents)}
    for agent in routing.agents:
        for route in routing.routes.get(agent, ()):
            yield Edge(agent, route.target or END, "signal", route.signal.text)
        if agent in routing.waits and agent in routing.wait_seconds:
            yield Edge(agent, routing.unanswered.get(agent) or END, "no_answer", "no answer")
        if agent not in routing.waits:
            yield from _fallback(routing, entry_point, places, agent)
    origins = group_origins(routing)
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
            yield from _fallback(routing, entry_point, places, origin, group)


def group_origins(routing: Routing) -> dict[str, set[str]]:
    """The agents whose defaults, targets and place in the order say where each group goes on.

    If nothing else does.
    """
    origins: dict[str, set[str]] = {group: set() for group in routing.groups}
    for agent in routing.agents:
        for name in _targets(routing, agent):
            origins[name].add(agent)
    _pass_on(routing, origins)
    return origins


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
        + [routing.defaults.get(agent), routing.unanswered.get(agent)]
        + list(routing.handoff_targets.get(agent) or ())
    )
    return [target for target in targets if target is not None and target in routing.groups]


def _fallback(
    routing: Routing,
    entry_point: str,
    places: Mapping[str, int],
    agent: str,
    group: Group | None = None,
) -> Iterator[Edge]:
    """Where an agent's words lead when they hold no signal, or a group that it led to."""
    from_ = agent if group is None else group.name
    others = [target for target in routing.handoff_targets.get(agent) or () if target != agent]
    if agent in routing.terminal and group is None:
        yield Edge(from_, END, "default", "terminal")
    elif agent in routing.defaults:
        yield Edge(from_, routing.defaults[agent] or END, "default", "default")
    elif others:
        yield Edge(from_, others[0], "handoff_target", "target")
    else:
        # the order leads to agents that have not spoken, so it comes to its end
        if agent not in routing.no_auto_route and routing.handoff_targets.get(agent) is None:
            yield from (
                Edge(from_, name, "order", "next")
                for name in _next(routing, entry_point, places, agent, group)
            )
        yield Edge(from_, END, "default", "no next")


def _next(
    routing: Routing, entry_point: str, places: Mapping[str, int], agent: str, group: Group | None
) -> Iterator[str]:
    """The next agents in the order of crew.yaml: the first that may not have spoken."""
    spoken = frozenset(group.agents) if group is not None else frozenset()
    for place in range(places[agent] + 1, len(routing.agents)):
        name = routing.agents[place]
        # the entry has spoken, unless a person's answer began a stretch elsewhere
        if name == entry_point and not routing.waits:
            continue
        if name not in spoken:
            yield name
            if name != entry_point:
                return
