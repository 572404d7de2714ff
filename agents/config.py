"""The shape of agents/<id>.yaml."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, WithJsonSchema, model_validator

from agents.context.shape import ContextConfig
from agents.costs.prices import Prices, Rates
from agents.endpoint import Address
from agents.extras import MIN_THINKING_TOKENS, Effort
from tools.builtin.documents import DOCUMENT_TOOL_NAMES
from tools.schemas.yaml_shape import JsonObject, Name, Shape, form_of

Temperature = Annotated[float, Field(ge=0, le=2)]
ToolCallMode = Literal["auto", "native", "text"]

# Keys of go-agentic's agents that mean nothing here; each loads with a warning.
IGNORED_AGENT_KEYS = frozenset(
    {
        "memory_limits",
        "error_limits",
        "logging",
        "tasks",
        "top_k",
        "max_iterations",
        "parallel_targets",
        "parallel_execution",
        "enforce_quotas",
        "config_mode",
    }
)
# What crewAI, conductor, cagent and others call these keys.
SYNONYMS = {
    "llm": "model",
    "goal": "system_prompt",
    "instruction": "system_prompt",
    "instructions": "system_prompt",
    "prompt": "system_prompt",
    "sub_agents": "handoff_targets",
    "handoffs": "handoff_targets",
    "base_url": "provider_url",
    "toolsets": "tools",
}
# Its flat spellings of `cost_limits`.
FLAT_COST_KEYS = {
    "max_tokens_per_call": "max_tokens_per_call",
    "max_tokens_per_day": "max_tokens_per_day",
    "max_cost_per_day": "max_cost_per_day_usd",
    "cost_alert_threshold": "alert_threshold",
    "enforce_cost_limits": "block_on_cost_exceed",
}


# Names in the YAML of keys that have another name here.
ALIASES = {**FLAT_COST_KEYS, "enforce": "block_on_cost_exceed"}


class ModelConfig(Shape):
    """One model at one provider."""

    model: str
    """One of crew.yaml's `models`, or the model's own name at its provider."""
    provider: str = "openai"
    """A built-in provider (openai, ollama, scripted) or one of crew.yaml's `providers`; what
    `models` says, else `openai`, unless given."""
    provider_url: Address | None = None
    """Base URL, instead of the provider's own. `${NAME}` is read from the environment."""


class CostLimits(Shape):
    """What an agent may use; the limits of a day are a budget, over restarts and machines."""

    max_tokens_per_call: Annotated[int, Field(gt=0)] | None = None
    """Of one model call, prompt (estimated) and `max_tokens` together."""
    max_tokens_per_day: Annotated[int, Field(gt=0)] | None = None
    """Of all of the agent's calls of a day."""
    max_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """By the prices of its model. As long as anything is left a call is made."""
    alert_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8
    """The part of a day's limit from which a warning is given."""
    block_on_cost_exceed: bool = False
    """Refuse calls over a limit; otherwise they are made, with a warning."""
    input_token_price_per_million: Annotated[float, Field(ge=0)] = 0.0
    """USD for a million prompt tokens."""
    output_token_price_per_million: Annotated[float, Field(ge=0)] = 0.0
    """USD for a million completion tokens."""

    @property
    def has_prices(self) -> bool:
        """Whether a call has a known cost."""
        return bool(self.input_token_price_per_million or self.output_token_price_per_million)

    def prices(self) -> Prices | None:
        """Return what tokens cost by the agent's own file; None: it does not say."""
        if not self.has_prices:
            return None
        given = (self.input_token_price_per_million, self.output_token_price_per_million)
        return Prices(Rates(*(Decimal(str(one)) for one in given)), "agent")

    @model_validator(mode="before")
    @classmethod
    def _aliases(cls, data: Any) -> Any:
        if isinstance(data, dict) and "enforce" in data and "block_on_cost_exceed" not in data:
            return {
                ("block_on_cost_exceed" if key == "enforce" else key): value
                for key, value in data.items()
            }
        return data


class CacheConfig(Shape):
    """How long answers are used again for the same request, in each process."""

    seconds: Annotated[float, Field(gt=0, le=3600)]
    """Of each answer."""
    entries: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Answers at the same time; the oldest go first."""


class ThinkingBudgetConfig(Shape):
    """How much a model thinks, for providers that count it in tokens."""

    budget_tokens: Annotated[int, Field(ge=MIN_THINKING_TOKENS, le=1_000_000)]
    """At most; fewer than `max_tokens`. For dialect `anthropic` and provider `google`."""


class PlanConfig(Shape):
    """An agent that plans: its answer is a list of tasks, on which workers work."""

    workers: Annotated[list[str], Field(min_length=1)]
    """Agents that work on tasks; none with a `plan`."""
    max_tasks: Annotated[int, Field(ge=1, le=64)] = 8
    """Of a plan, and of each revision of it."""
    at_once: Annotated[int, Field(ge=1, le=64)] = 3
    """Tasks at work at the same time."""
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    """Of each task; `settings.parallel_timeout_seconds` unless given."""
    replan: Annotated[int, Field(ge=0, le=10)] = 1
    """How often it plans further tasks after some have failed."""
    approve: bool = False
    """A person approves each plan and each revision: the run pauses, question `plan`."""
    then: str | None = None
    """The agent or group that goes on with the results; else it speaks itself."""


ThinkingSetting = Annotated[
    Annotated[ThinkingBudgetConfig, Tag("mapping")] | Annotated[Effort, Tag("scalar")],
    Discriminator(form_of),
]


class NamedToolConfig(Shape):
    """The tool that a turn's first answer must call."""

    tool: str
    """One of the agent's tools."""


