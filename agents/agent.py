"""A live agent: its prompt, its model, its tools; built from the configuration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agents.config import ToolCallMode
from agents.context.plan import ContextPlan
from agents.costs.prices import Prices
from agents.helper import Helper
from agents.limits import NO_LIMITS, AfterUntrusted, TurnLimits
from agents.model import Model, ToolDefinition
from agents.outputs.plans import PlanRules
from agents.outputs.typed import TypedOutput
from agents.prompt import Prompt
from agents.tokenizing.tokens import TokenRatios
from tools.clock import Clock
from tools.definition import Tool
from tools.executor import ToolExecutor
from tools.limits.results import KeptResults
from tools.search import TOOL_SEARCH


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Right answers of one agent, which are used again for the same requests."""

    seconds: float
    results: KeptResults


@dataclass(frozen=True, slots=True)
class Agent:
    """Who speaks; one object serves all runs of its crew at the same time."""

    id: str
    # display name
    name: str
    # for `GET /api/crew`
    role: str
    description: str
    prompt: Prompt
    model: Model
    tools: Mapping[str, Tool]
    # the tools as models are sent them, by name; none where they are called in text
    tool_definitions: Mapping[str, ToolDefinition]
    tool_call_mode: ToolCallMode
    # how to call them in text, for a model that turns out to have no native calls
    text_call_hint: str
    # more calls in one answer are the model's mistake
    max_calls: int
    # changes what would be a signal of the agent's in the output of a tool
    escape_signals: Callable[[str], str]
    executor: ToolExecutor
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    context: ContextPlan
    token_ratios: TokenRatios
    # shortens the oldest messages of a run that becomes too long; None: they are left out
    compactor: Helper | None
    allow_client_system: bool
    clock: Clock
    limits: TurnLimits = NO_LIMITS
    # None: it answers in words
    output: TypedOutput | None = None
    # it plans: its typed answers are tasks
    plan: PlanRules | None = None
    # of its tools, those that are agents
    agent_tools: frozenset[str] = frozenset()
    # collections that it may search and read
    documents: tuple[str, ...] = ()
    # None: it is not noted that text of others is read
    after_untrusted: AfterUntrusted | None = None
    # None: each answer is asked for
    kept: KeptAnswers | None = None
    # of its model and its backup; None: not known
    prices: tuple[Prices | None, ...] = ()
    # the same agent with each model that a request or a budget may name
    by_client_model: Mapping[str, "Agent"] = field(default_factory=dict)

    def with_model(self, name: str) -> "Agent":
        """Return the agent with another model, by its name; itself where it has no such one."""
        return self.by_client_model.get(name, self)

    def shown_tools(self, found: Sequence[str]) -> list[ToolDefinition]:
        """Return the tools that a model is sent.

        All, or the one that finds them and the found ones.
        """
        if TOOL_SEARCH not in self.tool_definitions:
            return list(self.tool_definitions.values())
        names = (TOOL_SEARCH, *found)
        return [self.tool_definitions[name] for name in names if name in self.tool_definitions]
