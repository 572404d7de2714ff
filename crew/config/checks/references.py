"""Names in crew.yaml that nothing has: agents, groups, entries."""

from collections.abc import Collection, Iterator
from pathlib import Path

from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document, YamlPath
from crew.config.files.sources import CREW_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import ErrorCode, Problem

GROUPS: YamlPath = ("routing", "parallel_groups")
CODES: dict[str, ErrorCode] = {
    "agent": "unknown-agent",
    "agent or group": "unknown-agent",
    "tool": "unknown-tool",
    "provider": "unknown-provider",
    "channel": "unknown-channel",
}
# what other frameworks write for the end of a run
END_WORDS = frozenset(
    {
        *("end", "done", "stop", "finish", "terminate", "exit", "quit", "final", "finished"),
        *("none", "null", "nil", "nobody", "terminal", "completed"),
    }
)
# names that a message lists
MAX_LISTED = 12


def unknown_name(
    document: Document,
    path: YamlPath,
    what: str,
    name: str,
    known: Collection[str],
    *,
    key: bool = False,
) -> Problem:
    """Return the problem of a name that nothing has; `what`: a key of CODES."""
    near = document.near(name, known)
    text = f"unknown {what} {name!r}"
    if known and near is None:
        text = f"{text}; known: {', '.join(sorted(known)[:MAX_LISTED])}"
    return document.problem(path, CODES[what], text, key=key, suggestion=near)


def check_references(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield every name in crew.yaml that nothing has."""
    yield from _check_listed(files, crew)
    document, agents = files.crew_document, known_agents(files, crew)
    groups = files.names_in(CREW_FILE, GROUPS)
    for path, name, key in _named_agents(crew):
        if name is not None and name not in agents:
            if groups is not None and name in groups:
                text = f"{name!r} is a group; only an agent can stand here"
                yield document.problem(path, "unknown-agent", text, key=key)
            else:
                yield _unknown_agent(files, path, "agent", name, agents, key=key)
    if groups is None:
        return
    targets = agents | frozenset(groups)
    for path, target in _targets(crew):
        if target and target not in targets:
            if target.strip("_").lower() in END_WORDS:
                text = f"unknown agent or group {target!r}; leave it empty to end the run"
                yield document.problem(path, "unknown-agent", text)
            else:
                yield _unknown_agent(files, path, "agent or group", target, targets)
    for agent_id in crew.agents:
        agent = files.agents.get(agent_id)
        if agent is None:
            continue
        own = files.agent_files[agent_id]
        for place, target in enumerate(agent.handoff_targets or ()):
            if target not in targets:
                path = ("handoff_targets", place)
                yield unknown_name(own, path, "agent or group", target, targets)
        then = agent.plan.then if agent.plan is not None else None
        if then is not None and then not in targets:
            yield unknown_name(own, ("plan", "then"), "agent or group", then, targets)
        if agent.on_invalid and agent.on_invalid not in targets:
            yield unknown_name(own, ("on_invalid",), "agent or group", agent.on_invalid, targets)


def known_agents(files: CrewFiles, crew: CrewConfig) -> frozenset[str]:
    """Return the agents of the crew; where its list is wrong, also those that have a file."""
    agents = frozenset(crew.agents)
    return agents if files.is_whole(CREW_FILE, "agents") else agents | set(files.agent_files)


def _check_listed(files: CrewFiles, crew: CrewConfig) -> Iterator[Problem]:
    """Yield the list of agents, and their files."""
    document = files.crew_document
    by_stem = {Path(one.file).stem: agent for agent, one in files.agent_files.items()}
    listed: dict[str, int] = {}
    for place, name in enumerate(crew.agents):
        path = ("agents", place)
        first = listed.setdefault(name, place)
        if first != place:
            text = f"agent {name} is listed twice"
            related = [document.related(("agents", first), name)]
            yield document.problem(path, "agent-listed-twice", text, related=related)
        if name in files.agent_files:
            continue
        if name in by_stem:
            yield _other_id(files, name, by_stem[name])
            continue
        near = document.near(name, list(files.agent_files))
        text = f"agent {name} has no file agents/{name}.yaml"
        yield document.problem(path, "missing-agent", text, suggestion=near)
    for agent_id, agent_document in files.agent_files.items():
        stem = Path(agent_document.file).stem
        # what crew.yaml lists by the file's name has been reported
        is_reported = stem in listed and stem not in files.agent_files
        if agent_id == stem or agent_id not in files.agents or is_reported:
            continue
        text = f"agent {agent_id} is in {agent_document.file}; name the file {agent_id}.yaml"
        yield agent_document.problem(("id",), "file-name", text)


def _other_id(files: CrewFiles, name: str, agent_id: str) -> Problem:
    """Return the error of a listed file with an agent of another id."""
    document = files.agent_files[agent_id]
    text = f"the agent in this file has the id {agent_id!r}, and {CREW_FILE} lists {name!r}"
    text = f"{text}; write the same name in both"
    return document.problem(("id",), "missing-agent", text, suggestion=name)


def _unknown_agent(
    files: CrewFiles,
    path: YamlPath,
    what: str,
    name: str,
    known: Collection[str],
    *,
    key: bool = False,
) -> Problem:
    document = files.crew_document
    if name not in files.agent_files:
        return unknown_name(document, path, what, name, known, key=key)
    file = files.agent_files[name].file
    text = f"agent {name!r} has the file {file} but is not listed; add {name} to agents"
    return document.problem(path, CODES[what], text, key=key)


def _named_agents(crew: CrewConfig) -> Iterator[tuple[YamlPath, str | None, bool]]:
    """Yield where crew.yaml names an agent: path, name, and whether the name is a key."""
    routing = crew.routing
    yield ("entry_point",), crew.entry_point, False
    for place, name in enumerate(crew.settings.client_start_agents):
        yield ("settings", "client_start_agents", place), name, False
    for name, hook in crew.hooks.items():
        yield ("hooks", name, "agent"), hook.agent, False
    for name, schedule in crew.schedules.items():
        yield ("schedules", name, "agent"), schedule.agent, False
    for section in ("outputs", "signals", "defaults", "agent_behaviors"):
        for name in getattr(routing, section):
            yield ("routing", section, name), name, True
    for group, config in routing.parallel_groups.items():
        for place, name in enumerate(config.agents):
            yield (*GROUPS, group, "agents", place), name, False


def _targets(crew: CrewConfig) -> Iterator[tuple[YamlPath, str | None]]:
    """Yield where crew.yaml names an agent or a group."""
    routing = crew.routing
    for agent, target in routing.defaults.items():
        yield ("routing", "defaults", agent), target
    for agent, signals in routing.signals.items():
        for place, signal in enumerate(signals):
            yield ("routing", "signals", agent, place, "target"), signal.target
    for agent, routes in routing.outputs.items():
        for place, route in enumerate(routes):
            yield ("routing", "outputs", agent, place, "target"), route.target
    for group, config in routing.parallel_groups.items():
        yield (*GROUPS, group, "next_agent"), config.next_agent
    for agent, behavior in routing.agent_behaviors.items():
        path = ("routing", "agent_behaviors", agent, "on_wait_timeout")
        yield path, behavior.on_wait_timeout