ToolChoiceSetting = Annotated[
    Annotated[NamedToolConfig, Tag("mapping")]
    | Annotated[Literal["auto", "required", "none"], Tag("scalar")],
    Discriminator(form_of),
]


class AgentConfig(Shape):
    """agents/<id>.yaml: one agent."""

    ignored = IGNORED_AGENT_KEYS
    synonyms = SYNONYMS

    id: Name
    """By which crew.yaml and other agents name it."""
    name: str
    """Display name; `{{name}}` in prompts."""
    role: str
    """What it is; `{{role}}` in prompts."""
    description: str = ""
    """What it does; `{{description}}` in prompts."""
    backstory: str = ""
    """Who it is; `{{backstory}}` in prompts. May hold the other variables."""
    system_prompt: str = ""
    """Its instructions, with `{{name}} {{role}} {{description}} {{backstory}} {{language}}
    {{organization}} {{tools}}
    {{signals}} {{today}}`. Built from the other keys unless given."""
    model: str = "gpt-4o-mini"
    """One of crew.yaml's `models`, or the model's own name at its provider; `primary` beats it."""
    provider: str = "openai"
    """A built-in provider (openai, ollama, scripted) or one of crew.yaml's `providers`; what
    `models` says, else `openai`, unless given."""
    provider_url: Address | None = None
    """Base URL, instead of the provider's own. `${NAME}` is read from the environment."""
    primary: ModelConfig | None = None
    """The model, its provider and URL in one; instead of the three keys above."""
    backup: ModelConfig | None = None
    """Tried when the primary has failed for good."""
    thinking: ThinkingSetting | None = None
    """How much the model thinks before it answers; what `models` says, unless given.

    `none`, `low`, `medium`, `high`, `max`, or `{budget_tokens}`.
    """
    model_from_client: bool = False
    """A request may name its model, by one of `settings.client_models`."""
    temperature: Temperature | None = None
    """0 to 2; not sent unless given, so that the provider's own default holds."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Nucleus sampling; not sent unless given."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """Longest answer; not sent unless given."""
    is_terminal: bool | None = None
    """The run ends after it, unless a signal says otherwise. False unless given."""
    tools: list[str] = []
    """Names of its tools: built-in ones, and those of tools.yaml."""
    documents: list[str] = []
    """Collections of crew.yaml's `documents` that it may search and read, by tools that it is given
    for that: SearchDocuments, ReadDocument, ListDocuments."""
    tool_choice: ToolChoiceSetting = "auto"
    """Whether a turn's first answer must call a tool: `required`, or `{tool: name}`.

    `none`: it calls no tools.
    """
    max_rounds: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Model calls of one turn, from being entered to its answer; `settings.max_rounds` unless
    given."""
    on_limit: Literal["end", "answer"] = "end"
    """`answer`: the last of them may use no tools, and is told to answer with what it has.

    `end`: the run ends, as by `settings.max_rounds`.
    """
    handoff_targets: list[str] | None = None
    """Where to go when no signal was found; an empty list: nowhere by itself."""
    tool_call_mode: ToolCallMode = "auto"
    """`native`: the provider's tool calls; `text`: `Name(args)` at the start of a line.

    `auto`: native, and what a model writes with its template's marks or as its whole answer; in
    text where the provider says that the model has no native calls.
    """
    cost_limits: CostLimits = CostLimits()
    """What it may use."""
    context: ContextConfig | None = None
    """What its model is shown, instead of crew.yaml's `context`."""
    output: Annotated[JsonObject, WithJsonSchema({"type": "object"})] | None = None
    """Its answer is one JSON object by this JSON schema, checked before it is used.

    Strings, numbers, integers, booleans, lists, objects, enums; on strings `vocabulary`.
    """
    output_retries: Annotated[int, Field(ge=0, le=3)] = 1
    """How often a wrong one is sent back to the model, with what is wrong."""
    on_invalid: str | None = None
    """The agent or group to go to when it is still wrong; else the run fails."""
    plan: PlanConfig | None = None
    """It plans: workers do the tasks of its answer. In place of `output`."""
    cache: CacheConfig | None = None
    """Use right answers again for the same request of the same user, on the same day. For agents
    with an `output` and without tools."""
    output_text: str | None = None
    """The field that has its words for others and for people; else it has none."""
    max_concurrent: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """How many of its model calls are made at the same time, in all processes; others wait."""

    @property
    def tool_names(self) -> list[str]:
        """Names of all its tools, also of those that it has for its documents."""
        return list(dict.fromkeys([*self.tools, *(DOCUMENT_TOOL_NAMES if self.documents else ())]))

    @model_validator(mode="before")
    @classmethod
    def _go_agentic(cls, data: Any) -> Any:
        """Read flat cost keys as `cost_limits`."""
        if not isinstance(data, dict):
            return data
        flat = {FLAT_COST_KEYS[key]: value for key, value in data.items() if key in FLAT_COST_KEYS}
        rest = {key: value for key, value in data.items() if key not in FLAT_COST_KEYS}
        if flat:
            nested = rest.get("cost_limits")
            if nested is None:
                rest["cost_limits"] = flat
            elif isinstance(nested, dict):
                rest["cost_limits"] = {**flat, **nested}
        return rest
