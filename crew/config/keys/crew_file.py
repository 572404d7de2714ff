"""The shape of crew.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from agents.config import AgentConfig
from agents.context.shape import ContextConfig
from agents.endpoint import ProviderConfig
from agents.limits import AfterUntrusted
from crew.config.keys.budgets import BudgetConfig
from crew.config.keys.conversations import ConversationsConfig, HelpersConfig
from crew.config.keys.documents import CollectionConfig
from crew.config.keys.gate import ReloadGate
from crew.config.keys.hooks import HookConfig
from crew.config.keys.memory import MemoryConfig
from crew.config.keys.models import NamedModelConfig
from crew.config.keys.notify import ChannelConfigs
from crew.config.keys.outputs import OutputRouteConfig, VocabularyConfig
from crew.config.keys.replay import ReplayConfig
from crew.config.keys.schedules import ScheduleConfig, TimeZone
from crew.journal.records.rows import NoticeKind
from tools.config import ToolConfigs
from tools.schemas.yaml_shape import Name, Shape

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Percent = Annotated[float, Field(ge=0, le=100)]

# Keys at the top of go-agentic's crew.yaml that mean nothing here; each loads with a warning.
IGNORED_CREW_KEYS = frozenset(
    {
        "tasks",
        "memory_limits",
        "error_limits",
        "logging",
        "config_mode",
        "parallel_targets",
        "parallel_execution",
        "enforce_quotas",
    }
)
# What conductor, cagent and others call these keys.
SYNONYMS = {"entry": "entry_point", "start": "entry_point"}
# Settings of go-agentic's without effect here.
IGNORED_SETTINGS = frozenset(
    {
        *(
            "config_mode",
            "enforce_quotas",
            "block_on_quota_exceed",
            "graceful_shutdown_check_millis",
        ),
        *("client_cache_ttl_minutes", "stream_buffer_size", "stream_chunk_timeout_millis"),
        *(
            "max_stored_requests",
            "request_store_cleanup_minutes",
            "min_agent_id_length",
            "max_agent_id_length",
        ),
        *(
            "max_memory_mb",
            "max_memory_per_call_mb",
            "max_daily_memory_gb",
            "max_memory_per_day_gb",
            "memory_alert_percent",
        ),
        *(
            "max_errors_per_hour",
            "max_errors_per_day",
            "max_consecutive_errors",
            "slow_call_threshold_seconds",
        ),
        *("max_calls_per_minute", "max_calls_per_hour", "max_calls_per_day"),
        *("max_tokens_per_call", "max_tokens_per_day", "max_cost_per_day", "cost_alert_threshold"),
    }
)


class CrewSettings(Shape):
    """Limits and options of a crew."""

    ignored = IGNORED_SETTINGS

    max_handoffs: Annotated[int, Field(ge=0, le=1000)] = 5
    """Changes of the current agent that a run may make.

    Entering a group is one, leaving it another.
    """
    max_rounds: Annotated[int, Field(ge=1, le=1000)] = 10
    """Model calls of the main loop that a run may make; a group counts as one."""
    timeout_seconds: Seconds = 300
    """Active time of a run; a pause does not use it up."""
    language: str = "en"
    """`{{language}}` in prompts."""
    organization: str = ""
    """`{{organization}}` in prompts."""
    parallel_timeout_seconds: Seconds = 60
    """Of each member of a group, unless the group says otherwise."""
    max_tool_output_chars: Annotated[int, Field(gt=0, le=65_536)] = 2000
    """Of one tool output, as the model is shown it."""
    max_total_tool_output_chars: Annotated[int, Field(gt=0, le=1_000_000)] = 4000
    """Of all outputs of one answer's calls."""
    max_context_window: Annotated[int, Field(gt=0)] = 32_000
    """Tokens (estimated) of a request; over it the middle of the history is left out."""
    context_trim_percent: Percent = 20
    """How much of the window is freed then."""
    max_input_size_kb: Annotated[float, Field(gt=0, le=10_000)] = 10
    """Longest query, in thousands of characters."""
    max_request_body_size_kb: Annotated[float, Field(gt=0, le=1_000_000)] = 10_240
    """Largest HTTP body, in thousands of bytes."""
    tool_execution_timeout_seconds: Seconds = 5
    """Of one attempt of a tool, unless the tool says otherwise."""
    tool_result_timeout_seconds: Seconds = 30
    """Of all calls of one answer together."""
    tool_overhead_budget_millis: Annotated[float, Field(ge=0, le=60_000)] = 500
    """Kept free at the end of that time."""
    min_tool_timeout_millis: Annotated[float, Field(gt=0, le=60_000)] = 100
    """The least that an attempt is given; no call starts with less."""
    tool_retries: Annotated[int, Field(ge=0, le=20)] = 2
    """Further attempts of a tool after a timeout, a network error or a temporary one."""
    retry_backoff_min_millis: Annotated[float, Field(ge=0, le=600_000)] = 100
    """First wait before another attempt, of tools and models; doubled each time."""
    retry_backoff_max_seconds: Annotated[float, Field(ge=0, le=3600)] = 5
    """Longest such wait."""
    timeout_warning_threshold_pct: Percent = 20
    """A warning is logged when less than this part of the time for tools remains."""
    max_calls_per_answer: Annotated[int, Field(ge=1, le=1000)] = 64
    """Calls that one answer may make; more are the model's mistake."""
    max_failed_sequences: Annotated[int, Field(ge=1, le=1000)] | None = None
    """After so many answers of a turn in a row all calls of which have failed, the next one may use
    no tools."""
    max_same_calls: Annotated[int, Field(ge=1, le=1000)] | None = None
    """How often a turn may make the same call, of one tool with the same arguments; a further one
    is an error that says so."""
    after_untrusted: AfterUntrusted = "allow"
    """What a call that acts once needs after a run has read text of others (see `untrusted` of
    tools): `allow`: nothing more, `approve`: a person, `refuse`: it is not made."""
    show_thinking: bool = False
    """With `deltas`, what models think is published as it comes (`agent_thinking`), as far as their
    providers show it; it is not stored."""
    show_signals: bool = False
    """Answers in other protocols (AG-UI, OpenAI and others) have the text of signals that were
    acted on; the crew's own events have it always."""
    client_models: list[str] = []
    """Which of `models` a request may name as its `model`, for agents with `model_from_client`."""
    parallel_tool_calls: bool = False
    """Run one answer's calls all at once."""
    tool_search: Literal["auto", "always", "never"] = "auto"
    """Whether agents get a tool that finds their tools, instead of all of them; `auto`: those whose
    tools take more than 20,000 characters. Not for `tool_call_mode: text`."""
    route_hints: Literal["auto", "always", "never"] = "auto"
    """Signals that are added to an agent's prompt: those it does not mention, all, or none."""
    sse_keep_alive_seconds: Annotated[float, Field(gt=0, le=3600)] = 15
    """A silent stream gets a `ping` after so long."""
    disconnect_grace_seconds: Annotated[float, Field(ge=-1, le=86_400)] = -1
    """How long a run goes on after its last listener has left; -1: to its end."""
    max_recoveries: Annotated[int, Field(ge=1, le=100)] = 3
    """How often a run is resumed without progress after its process has ended; then it fails."""
    max_concurrent_runs: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """How many runs are at work at the same time, in all processes together; the others wait."""
    max_concurrent_runs_per_owner: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """The same for each owner (a token's name)."""
    max_waiting_runs_per_owner: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """How many runs of one owner may wait; a further one is refused (429)."""
    max_waiting_runs: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    """How many runs of all owners may wait; a further one is refused (503)."""
    max_stored_mb_per_owner: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = 10_000
    """Of the events of one owner's runs, x 1,000,000 bytes; beyond it none is started (429) until
    old ones are deleted. null: no bound."""
    unplayable_after_seconds: Annotated[float, Field(gt=0, le=604_800)] = 300
    """How long a run waits for a process that has what it was started with; then it fails."""
    client_start_agents: list[Name] = []
    """The agents that a client's `resume_agent_id` may name; none unless given."""
    timezone: TimeZone = "UTC"
    """In which the hours, days, weeks and months of budgets and costs begin."""
    unpriced_usd_per_million: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """What a million tokens cost, in and out, of models without a known price."""
    allow_client_system: bool = False
    """Send a client's system messages to the model."""
    show_prompts: bool = False
    """Let `GET /api/crew?prompts=1` show the system prompts."""


