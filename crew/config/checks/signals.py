"""The signals of each agent, compared with each other, and the members of each group."""

from collections.abc import Iterator, Mapping

from crew.config.checks.agents import repeated
from crew.config.crew_file import CrewConfig, GroupConfig
from crew.config.document import YamlPath
from crew.config.loader import CrewFiles
from crew.config.problems import Problem
from crew.routing.rules import MAX_COMPARED
from crew.routing.signals import Signal


def check_signals(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Signals of one agent that are the same, or contain each other."""
    document = files.crew_document
    for agent, routes in crew.routing.signals.items():
        signals = [Signal.of(route.signal) for route in routes]
        first: dict[str, Signal] = {}
        for place, signal in enumerate(signals):
            path = ("routing", "signals", agent, place, "signal")
            if not signal.normal:
                yield document.problem(path, "empty-signal", "a signal needs a text")
                continue
            same = first.setdefault(signal.normal, signal)
            if same is not signal:
                text = f"{agent} has the signal {same.text!r} already; case and spaces do not count"
                yield document.problem(path, "signal-twice", text)
                continue
            if len(signals) > MAX_COMPARED:
                continue
            for other in signals[:place]:
                if other.occurs(signal.normal) or signal.occurs(other.normal):
                    text = f"where one of {other.text!r} and {signal.text!r} is written"
                    text = f"{text}, both are found; the first in this list wins"
                    yield document.problem(path, "signal-in-signal", text)


def check_groups(
    files: CrewFiles, crew: CrewConfig, tools: Mapping[str, object]
) -> Iterator[Problem]:
    """Groups with wrong members or a wrong name."""
    document = files.crew_document
    for name, group in crew.routing.parallel_groups.items():
        path: YamlPath = ("routing", "parallel_groups", name)
        if name in crew.agents:
            text = f"{name} is an agent's name too"
            yield document.problem(path, "group-name", text, key=True)
        if not group.agents:
            text = f"group {name} has no agents"
            yield document.problem((*path, "agents"), "empty-group", text)
        for place in repeated(group.agents):
            text = f"{group.agents[place]} is in group {name} twice"
            yield document.problem((*path, "agents", place), "member-twice", text)
        yield from _check_approvals(files, group, path, tools)


def _check_approvals(
    files: CrewFiles, group: GroupConfig, path: YamlPath, tools: Mapping[str, object]
) -> Iterator[Problem]:
    """Tools whose calls a person must approve, which a member cannot wait for."""
    for place, member in enumerate(group.agents):
        agent = files.agents.get(member)
        for tool in agent.tools if agent is not None else ():
            if getattr(tools.get(tool), "requires_approval", None):
                text = f"{member} has the tool {tool}, which requires approval"
                text = f"{text}; a member of a group cannot wait for a person"
                place_ = (*path, "agents", place)
                yield files.crew_document.problem(place_, "approval-in-group", text)
