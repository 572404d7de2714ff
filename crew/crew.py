"""A crew that is ready to run, and how it is made from its files."""

import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agents.agent import Agent
from agents.errors import ProviderError
from agents.helper import Helper
from agents.providers.catalog import Catalog
from agents.quirks import QuirkTables
from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.budget import DailyUsage
from agents.wrappers.health import Health
from agents.wrappers.places import Places
from crew.assembly.agents import check_windows, make_agents
from crew.assembly.checked import Checked
from crew.assembly.documents import document_rules
from crew.assembly.embedders import Embedding, make_embeddings
from crew.assembly.helpers import make_helpers
from crew.assembly.limits import RunLimits, run_limits
from crew.assembly.memory import memory_rules
from crew.assembly.models import require_provider
from crew.assembly.tokenizers import make_tokenizers
from crew.assembly.tools import make_tools, tool_limits
from crew.config.checks.credentials import check_keys
from crew.config.checks.validate import validate_files
from crew.config.errors import ConfigurationError
from crew.config.files.document import YamlPath
from crew.config.files.environment import find_secrets, weak_secrets
from crew.config.files.sources import Sources, read_sources
from crew.config.keys.crew_file import CrewConfig
from crew.config.loader import read_files
from crew.config.problems import Problem, has_failed, in_order
from crew.config.routing_plan import entry_point, routing_of
from crew.config.suppressions import without_suppressed
from crew.documents.rules import DocumentRules
from crew.memory.rules import MemoryRules
from crew.routing.graph import RoutingGraph
from crew.routing.rules import Routing
from tools.clock import SYSTEM_CLOCK, Clock
from tools.context import find_no_secret
from tools.definition import Tool
from tools.kinds import ToolMaker
from tools.kinds.mcp.servers import Servers
from tools.limits.deadline import Limits
from tools.limits.guards import Guards
from tools.limits.retry import Jitter
from tools.loops import LoopOwner
from tools.text.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a crew is made of beside its files."""

    tools: tuple[Tool, ...] = ()
    # used for every agent instead of its own
    provider: str | None = None
    environment: Mapping[str, str] | None = None
    clock: Clock = SYSTEM_CLOCK
    # of waits before retries
    jitter: Jitter = random.random
    # the rest is shared by all revisions of the crew; by agents' ids
    daily_usage: dict[str, DailyUsage] = field(default_factory=dict, compare=False)
    places: Places = field(default_factory=lambda: Places(SYSTEM_CLOCK), compare=False)
    secrets: Secrets = field(default_factory=Secrets, compare=False)
    # of tools
    guards: Guards = field(default_factory=lambda: Guards(SYSTEM_CLOCK), compare=False)
    # of providers
    model_guards: Guards = field(default_factory=lambda: Guards(SYSTEM_CLOCK), compare=False)
    token_ratios: TokenRatios = field(default_factory=TokenRatios, compare=False)
    quirk_tables: QuirkTables = field(default_factory=QuirkTables, compare=False)
    health: Health = field(default_factory=Health, compare=False)
    embedding_counts: Counter[tuple[str, str]] = field(default_factory=Counter, compare=False)
    servers: Servers = field(default_factory=Servers, compare=False)
    loop: LoopOwner = field(default_factory=LoopOwner, compare=False)
    # only tools that read are called
    dry: bool = False
    # models are asked; else they need no key
    asks: bool = True

    def find_secret(self, name: str) -> str:
        """Find the value of an environment variable, for a tool; raises PermanentError."""
        value = (os.environ if self.environment is None else self.environment).get(name)
        if value is not None:
            self.secrets.add(value)
        return find_no_secret(name) if value is None else value

    def check(
        self,
        sources: Sources,
        *,
        imports: bool = True,
        literals: Mapping[YamlPath, str] | None = None,
    ) -> Checked:
        """Read a crew's files and find all problems.

        Args:
            sources: the files.
            imports: import Python tools and tokenizers too.
            literals: for files that were kept without them.
        """
        environment = os.environ if self.environment is None else self.environment
        find_secrets(environment, self.secrets)
        files = read_files(sources, environment, self.secrets, literals)
        maker = ToolMaker(
            sources.folder, self.guards, files.api_documents, files.locked, self.servers
        )
        tools, problems = make_tools(files, self.tools, maker, imports=imports)
        found = [*files.problems, *problems, *validate_files(files, tools)]
        found += weak_secrets(files.secrets_read, files.texts.values())
        if self.provider is not None or not self.asks:
            # no agent's own is asked
            found = [one for one in found if one.code != "no-script"]
        elif files.crew is not None:
            found += check_keys(files, files.crew, environment)
        tokenizers, unmade = make_tokenizers(files) if imports else ({}, [])
        found += unmade
        if imports and files.crew is not None and not has_failed(found):
            routing = routing_of(files, tools.names)
            found += check_windows(self, files, routing, tools, tokenizers)
        kept = without_suppressed(files.documents.values(), found)
        # a tool that does not import may say anything
        told = [replace(one, message=self.secrets.mask(one.message)) for one in in_order(kept)]
        return Checked(files, tools, tokenizers, tuple(told))

    def load(self, sources: Sources, literals: Mapping[YamlPath, str] | None = None) -> "Crew":
        """Check the files, and make their crew. See `check` and `make`."""
        return self.make(sources, self.check(sources, literals=literals))

    def make(self, sources: Sources, checked: Checked) -> "Crew":
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
        tools = checked.tools
        if self.dry:
            tools = tools.without_effects(files.script.results if files.script is not None else {})
        routing = routing_of(files, tools.names)
        catalog = Catalog(
            config.providers,
            files.script,
            limits.backoff_min_seconds,
            limits.backoff_max_seconds,
            self.clock,
            self.secrets,
            self.model_guards,
            self.token_ratios,
            self.quirk_tables,
            self.health,
            self.jitter,
            self.embedding_counts,
        )
        if self.provider is not None:
            require_provider(self.provider, catalog)
        tokenizers = checked.tokenizers
        helpers, wrong = make_helpers(self, files, entry_point(files), catalog, tokenizers)
        agents, problems = make_agents(self, files, routing, tools, catalog, helpers, tokenizers)
        calls_models = self.asks and self.provider is None
        embeddings, unmade = make_embeddings(files, catalog, asks=calls_models)
        if problems := [*wrong, *problems, *unmade]:
            raise ConfigurationError(problems, files.texts)
        kept = sources.without(files.literals.values())
        return Crew(
            name=files.name,
            config=config,
            agents=agents,
            tools=tuple(checked.tools.own),
            routing=routing,
            entry_point=entry_point(files),
            limits=run_limits(settings),
            tool_limits=limits,
            catalog=catalog,
            helpers=helpers,
            memory=memory_rules(files),
            documents=document_rules(files),
            embeddings=embeddings,
            warnings=checked.problems,
            sources=kept,
            literals=files.literals,
            recipe=self,
            revision=kept.revision,
        )


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


def _load_once_more(
    recipe: Recipe, sources: Sources, literals: Mapping[YamlPath, str] | None = None
) -> Crew:
    """Load a crew of other files, which may lack the provider that replaces all others."""
    try:
        return recipe.load(sources, literals)
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
    return recipe.load(read_sources(Path(folder)))
