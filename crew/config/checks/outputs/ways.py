"""Typed answers on the ways that runs can take: what no rule takes, what is read too early."""

from collections.abc import Iterator

import networkx as nx

from agents.context.shape import OutputsBlockConfig
from agents.prompt import parse_output_name, variables
from crew.config.crew_files import CrewFiles
from crew.config.keys.crew_file import CrewConfig
from crew.config.outputs import ROUTES
from crew.config.problems import Problem
from crew.routing.coverage import cover
from crew.routing.graph import END, RoutingGraph
from crew.routing.rules import NO_ANSWER, OutputRule, first_transition

# kinds of answers that no rule takes, which a message names
MAX_GAPS = 3


def check_output_use(files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> Iterator[Problem]:
    """Yield what the graph shows of typed answers."""
    for agent_id in crew.agents:
        if agent_id in files.outputs and agent_id in graph.entered:
            yield from _check_gaps(files, graph, agent_id)
    for agent_id in crew.agents:
        if agent_id not in graph.unreachable():
            yield from _check_unset(files, graph, agent_id)
    yield from _check_unread(files, crew, graph)


def _check_gaps(files: CrewFiles, graph: RoutingGraph, agent_id: str) -> Iterator[Problem]:
    """Yield answers that no rule takes, and where they go."""
    routes = graph.routing.outputs.get(agent_id, ())
    if not routes or agent_id in graph.routing.defaults:
        return
    found = cover(files.outputs[agent_id], routes, files.vocabularies)
    if found is None or not found.gaps:
        return
    told = [gap.text for gap in found.gaps[:MAX_GAPS]]
    more = len(found.gaps) - len(told)
    which = "; ".join([*told, *([f"{more} more"] if more else [])])
    text = f"no rule takes answers with {which}; then {_afterwards(graph, agent_id)};"
    text = f"{text} add a rule without `when`, or routing.defaults"
    yield files.crew_document.problem((*ROUTES, agent_id), "output-gap", text, key=True)


def _afterwards(graph: RoutingGraph, agent_id: str) -> str:
    """Return what happens after an answer that no rule by output takes."""
    rules = [one for one in graph.routing.rules[agent_id] if not isinstance(one, OutputRule)]
    transition = first_transition(rules, NO_ANSWER, (agent_id,))
    match transition.kind:
        case "pause":
            return "the run pauses for a person"
        case "order":
            return f"{transition.target}, the next in the list, speaks"
        case _ if transition.target is not None:
            return f"{transition.target} speaks"
        case _:
            return "the run ends"


def _check_unset(files: CrewFiles, graph: RoutingGraph, agent_id: str) -> Iterator[Problem]:
    """Yield typed answers that a prompt reads on a way without the agent that gives them."""
    agent, document = files.agents[agent_id], files.agent_files[agent_id]
    for key in ("system_prompt", "backstory"):
        named = [parse_output_name(one) for one in variables(getattr(agent, key))]
        for giver in dict.fromkeys(one[0] for one in named if one is not None):
            if giver not in files.outputs or giver == agent_id:
                continue
            way = _way_without(graph, giver, agent_id)
            if way is not None:
                text = (
                    f"the prompt of {agent_id} reads the output of {giver}, which is empty on the"
                )
                text = f"{text} way {' → '.join(way)}"
                yield document.problem((key,), "output-unset", text)


def _way_without(graph: RoutingGraph, giver: str, reader: str) -> list[str] | None:
    """Return a way to an agent on which another one gives no answer, if there is one."""
    groups = graph.routing.groups.values()
    ways: nx.DiGraph[str] = nx.DiGraph()
    ways.add_nodes_from(graph.digraph)
    with_giver = {giver, *(group.name for group in groups if giver in group.agents)}
    for edge in graph.drawn():
        if edge.from_ not in with_giver or edge.kind == "member":
            ways.add_edge(edge.from_, edge.to)
    if not nx.has_path(ways, graph.entry_point, reader):
        return None
    found: list[str] = nx.shortest_path(ways, graph.entry_point, reader)
    return found


def _check_unread(files: CrewFiles, crew: CrewConfig, graph: RoutingGraph) -> Iterator[Problem]:
    """Yield typed answers that nothing reads: no rule, prompt, block, person or program."""
    read = {name for name, routes in crew.routing.outputs.items() if routes}
    read |= {one.from_.agent for one in crew.memory.core.values() if one.from_ is not None}
    for agent in files.agents.values():
        texts = (agent.system_prompt, agent.backstory)
        named = [parse_output_name(one) for text in texts for one in variables(text)]
        read |= {one[0] for one in named if one is not None}
        context = crew.context_of(agent)
        for block in (context.blocks or ()) if context is not None else ():
            if isinstance(block, OutputsBlockConfig):
                others = [one for one in files.outputs if one != agent.id]
                read |= set(block.of or others)
    ended = {edge.from_ for edge in graph.edges if edge.to == END}
    for agent_id in crew.agents:
        config = files.agents[agent_id]
        # a run's answer is read by who has started it
        is_read = agent_id in read or agent_id in ended or config.output_text is not None
        if agent_id in files.outputs and not is_read:
            text = f"nothing reads the output of {agent_id}: no rule of routing.outputs, no prompt,"
            text = f"{text} no context block outputs, and no run ends with it"
            document = files.agent_files[agent_id]
            yield document.problem(("output",), "output-unread", text, key=True)
