"""From the configuration to the routing by which runs decide."""

from collections.abc import Mapping, Sequence

from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.keys.crew_file import CrewConfig
from crew.config.outputs import make_routes
from crew.routing.coverage import cover
from crew.routing.outputs import OutputRoute
from crew.routing.rules import PlanWay, Route, Routing, SourceKey
from crew.routing.signals import Signal
from crew.routing.steps import Group
from tools.config import AgentTool

# of an agent's behaviour in crew.yaml, what makes transitions
BEHAVIOR_KEYS: Mapping[SourceKey, str] = {
    "no_answer": "on_wait_timeout",
    "pause": "wait_for_signal",
    "terminal": "is_terminal",
    "end": "auto_route",
}


def is_terminal(files: CrewFiles, agent_id: str) -> bool:
    """Return whether a run ends after an agent: its own file and crew.yaml may say so."""
    assert files.crew is not None, "only crews that were read have a routing"
    behavior = files.crew.routing.agent_behaviors.get(agent_id)
    agent = files.agents.get(agent_id)
    in_crew = behavior is not None and behavior.is_terminal
    return bool(in_crew or (agent is not None and agent.is_terminal))


def entry_point(files: CrewFiles) -> str:
    """Return where a run starts.

    As configured, or the first agent that is not terminal, or the first.
    """
    assert files.crew is not None, "only crews that were read have a routing"
    if files.crew.entry_point:
        return files.crew.entry_point
    only = workers_only(files)
    agents = [one for one in files.crew.agents if one not in only] or files.crew.agents
    return next((agent for agent in agents if not is_terminal(files, agent)), agents[0])


def workers_only(files: CrewFiles) -> frozenset[str]:
    """Return the agents that speak on tasks or as tools, and that nothing else leads to."""
    crew, agents = files.crew, files.agents.values()
    assert crew is not None, "only crews that were read have a routing"
    workers = {name for one in agents if one.plan is not None for name in one.plan.workers}
    workers |= {one.agent for one in files.tools.values() if isinstance(one, AgentTool)}
    if not workers:
        return frozenset()
    routing = crew.routing
    named = {crew.entry_point, *crew.settings.client_start_agents, *routing.defaults.values()}
    named |= {one.target for routes in routing.signals.values() for one in routes}
    named |= {one.target for routes in routing.outputs.values() for one in routes}
    named |= {one.on_wait_timeout for one in routing.agent_behaviors.values()}
    for group in routing.parallel_groups.values():
        named |= {group.next_agent, *group.agents}
    for started in (crew.hooks, crew.schedules):
        named |= {one.agent for one in started.values()}
    for one in agents:
        named |= {one.on_invalid, *(one.handoff_targets or ())}
        named |= {one.plan.then} if one.plan is not None else set()
    return frozenset(workers - named)


def routing_of(files: CrewFiles, tools: Mapping[str, object]) -> Routing:
    """Return the routing of a crew.

    Args:
        files: of a crew without errors in its routing.
        tools: by name; each says by `requires_approval` whether a person decides.
    """
    crew = files.crew
    assert crew is not None, "only crews that were read have a routing"
    behaviors, listed = crew.routing.agent_behaviors, frozenset(crew.agents)
    agents = [agent for agent in files.agents.values() if agent.id in listed]
    plans = {
        one.id: PlanWay(tuple(one.plan.workers), one.plan.then)
        for one in agents
        if one.plan is not None
    }
    asks = {agent.id for agent in agents if has_approvals(files, agent.id, tools)}
    asks |= {one.id for one in agents if not asks.isdisjoint(agents_as_tools(files, one.id))}
    asks |= {name for name, plan in plans.items() if not asks.isdisjoint(plan.workers)}
    outputs = {
        agent: make_routes(
            agent, given, files.outputs[agent], files.vocabularies, files.crew_document
        )
        for agent, given in crew.routing.outputs.items()
        if agent in files.outputs
    }
    wait_seconds = {name: one.wait_timeout_seconds for name, one in behaviors.items()}
    return Routing(
        agents=tuple(crew.agents),
        routes={agent: _routes(crew, files.crew_document, agent) for agent in crew.routing.signals},
        defaults={agent: target or None for agent, target in crew.routing.defaults.items()},
        handoff_targets={
            agent.id: None if agent.handoff_targets is None else tuple(agent.handoff_targets)
            for agent in agents
        },
        waits=frozenset(name for name, one in behaviors.items() if one.wait_for_signal),
        terminal=frozenset(agent for agent in crew.agents if is_terminal(files, agent)),
        no_auto_route=frozenset(name for name, one in behaviors.items() if not one.auto_route),
        wait_seconds={name: one for name, one in wait_seconds.items() if one is not None},
        on_wait_timeout={name: one.on_wait_timeout or None for name, one in behaviors.items()},
        asks=frozenset(asks),
        groups=_groups(crew),
        sources=_sources(files, crew),
        outputs=outputs,
        complete=frozenset(agent for agent in outputs if _takes_all(files, agent, outputs[agent])),
        on_invalid={agent.id: agent.on_invalid for agent in agents if agent.on_invalid},
        plans=plans,
        tools={name: found for name in listed if (found := agents_as_tools(files, name))},
        workers_only=workers_only(files) & listed,
    )


