"""What of a crew can be covered: routes, answers of people, limits, faults; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from agents.config import AgentConfig
from crew.assembly.checked import Checked
from crew.config.keys.models import models_of
from crew.config.routing_plan import entry_point, routing_of
from crew.routing.graph import END, NO_WAYS, Edge, RoutingGraph
from crew.routing.rules import Routing
from tools.definition import Tool

Area = Literal["routes", "people", "limits", "faults"]
AREAS: tuple[Area, ...] = get_args(Area)
# what the graph calls ends, and by what they are known in `Routing.sources`
ENDS: Mapping[str, Literal["terminal", "default", "end"]] = {
    "terminal": "terminal",
    "default": "default",
    "no next": "end",
}


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a rehearsal can check."""

    area: Area
    # the same for the same thing
    key: str
    text: str
    # `file:line`; "" where nothing in the files says so
    source: str = ""
    # of a route
    edge: Edge | None = None


def units_of(checked: Checked) -> list[Unit]:
    """Return all of a crew without errors."""
    files = checked.files
    routing = routing_of(files, checked.tools.names)
    graph = RoutingGraph.of(routing, entry_point(files))
    return [
        *_routes(graph),
        *_people(routing, graph, checked),
        *_limits(routing, graph, checked),
        *_faults(checked),
    ]


def _routes(graph: RoutingGraph) -> Iterator[Unit]:
    for edge in graph.drawn():
        if edge.kind in NO_WAYS or edge.kind == "no_answer" or edge.from_ not in graph.entered:
            continue
        to = "the end" if edge.to == END else edge.to
        has_label = edge.kind in ("signal", "output") or edge.to == END
        why = edge.label if has_label else edge.kind.replace("_", " ")
        text = f"{edge.from_} {why} → {to}"
        yield Unit("routes", f"route {edge}", text, edge_source(graph.routing, edge), edge)


def edge_source(routing: Routing, edge: Edge) -> str:
    """Return where an edge is written."""
    if edge.kind in ("signal", "output"):
        givers = routing.groups[edge.from_].agents if edge.from_ in routing.groups else ()
        for giver in givers or (edge.from_,):
            for route in routing.routes.get(giver, ()):
                if edge.kind == "signal" and route.signal.text == edge.label:
                    return route.source
            for output in routing.outputs.get(giver, ()):
                if edge.kind == "output" and output.label == edge.label:
                    return output.source or ""
    if edge.kind == "order":
        return routing.source("order", edge.to) or ""
    if edge.kind == "default":
        return routing.source(ENDS[edge.label], edge.from_) or ""
    if edge.kind in ("handoff_target", "group", "invalid", "plan"):
        return routing.source(edge.kind, edge.from_) or ""
    return ""


def _people(routing: Routing, graph: RoutingGraph, checked: Checked) -> Iterator[Unit]:
    for agent in routing.agents:
        if agent in routing.pausing and agent in graph.entered:
            source = routing.source("pause", agent) or ""
            yield Unit("people", f"pause {agent} answered", f"{agent} waits: answered", source)
            if agent in routing.wait_seconds:
                yield Unit("people", f"pause {agent} nobody", f"{agent} waits: nobody", source)
    for name, tool in _tools_in_use(checked).items():
        if (approval := tool.approval) is None:
            continue
        source = _tool_source(checked, name)
        ways = ["approved", "denied"]
        ways += ["deadline"] if approval.deadline_seconds is not None else []
        ways += ["edited"] if approval.may_edit else []
        for way in ways:
            yield Unit("people", f"approval {name} {way}", f"{name}: {way}", source)


def _tools_in_use(checked: Checked) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for agent in _agents(checked).values():
        found |= checked.tools.named(agent.tool_names)
    return found


def _agents(checked: Checked) -> dict[str, AgentConfig]:
    """Return the agents of crew.yaml; there may be files of others."""
    crew = checked.files.crew
    assert crew is not None, "only of a crew without errors"
    return {agent_id: checked.files.agents[agent_id] for agent_id in crew.agents}


def _tool_source(checked: Checked, name: str) -> str:
    document = checked.files.tool_files.get(name)
    if document is None:
        return ""
    return f"{document.file}:{document.key_at(('tools', name))[0]}"


def _limits(routing: Routing, graph: RoutingGraph, checked: Checked) -> Iterator[Unit]:
    if graph.loops():
        yield Unit("limits", "limit max_handoffs", "settings.max_handoffs")
    if any(_may_call_without_end(agent, graph, checked) for agent in _agents(checked).values()):
        yield Unit("limits", "limit max_rounds", "settings.max_rounds")
    document = checked.files.crew_document
    for name in routing.groups:
        if name in graph.entered:
            path = ("routing", "parallel_groups", name)
            source = f"{document.file}:{document.key_at(path)[0]}"
            yield Unit("limits", f"limit {name} timeout", f"{name}: a member is too late", source)
            yield Unit("limits", f"limit {name} failed", f"{name}: all members fail", source)


def _may_call_without_end(agent: AgentConfig, graph: RoutingGraph, checked: Checked) -> bool:
    """Return whether an agent may call tools until the run has made as many rounds as it may.

    Not with calls that each wait for a person: the rounds are counted anew after a pause.
    """
    if agent.on_limit == "answer" and not graph.loops():
        return False
    tools = checked.tools.named(agent.tool_names).values()
    return any(one.approval is None or one.approval.when for one in tools)


def _faults(checked: Checked) -> Iterator[Unit]:
    crew = checked.files.crew
    assert crew is not None, "only of a crew without errors"
    for agent_id, agent in _agents(checked).items():
        if len(list(models_of(agent, crew.models))) > 1:
            document = checked.files.agent_files[agent_id]
            source = f"{document.file}:{document.key_at(('backup',))[0]}"
            yield Unit("faults", f"backup {agent_id}", f"the backup model of {agent_id}", source)
    for name, tool in _tools_in_use(checked).items():
        if tool.effect == "once" and not tool.agent_id:
            text = f"{name}: its process is killed while it acts"
            yield Unit("faults", f"kill {name}", text, _tool_source(checked, name))