class SignalConfig(Shape):
    """A text that an agent emits, and where it leads."""

    ignored = frozenset({"parallel_targets"})

    signal: Annotated[str, Field(min_length=1)]
    """Looked for without regard to case and white space.

    `[SUCH]` with its brackets, others as whole words.
    """
    target: str | None = None
    """An agent, a group, or empty: the run ends."""
    description: str = ""
    """When to emit it; added to the agent's prompt as a hint."""


class BehaviorConfig(Shape):
    """How an agent is left."""

    ignored = frozenset({"parallel_execution"})

    wait_for_signal: bool = False
    """Without a signal in its answer the run pauses for a person."""
    wait_timeout_seconds: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    """How long a pause of this agent waits for an answer; for ever unless given.

    Calls that wait for a yes are denied then.
    """
    on_wait_timeout: str | None = None
    """Where to go when no answer came in time: an agent or a group; empty: the run ends."""
    auto_route: bool = True
    """Go on to the next agent of the list when nothing else says where."""
    is_terminal: bool | None = None
    """As in the agent's file, with which it must not disagree."""
    description: str = ""
    """For the reader."""


class GroupConfig(Shape):
    """Agents that work at once."""

    agents: list[str]
    """Its members."""
    wait_for_all: bool = True
    """Wait for all members; otherwise until one answer decides where to go."""
    timeout_seconds: Seconds | None = None
    """Of each member; `settings.parallel_timeout_seconds` unless given."""
    next_agent: str | None = None
    """Where to go afterwards; without it the members' signals decide."""
    description: str = ""
    """For the reader."""


