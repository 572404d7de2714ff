"""From the configuration to the routing that runs decide by."""

from crew.config.loader import CrewFiles
from crew.config.sources import CREW_FILE
from crew.routing.decisions import Group, Route, Routing
from crew.routing.signals import Signal


def is_terminal(files: CrewFiles, agent_id: str) -> bool:
    """Whether a run ends after an agent: its own file and crew.yaml may say so."""
    assert files.crew is not None, "only crews that were read have a plan"
    behavior = files.crew.routing.agent_behaviors.get(agent_id)
    agent = files.agents.get(agent_id)
    return bool(
        (behavior is not None and behavior.is_terminal) or (agent is not None and agent.is_terminal)
    )


def entry_point(files: CrewFiles) -> str:
    """Where a run starts: as configured, else the first agent that is not terminal.

    Else the first.
    """
    assert files.crew is not None, "only crews that were read have a plan"
    agents = files.crew.agents
    return files.crew.entry_point or next(
        (agent for agent in agents if not is_terminal(files, agent)), agents[0]
    )


def routing_of(files: CrewFiles) -> Routing:
    """The routing of a crew whose files hold together."""
    crew = files.crew
    assert crew is not None, "only crews that were read have a plan"
    document, settings = files.crew_document, crew.settings

    def routes(agent: str) -> tuple[Route, ...]:
        return tuple(
            Route(
                Signal.of(config.signal),
                config.target or None,
                config.description,
                f"{CREW_FILE}:{document.value_at(('routing', 'signals', agent, place))[0]}",
            )
            for place, config in enumerate(crew.routing.signals[agent])
        )

    behaviors, listed = crew.routing.agent_behaviors, frozenset(crew.agents)
    return Routing(
        agents=tuple(crew.agents),
        routes={agent: routes(agent) for agent in crew.routing.signals},
        defaults={agent: target or None for agent, target in crew.routing.defaults.items()},
        handoff_targets={
            agent.id: None if agent.handoff_targets is None else tuple(agent.handoff_targets)
            for agent in files.agents.values()
            if agent.id in listed
        },
        waits=frozenset(agent for agent, behavior in behaviors.items() if behavior.wait_for_signal),
        terminal=frozenset(agent for agent in crew.agents if is_terminal(files, agent)),
        no_auto_route=frozenset(
            agent for agent, behavior in behaviors.items() if not behavior.auto_route
        ),
        wait_seconds={
            agent: behavior.wait_timeout_seconds
            for agent, behavior in behaviors.items()
            if behavior.wait_timeout_seconds is not None
        },
        unanswered={
            agent: behavior.on_wait_timeout or None for agent, behavior in behaviors.items()
        },
        groups={
            name: Group(
                name,
                tuple(group.agents),
                group.wait_for_all,
                group.timeout_seconds or settings.parallel_timeout_seconds,
                group.next_agent or None,
            )
            for name, group in crew.routing.parallel_groups.items()
        },
    )
