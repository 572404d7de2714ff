"""Each agent's tools, and whether its file and crew.yaml agree."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from agents.config import AgentConfig
from crew.config.checks.references import unknown_name
from crew.config.crew_files import CrewFiles
from crew.config.files.document import Document
from crew.config.files.sources import CREW_FILE, TOOLS_FILE
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem
from tools.config import SetOfTools
from tools.toolbox import ToolSet

SHELL_TOOLS = frozenset({"ExecuteCommand", "RunCommand", "Shell", "Bash"})


def check_agents(
    files: CrewFiles,
    crew: CrewConfig,
    tools: Mapping[str, object],
    sets: Mapping[str, ToolSet],
) -> Iterator[Problem]:
    """Yield the problems of every agent."""
    known_tools = _known_tools(files, tools)
    listed = frozenset(crew.agents)
    unlisted = unlisted_prefixes(files, tools)
    for agent_id, agent in files.agents.items():
        document = files.agent_files[agent_id]
        if agent_id not in listed:
            # a listed name that has this file, and no agent, is reported where it is listed
            stem = Path(document.file).stem
            is_reported = stem in listed and stem not in files.agents
            if files.is_whole(CREW_FILE, "agents") and not is_reported:
                text = f"crew.yaml does not list agent {agent_id}"
                yield document.problem(("id",), "unused-agent", text)
            continue
        if known_tools is not None:
            yield from _check_tools(agent, document, known_tools, unlisted)
            yield from _check_choice(agent, document, sets, unlisted)
        yield from _check_terminal(files, crew, agent)


def _check_choice(
    agent: AgentConfig,
    document: Document,
    sets: Mapping[str, ToolSet],
    unlisted: tuple[str, ...],
) -> Iterator[Problem]:
    """Yield a tool that must be called, and that the agent does not have."""
    if isinstance(agent.tool_choice, str):
        return
    name = agent.tool_choice.tool
    # an entry of several tools is none itself
    made = [
        [one.name for one in sets[own].tools] if own in sets else [own] for own in agent.tool_names
    ]
    known = [one for names in made for one in names]
    if agent.tool_names and name not in known and not name.startswith(unlisted):
        yield unknown_name(document, ("tool_choice", "tool"), "tool", name, known)


def _known_tools(files: CrewFiles, tools: Mapping[str, object]) -> Collection[str] | None:
    """Return the names of all tools, also of wrong entries.

    None where a list of them is unreadable.
    """
    known = set(tools)
    for file in (CREW_FILE, TOOLS_FILE):
        names = files.names_in(file, ("tools",))
        if names is None or () in files.changed.get(file, ()):
            return None
        known |= set(names)
    return known


def unlisted_prefixes(files: CrewFiles, tools: Mapping[str, object]) -> tuple[str, ...]:
    """Return the prefixes of tools that an entry makes, where it is not known which."""
    sets = {name: one for name, one in files.tools.items() if isinstance(one, SetOfTools)}
    return tuple(
        one.prefix_of(name)
        for name, one in sets.items()
        if not isinstance(tools.get(name), ToolSet)
    )


def _check_tools(
    agent: AgentConfig, document: Document, known: Collection[str], unlisted: tuple[str, ...]
) -> Iterator[Problem]:
    for place, name in enumerate(agent.tools):
        path = ("tools", place)
        if name in known or name.startswith(unlisted):
            continue
        if name in SHELL_TOOLS:
            text = (
                f"unknown tool {name!r}: running a shell command is never built in; "
                "define what it may do in tools.yaml"
            )
            yield document.problem(path, "unknown-tool", text)
        else:
            yield unknown_name(document, path, "tool", name, known)
    for place, first in repeated(agent.tools):
        text = f"tool {agent.tools[place]} is listed twice"
        related = [document.related(("tools", first), agent.tools[place])]
        yield document.problem(("tools", place), "tool-listed-twice", text, related=related)


def repeated(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of names that are also further up, each with the first place."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        first = seen.setdefault(name, place)
        if first != place:
            yield place, first


def _check_terminal(files: CrewFiles, crew: CrewConfig, agent: AgentConfig) -> Iterator[Problem]:
    behavior = crew.routing.agent_behaviors.get(agent.id)
    if behavior is None or None in (behavior.is_terminal, agent.is_terminal):
        return
    if behavior.is_terminal == agent.is_terminal:
        return
    words = {True: "terminal", False: "not terminal"}
    here, there = words[bool(behavior.is_terminal)], words[bool(agent.is_terminal)]
    text = f"{agent.id} is {here} here, and {there} in {files.agent_files[agent.id].file}"
    path = ("routing", "agent_behaviors", agent.id, "is_terminal")
    related = [files.agent_files[agent.id].related(("is_terminal",), f"{agent.id} is {there}")]
    yield files.crew_document.problem(path, "terminal-disagreement", text, related=related)
