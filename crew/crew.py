"""A crew that is ready to run, and how it is made from its files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from agents.agent import Agent
from agents.errors import ProviderError
from agents.helper import Helper
from agents.providers.catalog import Catalog
from agents.wrappers.places import Places
from crew.assembly.agents import make_agents
from crew.assembly.checked import Checked
from crew.assembly.documents import document_rules
from crew.assembly.embedders import Embedding, make_embeddings
from crew.assembly.helpers import make_helpers
from crew.assembly.limits import RunLimits, run_limits
from crew.assembly.memory import memory_rules
from crew.assembly.models import require_provider
from crew.assembly.recipe import Recipe
from crew.assembly.tools import tool_limits
from crew.budgets.rules import Budget
from crew.config.costs.budgets import budgets_of
from crew.config.costs.prices import knows_prices
from crew.config.errors import ConfigurationError
from crew.config.files.document import YamlPath
from crew.config.files.sources import Sources, read_sources
from crew.config.keys.crew_file import CrewConfig
from crew.config.problems import Problem, has_failed
from crew.config.routing_plan import entry_point, routing_of
from crew.documents.rules import DocumentRules
from crew.memory.rules import MemoryRules
from crew.routing.graph import RoutingGraph
from crew.routing.rules import Routing
from tools.clock import SYSTEM_CLOCK, Clock
from tools.definition import Tool
from tools.dry import without_effect
from tools.limits.deadline import Limits
from tools.limits.guards import Guards
from tools.text.secrets import Secrets
from tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, eq=False)
class Crew:
    """Live agents and the routing between them; serves any number of runs at the same time."""

    name: str
    config: CrewConfig
    agents: Mapping[str, Agent]
    helpers: Mapping[str, Helper]
    # beside its conversations
    memory: MemoryRules
    # that its agents search and read
    documents: DocumentRules
    # by collection: how its texts get vectors; by "" of recall memory
    embeddings: Mapping[str, Embedding]
    budgets: tuple[Budget, ...]
    # that its files define
    tools: tuple[Tool, ...]
    routing: Routing
    entry_point: str
    limits: RunLimits
    tool_limits: Limits
    catalog: Catalog
    warnings: tuple[Problem, ...]
    sources: Sources
    literals: Mapping[YamlPath, str] = field(repr=False)
    recipe: Recipe
    revision: str

    @property
    def clock(self) -> Clock:
        """The clock of all its runs."""
        return self.recipe.clock

    @property
    def secrets(self) -> Secrets:
        """What is masked in all that it says."""
        return self.recipe.secrets

    @property
    def zone(self) -> ZoneInfo:
        """In which the days of costs begin."""
        return ZoneInfo(self.config.settings.timezone)

    @property
    def provider(self) -> str | None:
        """The provider that replaces every agent's own."""
        return self.recipe.provider

    @property
    def silent(self) -> frozenset[str]:
        """The agents the typed answers of which are for no other agent."""
        typed = {one.id: one.output for one in self.agents.values() if one.output is not None}
        return frozenset(name for name, output in typed.items() if output.text_field is None)

    @property
    def graph(self) -> RoutingGraph:
        """The routing graph."""
        return RoutingGraph.of(self.routing, self.entry_point)

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals of its routing."""
        return tuple(one.signal for ways in self.config.routing.signals.values() for one in ways)

    @property
    def present_budgets(self) -> Sequence[Budget]:
        """Its budgets with their limits of now: they may have been raised, or lowered, since."""
        return [self.recipe.budget_limits.of(one) for one in self.budgets]

    def name_of(self, agent_id: str) -> str:
        """Return an agent's display name."""
        return self.agents[agent_id].name if agent_id in self.agents else agent_id

    def load_again(self) -> "Crew":
        """Load the crew of the folder as it is now; takes time, and may run Python files.

        Raises:
            ConfigurationError: with every problem of all files.
        """
        return _load_once_more(self.recipe, read_sources(self.sources.folder))

    def load_other(self, sources: Sources, provider: str | None) -> "Crew":
        """Load the crew of other files and another provider, with this one's tools and clock.

        Raises:
            ConfigurationError: with every problem of all files.
        """
        return _load_once_more(replace(self.recipe, provider=provider), sources, self.literals)

    async def aclose(self) -> None:
        """Close the connections to the models, and end what the tools of its files hold."""
        await self.catalog.aclose()
        for tool in self.tools:
            if tool.close is not None:
                await tool.close()