class RoutingConfig(Shape):
    """Where an agent's answer leads."""

    outputs: dict[str, list[OutputRouteConfig]] = {}
    """By agent with an `output`; the first rule that fits wins, before all others."""

    signals: dict[str, list[SignalConfig]] = {}
    """By agent; the first that is found wins."""
    defaults: dict[str, str | None] = {}
    """By agent: where to go when no signal was found; null: the run ends."""
    agent_behaviors: dict[str, BehaviorConfig] = {}
    """By agent."""
    parallel_groups: dict[Name, GroupConfig] = {}
    """By name."""


class CrewConfig(Shape):
    """crew.yaml: a crew."""

    ignored = IGNORED_CREW_KEYS
    synonyms = SYNONYMS
    # x-ai/grok-4
    foreign = frozenset({"models"})

    version: Literal["1.0"] = "1.0"
    """Version of this schema."""
    name: str = ""
    """The folder's name unless given."""
    description: str = ""
    """For the reader."""
    entry_point: str | None = None
    """Where a run starts; the first agent that is not terminal unless given."""
    agents: Annotated[list[Name], Field(min_length=1)]
    """Ids; each has a file in agents/. The order is that of a crew without routing."""
    settings: CrewSettings = CrewSettings()
    """Limits and options."""
    routing: RoutingConfig = RoutingConfig()
    """Signals, defaults, behaviors and groups."""
    providers: dict[str, ProviderConfig] = {}
    """OpenAI-compatible endpoints by name; `openai`, `ollama` and `scripted` are built in."""
    models: dict[str, NamedModelConfig] = {}
    """What is known of models, by the names that agents have as their `model`."""
    vocabularies: dict[Name, VocabularyConfig] = {}
    """Texts that typed answers may have, by name."""
    tools: ToolConfigs = {}
    """As in tools.yaml."""
    hooks: dict[Name, HookConfig] = {}
    """What other programs may POST to start a run, by name."""
    notify: ChannelConfigs = {}
    """Where people and programs are told of runs that a server or worker plays, by name."""
    schedules: dict[Name, ScheduleConfig] = {}
    """What a server or worker asks the crew at set times, by name."""
    conversations: ConversationsConfig | None = None
    """Lets runs be exchanges of conversations; `{}` for the defaults."""
    context: ContextConfig | None = None
    """What models are shown; an agent's file may have its own instead."""
    memory: MemoryConfig = MemoryConfig()
    """What it remembers beside its conversations."""
    documents: dict[Name, CollectionConfig] = {}
    """Collections of documents that agents search and read, by name."""
    helpers: HelpersConfig = HelpersConfig()
    """Models that name and summarise conversations, learn, and describe documents."""
    budgets: dict[Name, BudgetConfig] = {}
    """What calls of models may cost together, by name."""
    replay: ReplayConfig = ReplayConfig()
    """What `crew record` leaves out of what it keeps."""
    reload_gate: ReloadGate | None = None
    """What the files of a reload must pass before new runs get them; nothing unless given."""

    def context_of(self, agent: AgentConfig) -> ContextConfig | None:
        """Return what an agent is shown: its own `context`, else the crew's."""
        return agent.context or self.context

    def listed_documents(self, agent: AgentConfig) -> list[str]:
        """Return the collections of which an agent is shown what there is.

        Its own; for an agent without any, all, where what it is shown names them.
        """
        context = self.context_of(agent)
        blocks = (context.blocks or ()) if context is not None else ()
        if agent.documents or not any(one.kind == "documents" for one in blocks):
            return list(agent.documents)
        return list(self.documents)

    @property
    def told(self) -> dict[str, list[NoticeKind]]:
        """Of what each channel is told."""
        return {name: channel.on for name, channel in self.notify.items()}