def _takes_all(files: CrewFiles, agent: str, routes: Sequence[OutputRoute]) -> bool:
    """Return whether some route takes every answer of an agent."""
    found = cover(files.outputs[agent], routes, files.vocabularies)
    return bool(routes) and found is not None and not found.gaps


def agents_as_tools(files: CrewFiles, agent_id: str) -> tuple[str, ...]:
    """Return the agents that an agent has as tools."""
    agent = files.agents.get(agent_id)
    named = [files.tools.get(name) for name in agent.tools] if agent is not None else []
    return tuple(one.agent for one in named if isinstance(one, AgentTool))


def has_approvals(files: CrewFiles, agent_id: str, tools: Mapping[str, object]) -> bool:
    """Return whether an agent has a tool that needs a person's approval."""
    names = files.agents[agent_id].tools
    return any(getattr(tools.get(name), "requires_approval", None) for name in names)


def _routes(crew: CrewConfig, document: Document, agent: str) -> tuple[Route, ...]:
    routes = []
    for place, config in enumerate(crew.routing.signals[agent]):
        source = file_line(document, ("routing", "signals", agent, place))
        signal = Signal.of(config.signal)
        routes.append(Route(signal, config.target or None, config.description, source))
    return tuple(routes)


def _sources(files: CrewFiles, crew: CrewConfig) -> dict[tuple[SourceKey, str], str]:
    """Return the lines of the ways that follow no signal."""
    routing = crew.routing
    paths: dict[tuple[SourceKey, str], YamlPath] = {
        **{("order", agent): ("agents", place) for place, agent in enumerate(crew.agents)},
        **{("default", agent): ("routing", "defaults", agent) for agent in routing.defaults},
        **{
            ("group", name): ("routing", "parallel_groups", name, "next_agent")
            for name, group in routing.parallel_groups.items()
            if group.next_agent
        },
        **{
            (kind, name): ("routing", "agent_behaviors", name, key)
            for name, behavior in routing.agent_behaviors.items()
            for kind, key in BEHAVIOR_KEYS.items()
            if key in behavior.model_fields_set
        },
    }
    sources = {key: file_line(files.crew_document, path) for key, path in paths.items()}
    for agent_id, agent in files.agents.items():
        document = files.agent_files[agent_id]
        if agent.handoff_targets is not None:
            sources["handoff_target", agent_id] = file_line(document, ("handoff_targets",))
        if agent.plan is not None and agent.plan.then is not None:
            sources["plan", agent_id] = file_line(document, ("plan", "then"))
        if agent.on_invalid:
            sources["invalid", agent_id] = file_line(document, ("on_invalid",))
        if agent.is_terminal:
            sources["terminal", agent_id] = file_line(document, ("is_terminal",))
    return sources


def file_line(document: Document, path: YamlPath, *, key: bool = False) -> str:
    """Return where a value stands, or its key, as `file:line`."""
    written = document.as_written(path)
    line, _ = document.key_at(written) if key else document.value_at(written)
    return f"{document.file}:{line}"


def _groups(crew: CrewConfig) -> dict[str, Group]:
    groups = {}
    for name, group in crew.routing.parallel_groups.items():
        seconds = group.timeout_seconds or crew.settings.parallel_timeout_seconds
        members, next_agent = tuple(group.agents), group.next_agent or None
        groups[name] = Group(name, members, group.wait_for_all, seconds, next_agent)
    return groups