def make_crew(recipe: Recipe, sources: Sources, checked: Checked) -> Crew:
    """Make the crew of files that were checked.

    Raises:
        ConfigurationError: with every problem of all files.
        ProviderError: `provider` is none of the crew's.
    """
    files = checked.files
    if files.crew is None or has_failed(checked.problems):
        raise ConfigurationError(checked.problems, files.texts)
    config = files.crew
    settings, limits = config.settings, tool_limits(config.settings)
    tools = _tools_of(recipe, checked)
    routing = routing_of(files, tools.names)
    catalog = Catalog(
        config.providers,
        files.script,
        limits.backoff_min_seconds,
        limits.backoff_max_seconds,
        recipe.clock,
        recipe.secrets,
        recipe.model_guards,
        recipe.token_ratios,
        recipe.quirk_tables,
        recipe.health,
        recipe.jitter,
        recipe.embedding_counts,
        recipe.doubles.model if recipe.doubles is not None else None,
        warns_unpriced=knows_prices(files),
    )
    if recipe.provider is not None:
        require_provider(recipe.provider, catalog)
    tokenizers = checked.tokenizers
    helpers, wrong = make_helpers(recipe, files, entry_point(files), catalog, tokenizers)
    agents, problems = make_agents(recipe, files, routing, tools, catalog, helpers, tokenizers)
    embeddings, unmade = make_embeddings(files, catalog, asks=recipe.needs_keys)
    if problems := [*wrong, *problems, *unmade]:
        raise ConfigurationError(problems, files.texts)
    kept = sources.without(files.literals.values())
    return Crew(
        name=files.name,
        config=config,
        agents=agents,
        # what doubles stand in for is closed by who has made them
        tools=tuple(checked.tools.own) if recipe.doubles is None else (),
        routing=routing,
        entry_point=entry_point(files),
        limits=run_limits(settings),
        tool_limits=limits,
        catalog=catalog,
        helpers=helpers,
        memory=memory_rules(files),
        documents=document_rules(files),
        embeddings=embeddings,
        budgets=budgets_of(files),
        warnings=checked.problems,
        sources=kept,
        literals=files.literals,
        recipe=recipe,
        revision=kept.revision,
    )


def _tools_of(recipe: Recipe, checked: Checked) -> Toolbox:
    """Return the tools that agents are given."""
    tools, script = checked.tools, checked.files.script
    results = script.results if script is not None else {}
    if recipe.dry:
        return tools.changed(lambda tool: without_effect(tool, results))
    if (doubles := recipe.doubles) is None:
        return tools

    def stand_in(tool: Tool) -> Tool:
        guard = recipe.guards.like(tool.guard) if tool.guard is not None else None
        return replace(doubles.tool(tool, results.get(tool.name)), guard=guard)

    return tools.changed(stand_in)


def load_from(
    recipe: Recipe, sources: Sources, literals: Mapping[YamlPath, str] | None = None
) -> Crew:
    """Check the files, and make their crew. See `Recipe.check` and `make_crew`."""
    return make_crew(recipe, sources, recipe.check(sources, literals=literals))


def _load_once_more(
    recipe: Recipe, sources: Sources, literals: Mapping[YamlPath, str] | None = None
) -> Crew:
    """Load a crew of other files, which may lack the provider that replaces all others."""
    try:
        return load_from(recipe, sources, literals)
    except ProviderError as error:
        problem = Problem("crew.yaml", 1, 1, "provider", str(error))
        raise ConfigurationError([problem], {}) from error


def check(
    folder: Path | str,
    *,
    tools: Sequence[Tool] = (),
    imports: bool = True,
    environment: Mapping[str, str] | None = None,
    secrets: Secrets | None = None,
) -> Checked:
    """Read a crew's folder and find all problems.

    Args:
        folder: the crew's folder.
        tools: tools that the program gives to the crew.
        imports: import Python tools, which runs their files.
        environment: for `${NAME}`; the process's unless given.
        secrets: gets what is secret, as the files are read.
    """
    recipe = Recipe(tuple(tools), None, environment, secrets=secrets or Secrets())
    return recipe.check(read_sources(Path(folder)), imports=imports)


def load_crew(
    folder: Path | str,
    *,
    tools: Sequence[Tool] = (),
    provider: str | None = None,
    environment: Mapping[str, str] | None = None,
    clock: Clock = SYSTEM_CLOCK,
    dry: bool = False,
    asks: bool = True,
    secrets: Secrets | None = None,
) -> Crew:
    """Load the crew of a folder.

    Args:
        folder: has crew.yaml, and the files of the agents.
        tools: tools that the program gives to the crew, beside tools.yaml.
        provider: used for every agent instead of its own: "openai", "ollama", "scripted" or one
            of crew.yaml's.
        environment: for `${NAME}`; the process's unless given.
        clock: of all its runs; a VirtualClock lets days pass at once.
        dry: only tools that read are called; others return what they would do.
        asks: models are called; else they need no key.
        secrets: gets what is secret, as the files are read; what logs use it can then hide it.

    Raises:
        ConfigurationError: with every problem of all files.
        ProviderError: `provider` is none of the crew's.
    """
    recipe = Recipe(
        tuple(tools),
        provider,
        environment,
        clock,
        places=Places(clock),
        guards=Guards(clock),
        model_guards=Guards(clock),
        secrets=secrets or Secrets(),
        dry=dry,
        asks=asks,
    )
    return load_from(recipe, read_sources(Path(folder)))
