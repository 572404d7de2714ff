"""A crew that is ready to run, and how it is made from its folder."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.agent import Agent
from agents.providers.catalog import Catalog
from crew.assembly import make_agents, make_tools, tool_limits
from crew.config import CrewConfig
from crew.errors import ConfigurationError
from crew.executor import RunLimits
from crew.graph import RoutingGraph
from crew.loader import CrewFiles, read_folder
from crew.plan import entry_point, routing_of
from crew.problems import Problem, ordered
from crew.routing import Routing
from crew.validator import validate
from tools.builtin import BUILTIN_TOOLS
from tools.deadline import Limits
from tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Crew:
    """Live agents and the routing between them; serves any number of runs at once."""

    name: str
    config: CrewConfig
    agents: Mapping[str, Agent]
    routing: Routing
    entry_point: str
    limits: RunLimits
    tool_limits: Limits
    catalog: Catalog
    # what was worth a warning when it was loaded
    warnings: tuple[Problem, ...]

    @property
    def graph(self) -> RoutingGraph:
        """The routing graph."""
        return RoutingGraph.of(self.routing, self.entry_point)

    async def aclose(self) -> None:
        """Close the connections to the models."""
        await self.catalog.aclose()


def check(
    folder: Path, *, tools: Sequence[Tool] = (), imports: bool = True, environment: Mapping[str, str] | None = None
) -> tuple[CrewFiles, dict[str, Tool], list[Problem]]:
    """Read a crew's folder and tell everything that is wrong with it.

    Args:
        folder: the crew's folder.
        tools: tools that the program gives to the crew.
        imports: import Python tools, which runs their files.
        environment: for `${NAME}`; the process's unless given.

    Returns:
        What was read, the tools by name, and the problems, ordered by place.
    """
    files = read_folder(folder, os.environ if environment is None else environment)
    made, problems = make_tools(files, tools) if imports else ({**BUILTIN_TOOLS, **{tool.name: tool for tool in tools}}, [])
    return files, made, ordered([*files.problems, *problems, *validate(files, made)])


def load_crew(
    folder: Path | str, *, tools: Sequence[Tool] = (), provider: str | None = None, environment: Mapping[str, str] | None = None
) -> Crew:
    """The crew of a folder.

    Args:
        folder: with crew.yaml and agents/*.yaml.
        tools: tools that the program gives to the crew, beside those of tools.yaml.
        provider: used for every agent instead of its own: "openai", "ollama", "scripted" or one of crew.yaml's.
        environment: for `${NAME}`; the process's unless given.

    Raises:
        ConfigurationError: with every error of all files.
    """
    files, made, problems = check(Path(folder), tools=tools, environment=environment)
    if any(problem.severity == "error" for problem in problems):
        raise ConfigurationError(problems, files.texts)
    return assemble(files, made, provider, problems)


def assemble(files: CrewFiles, tools: Mapping[str, Tool], provider: str | None, warnings: Sequence[Problem]) -> Crew:
    """The crew of files without errors.

    Raises:
        ConfigurationError: a provider cannot be used.
    """
    crew = files.crew
    assert crew is not None, "a crew with errors is not assembled"
    settings, limits, routing = crew.settings, tool_limits(crew.settings), routing_of(files)
    catalog = Catalog(crew.providers, files.script, limits.backoff_min_seconds, limits.backoff_max_seconds)
    agents, problems = make_agents(files, routing, tools, catalog, limits, provider)
    if problems:
        raise ConfigurationError(problems, files.texts)
    run_limits = RunLimits(settings.max_handoffs, settings.max_rounds, settings.timeout_seconds)
    return Crew(files.name, crew, agents, routing, entry_point(files), run_limits, limits, catalog, tuple(warnings))
