"""What a crew is made of beside its files, and the check of them."""

import os
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agents.quirks import QuirkTables
from agents.tokenizing.tokens import TokenRatios
from agents.wrappers.health import Health
from agents.wrappers.places import Places
from crew.assembly.agents import check_windows
from crew.assembly.checked import Checked
from crew.assembly.given import Doubles
from crew.assembly.models import named_model, replace_models
from crew.assembly.tokenizers import make_tokenizers
from crew.assembly.tools import make_tools
from crew.budgets.estimates import AnswerLengths
from crew.budgets.lines import PotLines
from crew.budgets.rules import NewestLimits
from crew.config.checks.costs.prices import check_age
from crew.config.checks.credentials import check_keys
from crew.config.checks.validate import validate_files
from crew.config.files.document import YamlPath
from crew.config.files.environment import find_secrets, weak_secrets, with_stand_ins
from crew.config.files.sources import Sources
from crew.config.loader import read_files
from crew.config.problems import has_failed, in_order
from crew.config.routing_plan import routing_of
from crew.config.suppressions import without_suppressed
from tools.clock import SYSTEM_CLOCK, Clock
from tools.context import find_no_secret
from tools.definition import Tool
from tools.kinds import ToolMaker
from tools.kinds.mcp.servers import Servers
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
    # the rest is shared by all revisions of the crew
    places: Places = field(default_factory=lambda: Places(SYSTEM_CLOCK), compare=False)
    secrets: Secrets = field(default_factory=Secrets, compare=False)
    # of tools
    guards: Guards = field(default_factory=lambda: Guards(SYSTEM_CLOCK), compare=False)
    # of providers
    model_guards: Guards = field(default_factory=lambda: Guards(SYSTEM_CLOCK), compare=False)
    token_ratios: TokenRatios = field(default_factory=TokenRatios, compare=False)
    answer_lengths: AnswerLengths = field(default_factory=AnswerLengths, compare=False)
    # calls for which budgets had no room, by budget and what followed
    budget_refusals: Counter[tuple[str, str]] = field(default_factory=Counter, compare=False)
    budget_lines: PotLines = field(default_factory=PotLines, compare=False)
    budget_limits: NewestLimits = field(default_factory=NewestLimits, compare=False)
    quirk_tables: QuirkTables = field(default_factory=QuirkTables, compare=False)
    health: Health = field(default_factory=Health, compare=False)
    embedding_counts: Counter[tuple[str, str]] = field(default_factory=Counter, compare=False)
    servers: Servers = field(default_factory=Servers, compare=False)
    loop: LoopOwner = field(default_factory=LoopOwner, compare=False)
    # only tools that read are called
    dry: bool = False
    # used for all agents and helpers instead of their own, without backups
    model: str | None = None
    # models are asked; else they need no key
    asks: bool = True
    # nothing is run: then nothing is imported or started, and unset variables have stand-ins
    looks: bool = False
    # what stands in for models and tools: then no model is called, and no key is needed
    doubles: Doubles | None = None

    @property
    def needs_keys(self) -> bool:
        """Whether the agents' own models are called."""
        is_itself = self.doubles is None or self.doubles.calls_models
        return self.asks and self.provider is None and is_itself

    def afresh(self, clock: Clock, jitter: Jitter, doubles: Doubles) -> "Recipe":
        """Return the same with doubles, and with nothing that other crews have used or learned."""
        return replace(
            self,
            clock=clock,
            jitter=jitter,
            places=Places(clock),
            guards=Guards(clock),
            model_guards=Guards(clock),
            token_ratios=TokenRatios(),
            answer_lengths=AnswerLengths(),
            budget_refusals=Counter(),
            budget_lines=PotLines(),
            budget_limits=NewestLimits(),
            quirk_tables=QuirkTables(),
            health=Health(),
            embedding_counts=Counter(),
            loop=LoopOwner(),
            doubles=doubles,
        )

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

        Raises:
            ProviderError: `model` is none of the crew's.
        """
        environment = os.environ if self.environment is None else self.environment
        find_secrets(environment, self.secrets)
        if self.looks:
            imports = False
            environment = with_stand_ins(environment, sources)
        files = read_files(sources, environment, self.secrets, literals)
        if self.model is not None and files.crew is not None:
            replace_models(files, named_model(files.crew, self.model))
        maker = ToolMaker(
            sources.folder, self.guards, files.api_documents, files.locked, self.servers
        )
        tools, problems = make_tools(files, self.tools, maker, imports=imports)
        found = [*files.problems, *problems, *validate_files(files, tools)]
        found += weak_secrets(files.secrets_read, files.texts.values())
        found += check_age(files, self.clock.now().date())
        if not self.needs_keys:
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
