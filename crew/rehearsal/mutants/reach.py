"""Whether a change can make a difference at all; pure."""

import networkx as nx

from crew.assembly.checked import Checked
from crew.config.routing_plan import entry_point, routing_of
from crew.routing.graph import RoutingGraph
from crew.routing.rules import Routing


def has_same_routing(then: Checked, now: Checked) -> bool:
    """Return whether the live rules of two crews lead the same ways, from where runs begin.

    A rule behind one that always applies leads nowhere.
    """
    first, second = (_routing(one) for one in (then, now))
    if entry_point(then.files) != entry_point(now.files):
        return False
    graphs = [RoutingGraph.of(one, entry_point(then.files)) for one in (first, second)]
    return (
        graphs[0].edges == graphs[1].edges
        and first.groups == second.groups
        and first.pausing == second.pausing
        and first.wait_seconds == second.wait_seconds
    )


def is_out_of_reach(checked: Checked, limit: str, value: float, other: float) -> bool:
    """Return whether no run comes to a limit, whichever of two values it has.

    Args:
        checked: a crew without errors.
        limit: of settings.
        value: as it is.
        other: as it would be.
    """
    is_counted = limit == "max_handoffs" or (limit == "max_rounds" and _speaks_once(checked))
    if not is_counted:
        return False
    graph = RoutingGraph.of(_routing(checked), entry_point(checked.files))
    # a person's answer begins to count anew, at the agent that has paused
    reached: nx.DiGraph[str] = nx.DiGraph(graph.digraph.subgraph(graph.entered))
    if not nx.is_directed_acyclic_graph(reached):
        return False
    # the first agent speaks before any handoff
    most = nx.dag_longest_path_length(reached) + (limit == "max_rounds")
    return bool(most <= min(value, other))


def _speaks_once(checked: Checked) -> bool:
    """Return whether each agent has one model call in a turn: no tools, no plans."""
    crew = checked.files.crew
    assert crew is not None, "only of a crew without errors"
    agents = [checked.files.agents[name] for name in crew.agents]
    return not any(
        one.tool_names or one.documents or one.output is not None or one.plan is not None
        for one in agents
    )


def _routing(checked: Checked) -> Routing:
    return routing_of(checked.files, checked.tools.names)
