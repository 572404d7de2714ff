"""A crew that is ready to run, and how it is made from its files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.agent import Agent
from agents.budget import Spent
from agents.providers.catalog import Catalog
from crew.assembly import make_agents, make_tools, tool_limits
from crew.config.checks.validate import validate
from crew.config.crew_file import CrewConfig
from crew.config.loader import CrewFiles, read_files
from crew.config.problems import Problem, failed, ordered
from crew.config.routing_plan import entry_point, routing_of
from crew.config.sources import Sources, gather
from crew.config.suppressions import without_allowed
from crew.errors import ConfigurationError
from crew.routing.decisions import Routing
from crew.routing.graph import RoutingGraph
from tools.builtin import BUILTIN_TOOLS
from tools.deadline import Limits
from tools.tool import Tool


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What bounds a run."""

    max_handoffs: int
    max_rounds: int
    # active time; a pause does not use it up
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Checked:
    """What was read of a crew's files, its tools by name, and everything that is wrong with it.

    Ordered by place.
    """

    files: CrewFiles
    tools: Mapping[str, Tool]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What goes into a crew beside its files."""

    # given by a program, beside those of tools.yaml
    tools: tuple[Tool, ...] = ()
    # used for every agent instead of its own
    provider: str | None = None
    # for `${NAME}`; None: the process's
    environment: Mapping[str, str] | None = None
    # what each agent has used today, by its id, in all editions of the crew
    spent: dict[str, Spent] = field(default_factory=dict, compare=False)

    def check(self, sources: Sources, *, imports: bool = True) -> Checked:
        """Read a crew's files and tell everything that is wrong with them.

        `imports`: runs Python tools too.
        """
        files = read_files(sources, os.environ if self.environment is None else self.environment)
        given = {tool.name: tool for tool in self.tools}
        made, problems = (
            make_tools(files, self.tools) if imports else ({**BUILTIN_TOOLS, **given}, [])
        )
        found = [*files.problems, *problems, *validate(files, made)]
        return Checked(
            files, made, tuple(ordered(without_allowed(files.documents.values(), found)))
        )

    def load(self, sources: Sources) -> "Crew":
        """The crew of these files.

        Raises:
            ConfigurationError: with every problem of all files.
        """
        checked = self.check(sources)
        files = checked.files
        if files.crew is None or failed(checked.problems):
            raise ConfigurationError(checked.problems, files.texts)
        crew, settings, limits, routing = (
            files.crew,
            files.crew.settings,
            tool_limits(files.crew.settings),
            routing_of(files),
        )
        catalog = Catalog(
            crew.providers, files.script, limits.backoff_min_seconds, limits.backoff_max_seconds
        )
        agents, problems = make_agents(
            files, routing, checked.tools, catalog, limits, self.provider, self.spent
        )
        if problems:
            raise ConfigurationError(problems, files.texts)
        run_limits = RunLimits(settings.max_handoffs, settings.max_rounds, settings.timeout_seconds)
        return Crew(
            name=files.name,
            config=crew,
            agents=agents,
            routing=routing,
            entry_point=entry_point(files),
            limits=run_limits,
            tool_limits=limits,
            catalog=catalog,
            warnings=checked.problems,
            sources=sources,
            recipe=self,
            revision=sources.revision,
        )


@dataclass(frozen=True, slots=True, eq=False)
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
    # of what it was made, and how
    sources: Sources
    recipe: Recipe
    revision: str

    @property
    def graph(self) -> RoutingGraph:
        """The routing graph."""
        return RoutingGraph.of(self.routing, self.entry_point)

    def name_of(self, agent_id: str) -> str:
        """An agent's display name."""
        agent = self.agents.get(agent_id)
        return agent.name if agent is not None else agent_id

    def made_again(self) -> "Crew":
        """The crew of the folder as it is now; it takes time, and may run Python files.

        Raises:
            ConfigurationError: with every problem of all files.
        """
        return self.recipe.load(gather(self.sources.folder))

    async def aclose(self) -> None:
        """Close the connections to the models."""
        await self.catalog.aclose()


def check(
    folder: Path | str,
    *,
    tools: Sequence[Tool] = (),
    imports: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Checked:
    """Read a crew's folder and tell everything that is wrong with it.

    Args:
        folder: the crew's folder.
        tools: tools that the program gives to the crew.
        imports: import Python tools, which runs their files.
        environment: for `${NAME}`; the process's unless given.
    """
    return Recipe(tuple(tools), None, environment).check(gather(Path(folder)), imports=imports)


def load_crew(
    folder: Path | str,
    *,
    tools: Sequence[Tool] = (),
    provider: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Crew:
    """The crew of a folder.

    Args:
        folder: with crew.yaml and agents/*.yaml.
        tools: tools that the program gives to the crew, beside those of tools.yaml.
        provider: used for every agent instead of its own: "openai", "ollama", "scripted" or one
            of crew.yaml's.
        environment: for `${NAME}`; the process's unless given.

    Raises:
        ConfigurationError: with every problem of all files.
    """
    return Recipe(tuple(tools), provider, environment).load(gather(Path(folder)))
