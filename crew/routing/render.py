"""Pictures of the routing graph: text, mermaid, Graphviz, JSON."""

import json
from collections.abc import Callable, Collection, Sequence

from crew.routing.graph import END, Edge, RoutingGraph


def as_text(graph: RoutingGraph) -> str:
    """The graph for a terminal: every agent and group with its ways."""
    routing = graph.routing
    unreachable, alone, ways_of = set(graph.unreachable()), graph.members_only(), _ways(graph)
    lines: list[str] = []
    for name in (*routing.agents, *routing.groups):
        marks = _marks(graph, name, alone) + (["unreachable"] if name in unreachable else [])
        lines.append(name + (f"  ({', '.join(marks)})" if marks else ""))
        ways = [edge for edge in ways_of.get(name, ()) if edge.kind != "member"]
        for place, edge in enumerate(ways):
            branch = "└─" if place == len(ways) - 1 else "├─"
            lines.append(f"  {branch} {_way(edge)} → {edge.to}")
    return "\n".join(lines)


def _ways(graph: RoutingGraph) -> dict[str, list[Edge]]:
    """By agent and group: the ways that a run can go."""
    hidden, ways = graph.members_only(), dict[str, list[Edge]]()
    for edge in graph.edges:
        if edge.from_ not in hidden:
            ways.setdefault(edge.from_, []).append(edge)
    return ways


def _drawn(graph: RoutingGraph) -> list[Edge]:
    return [edge for ways in _ways(graph).values() for edge in ways]


def _way(edge: Edge) -> str:
    return {
        "signal": edge.label,
        "default": edge.label,
        "no_answer": edge.label,
        "handoff_target": "handoff target",
        "order": "next in order",
        "group": "all done",
    }.get(edge.kind, edge.kind)


def _marks(graph: RoutingGraph, name: str, members_only: Collection[str]) -> list[str]:
    routing = graph.routing
    group = routing.groups.get(name)
    if group is not None:
        return ["group of " + ", ".join(group.agents)]
    marks = {
        "entry": name == graph.entry_point,
        "terminal": name in routing.terminal,
        "waits for a person": name in routing.waits,
        "only in a group": name in members_only,
    }
    return [mark for mark, holds in marks.items() if holds]


def as_mermaid(graph: RoutingGraph) -> str:
    """The graph as a mermaid flowchart.

    Signals on the arrows, defaults dashed, unreachable agents greyed.
    """
    routing, unreachable, edges = graph.routing, graph.unreachable(), _drawn(graph)
    names: Sequence[str] = (*routing.agents, *routing.groups, END)
    ids = {name: f"n{place}" for place, name in enumerate(names)}
    lines = ["flowchart TD", f"  start(( )) --> {ids[graph.entry_point]}"]
    for name in routing.agents:
        opening, closing = (
            ("([", "])")
            if name in routing.terminal
            else ("[/", "/]")
            if name in routing.waits
            else ("[", "]")
        )
        lines.append(f'  {ids[name]}{opening}"{_quoted(name)}"{closing}')
    lines += [
        f'  {ids[g.name]}[["{_quoted(g.name)}<br>{_quoted(", ".join(g.agents))}"]]'
        for g in routing.groups.values()
    ]
    if any(edge.to == END for edge in edges):
        lines.append(f"  {ids[END]}(((end)))")
    for edge in edges:
        if edge.kind == "member":
            lines.append(f"  {ids[edge.from_]} -.- {ids[edge.to]}")
        elif edge.kind == "signal":
            lines.append(f'  {ids[edge.from_]} -->|"{_quoted(edge.label)}"| {ids[edge.to]}')
        else:
            arrow = "-->" if edge.kind == "group" else "-.->"
            lines.append(f'  {ids[edge.from_]} {arrow}|"{_quoted(_way(edge))}"| {ids[edge.to]}')
    if unreachable:
        lines += [
            "  classDef unreachable fill:#eee,color:#999,stroke:#ccc",
            f"  class {','.join(ids[name] for name in unreachable)} unreachable",
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Text inside quotes of mermaid: entities for what would end them or be markup."""
    return "".join(
        f"#{ord(char)};" if char in '"#<>`\\' else " " if char in "\n\r" else char for char in text
    )


def as_dot(graph: RoutingGraph) -> str:
    """The graph for Graphviz."""
    routing, unreachable, alone = graph.routing, set(graph.unreachable()), graph.members_only()
    edges = _drawn(graph)
    lines = ["digraph crew {", "  rankdir=TB", '  node [shape=box, fontname="sans-serif"]']
    for name in (*routing.agents, *routing.groups):
        shape = (
            "component"
            if name in routing.groups
            else "doubleoctagon"
            if name in routing.terminal
            else "box"
        )
        marks = [f"peripheries={2 if name == graph.entry_point else 1}", f"shape={shape}"] + (
            ['color="#999999"', 'fontcolor="#999999"'] if name in unreachable else []
        )
        label = json.dumps("\n".join([name, *_marks(graph, name, alone)]), ensure_ascii=False)
        lines.append(f"  {json.dumps(name)} [label={label}, {', '.join(marks)}]")
    for edge in edges:
        style = (
            "dotted"
            if edge.kind == "member"
            else "solid"
            if edge.kind in ("signal", "group")
            else "dashed"
        )
        label = "" if edge.kind == "member" else _way(edge)
        lines.append(
            f"  {json.dumps(edge.from_)} -> {json.dumps(edge.to)} [label={json.dumps(label, ensure_ascii=False)}, style={style}]"
        )
    if any(edge.to == END for edge in edges):
        lines.append(f'  {json.dumps(END)} [label="end", shape=doublecircle]')
    return "\n".join([*lines, "}"])


def as_json(graph: RoutingGraph) -> str:
    """The graph as a document: nodes and edges."""
    routing, unreachable = graph.routing, set(graph.unreachable())
    nodes = [
        {
            "id": name,
            "kind": "group" if name in routing.groups else "agent",
            "entry": name == graph.entry_point,
            "terminal": name in routing.terminal,
            "waits_for_signal": name in routing.waits,
            "reachable": name not in unreachable,
        }
        for name in (*routing.agents, *routing.groups)
    ]
    edges = [
        {"from": edge.from_, "to": edge.to, "kind": edge.kind, "label": edge.label}
        for edge in _drawn(graph)
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent=2)


PICTURES: dict[str, Callable[[RoutingGraph], str]] = {
    "text": as_text,
    "mermaid": as_mermaid,
    "dot": as_dot,
    "json": as_json,
}
