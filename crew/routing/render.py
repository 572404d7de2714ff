"""The routing graph as text, mermaid, Graphviz (dot) or JSON."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from crew.routing.graph import END, NO_WAYS, Edge, EdgeKind, RoutingGraph

# what mermaid would take for markup or for the end of a text
MERMAID_SPECIAL = frozenset('"#<>`\\')
# drawn with whole lines: something has decided so
DECIDED: frozenset[EdgeKind] = frozenset({"signal", "output", "group", "plan"})
LABELS = {"handoff_target": "handoff target", "order": "next in order", "group": "all done"}


def render_text(graph: RoutingGraph, untaken: Collection[Edge] = ()) -> str:
    """Render the graph for a terminal: every agent and group with its ways."""
    routing = graph.routing
    unreachable, members_only = set(graph.unreachable()), graph.members_only()
    edges_of: dict[str, list[Edge]] = {}
    for edge in graph.drawn():
        if edge.kind not in NO_WAYS:
            edges_of.setdefault(edge.from_, []).append(edge)
    lines: list[str] = []
    for name in (*routing.agents, *routing.groups):
        marks = _marks(graph, name, members_only)
        if name in unreachable:
            marks.append("unreachable")
        lines.append(f"{name}  ({', '.join(marks)})" if marks else name)
        edges = edges_of.get(name, [])
        for edge in edges:
            branch = "└─" if edge is edges[-1] else "├─"
            never = "  (no rehearsal takes it)" if edge in untaken else ""
            lines.append(f"  {branch} {_label(edge)} → {edge.to}{never}")
    return "\n".join(lines)


def _label(edge: Edge) -> str:
    return LABELS.get(edge.kind, edge.label)


def _marks(graph: RoutingGraph, name: str, members_only: Collection[str]) -> list[str]:
    routing = graph.routing
    group = routing.groups.get(name)
    if group is not None:
        return ["group of " + ", ".join(group.agents)]
    marks = {
        "entry": name == graph.entry_point,
        "terminal": name in routing.terminal,
        "waits for a person": name in routing.pausing,
        "only for others": name in members_only,
    }
    return [mark for mark, holds in marks.items() if holds]


def render_mermaid(graph: RoutingGraph, untaken: Collection[Edge] = ()) -> str:
    """Render a mermaid flowchart.

    Signals on the arrows, ways without one dashed; grey is what is unreachable, or not taken.
    """
    routing, unreachable, edges = graph.routing, graph.unreachable(), graph.drawn()
    names: Sequence[str] = (*routing.agents, *routing.groups, END)
    ids = {name: f"n{place}" for place, name in enumerate(names)}
    lines = ["flowchart TD", f"  start(( )) --> {ids[graph.entry_point]}"]
    for name in routing.agents:
        opening, closing = _mermaid_shape(graph, name)
        lines.append(f'  {ids[name]}{opening}"{_mermaid_text(name)}"{closing}')
    for group in routing.groups.values():
        members = _mermaid_text(", ".join(group.agents))
        lines.append(f'  {ids[group.name]}[["{_mermaid_text(group.name)}<br>{members}"]]')
    if any(edge.to == END for edge in edges):
        lines.append(f"  {ids[END]}(((end)))")
    lines += [f"  {ids[edge.from_]} {_mermaid_arrow(edge)} {ids[edge.to]}" for edge in edges]
    if unreachable:
        grey = ",".join(ids[name] for name in unreachable)
        lines.append("  classDef unreachable fill:#eee,color:#999,stroke:#ccc")
        lines.append(f"  class {grey} unreachable")
    # the arrow of the start is the first one
    numbers = [str(number) for number, edge in enumerate(edges, 1) if edge in untaken]
    if numbers:
        lines.append(f"  linkStyle {','.join(numbers)} stroke:#bbb,color:#999")
    return "\n".join(lines)


def _mermaid_shape(graph: RoutingGraph, name: str) -> tuple[str, str]:
    if name in graph.routing.terminal:
        return "([", "])"
    if name in graph.routing.pausing:
        return "[/", "/]"
    return "[", "]"


def _mermaid_arrow(edge: Edge) -> str:
    if edge.kind == "member":
        return "-.-"
    arrow = "-->" if edge.kind in DECIDED else "-.->"
    return f'{arrow}|"{_mermaid_text(_label(edge))}"|'


def _mermaid_text(text: str) -> str:
    """Return text inside quotes: entities for what would end them or be markup."""
    out = []
    for char in text:
        if char in MERMAID_SPECIAL:
            out.append(f"#{ord(char)};")
        else:
            out.append(" " if char in "\n\r" else char)
    return "".join(out)


def render_dot(graph: RoutingGraph, untaken: Collection[Edge] = ()) -> str:
    """Render the graph for Graphviz."""
    routing = graph.routing
    unreachable, members_only = set(graph.unreachable()), graph.members_only()
    edges = graph.drawn()
    lines = ["digraph crew {", "  rankdir=TB", '  node [shape=box, fontname="sans-serif"]']
    for name in (*routing.agents, *routing.groups):
        label = _dot_text("\n".join([name, *_marks(graph, name, members_only)]))
        peripheries = 2 if name == graph.entry_point else 1
        shape = _dot_shape(graph, name)
        attributes = f"label={label}, peripheries={peripheries}, shape={shape}"
        if name in unreachable:
            attributes += ', color="#999999", fontcolor="#999999"'
        lines.append(f"  {_dot_text(name)} [{attributes}]")
    for edge in edges:
        label = "" if edge.kind == "member" else _label(edge)
        attributes = f"label={_dot_text(label)}, style={_dot_style(edge)}"
        if edge in untaken:
            attributes += ', color="#bbbbbb", fontcolor="#999999"'
        lines.append(f"  {_dot_text(edge.from_)} -> {_dot_text(edge.to)} [{attributes}]")
    if any(edge.to == END for edge in edges):
        lines.append(f'  {_dot_text(END)} [label="end", shape=doublecircle]')
    return "\n".join([*lines, "}"])


def _dot_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _dot_shape(graph: RoutingGraph, name: str) -> str:
    if name in graph.routing.groups:
        return "component"
    return "doubleoctagon" if name in graph.routing.terminal else "box"


def _dot_style(edge: Edge) -> str:
    if edge.kind == "member":
        return "dotted"
    return "solid" if edge.kind in DECIDED else "dashed"


def render_json(graph: RoutingGraph, untaken: Collection[Edge] = ()) -> str:
    """Render the graph as a document: nodes and edges."""
    routing, unreachable = graph.routing, set(graph.unreachable())
    nodes = [
        {
            "id": name,
            "kind": "group" if name in routing.groups else "agent",
            "entry": name == graph.entry_point,
            "terminal": name in routing.terminal,
            "waits_for_signal": name in routing.pausing,
            "reachable": name not in unreachable,
        }
        for name in (*routing.agents, *routing.groups)
    ]
    edges: list[dict[str, Any]] = [
        {"from": edge.from_, "to": edge.to, "kind": edge.kind, "label": edge.label}
        | ({"taken": False} if edge in untaken else {})
        for edge in graph.drawn()
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent=2)


# from a graph, and the edges that no rehearsal takes
RENDERERS: dict[str, Callable[[RoutingGraph, Collection[Edge]], str]] = {
    "text": render_text,
    "mermaid": render_mermaid,
    "dot": render_dot,
    "json": render_json,
}
