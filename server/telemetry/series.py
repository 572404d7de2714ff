"""All series of the metrics, with their labels; which values they have is `metrics`'."""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import TypeVar, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from crew.journal.records.conversations import ChoreKind

# a series for the time at which another one began is not needed
disable_created_metrics()  # type: ignore[no-untyped-call] # the package leaves its types out here

# token: a wrong one; connections: too many, of all or of one address; malformed: no request at all
REFUSALS = (
    "token",
    "slowed",
    "scope",
    "origin",
    "overload",
    "rate",
    "streams",
    "connections",
    "malformed",
)
TOKENS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
CHORES: tuple[ChoreKind, ...] = get_args(ChoreKind)
CHORE_OUTCOMES = ("done", "skipped", "stale", "postponed", "retried", "failed")
# of what takes milliseconds
MILLIS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
Metric = TypeVar("Metric", Counter, Histogram)


def _with_cached_labels(metric: Metric) -> Metric:
    """Have the metric look its series up quickly: events ask for them, and none is removed."""
    metric.labels = cache(metric.labels)  # type: ignore[method-assign] # the same, remembered
    return metric


class Series:
    """Of one process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return _with_cached_labels(Counter(name, text, labels, registry=registry))

        def histogram(
            name: str, text: str, *labels: str, buckets: Sequence[float] = SECONDS
        ) -> Histogram:
            made = Histogram(name, text, labels, registry=registry, buckets=buckets)
            return _with_cached_labels(made)

        self.refused = counter(
            "crew_refused_requests",
            f"Requests that were refused: {', '.join(REFUSALS)}.",
            "reason",
        )
        for reason in REFUSALS:
            self.refused.labels(reason)
        self.runs = counter("crew_runs", "Runs that have ended.", "crew", "outcome")
        self.run_seconds = histogram(
            "crew_run_duration_seconds", "Active time of runs that have ended."
        )
        self.stage_seconds = histogram(
            "crew_stage_duration_seconds",
            "Active time of completed runs by what it went to.",
            "stage",
        )
        self.turns = counter("crew_agent_turns", "Answers of agents.", "agent", "outcome")
        self.turn_seconds = histogram(
            "crew_agent_turn_duration_seconds", "Time to an agent's answer.", "agent"
        )
        self.requests = counter(
            "crew_model_requests", "Requests to providers.", "provider", "model", "outcome"
        )
        self.request_seconds = histogram(
            "crew_model_request_duration_seconds", "Time of a request to a provider."
        )
        self.first_token_seconds = histogram(
            "crew_model_first_token_seconds",
            "Time from a request to the first words of its answer, where it is streamed.",
        )
        self.tokens = counter(
            "crew_model_tokens", "Tokens, as providers counted them.", "model", "type"
        )
        self.cost = counter("crew_cost_usd", "Cost by the models' prices.", "agent", "model")
        self.budget_used = Gauge(
            "crew_budget_used_ratio",
            "Of the fullest pot of a budget, the part that is used.",
            ["budget"],
            registry=registry,
        )
        self.budget_reserved = Gauge(
            "crew_budget_reserved_usd",
            "USD that are reserved for calls that are made now.",
            ["budget"],
            registry=registry,
        )
        self.budget_refused = counter(
            "crew_budget_refused", "Calls for which a budget had no room.", "budget", "then"
        )
        self.unpriced = counter(
            "crew_unpriced_calls", "Requests to models without a known price.", "model"
        )
        self.estimated = counter(
            "crew_estimated_calls", "Requests the tokens of which we have counted.", "model"
        )
        self.tool_calls = counter(
            "crew_tool_calls", "Tool calls that have their result.", "tool", "outcome"
        )
        self.tool_seconds = histogram(
            "crew_tool_duration_seconds", "Time of a tool call with its retries.", "tool"
        )
        self.tool_denied = counter(
            "crew_tool_denied", "Calls that may not reach what they ask for.", "tool", "why"
        )
        self.approvals = counter(
            "crew_approvals", "What people have decided on calls of tools.", "tool", "decision"
        )
        self.breaker_open = Gauge(
            "crew_breaker_open",
            "Whether calls of a tool are refused since it does not work.",
            ("tool",),
            registry=registry,
        )
        self.provider_breaker_open = Gauge(
            "crew_provider_breaker_open",
            "Whether a provider is not asked since it does not work.",
            ("provider",),
            registry=registry,
        )
        self.token_ratio = Gauge(
            "crew_token_estimate_ratio",
            "Tokens as a model's provider counts them, by those that are estimated.",
            ("model",),
            registry=registry,
        )
        self.overflows = counter(
            "crew_context_overflows", "Requests that were too long for their model.", "model"
        )
        self.conversations = counter("crew_conversations", "Conversations that have begun.")
        self.conversation_refusals = counter(
            "crew_conversation_refusals",
            "Queries that a conversation did not take: busy, asks, full, waiting (too many do).",
            "reason",
        )
        for reason in ("busy", "asks", "full", "waiting"):
            self.conversation_refusals.labels(reason)
        self.context_seconds = histogram(
            "crew_context_duration_seconds", "Time to load what an agent is shown."
        )
        self.plans = counter("crew_plans", "Plans that have ended.", "agent", "outcome")
        self.plan_tasks = counter(
            "crew_plan_tasks", "Tasks of plans that have ended, by worker.", "agent", "outcome"
        )
        self.kept_dropped = counter(
            "crew_kept_dropped",
            "Messages that went without what another endpoint wants back with them.",
            "provider",
        )
        self.context_tokens = histogram(
            "crew_context_tokens",
            "Tokens (estimated) of what an agent is shown, by kind of block.",
            "agent",
            "kind",
            buckets=TOKENS,
        )
        self.context_left_out = counter(
            "crew_context_left_out",
            "What an agent is not shown: window (it does not fit), late.",
            "agent",
            "kind",
            "reason",
        )
        self.summary_facts = counter(
            "crew_conversation_facts",
            "Facts of summaries: kept, dropped (the quote does not stand in its exchange).",
            "outcome",
        )
        for outcome in ("kept", "dropped"):
            self.summary_facts.labels(outcome)
        self.chores = counter(
            "crew_chores",
            "What became of chores: done, skipped, stale, postponed, retried, failed.",
            "kind",
            "outcome",
        )
        self.chore_seconds = histogram("crew_chore_duration_seconds", "Time of a chore.", "kind")
        self.chores_waiting = Gauge(
            "crew_chores_waiting", "Chores that wait.", ("kind",), registry=registry
        )
        for kind in CHORES:
            self.chore_seconds.labels(kind)
            self.chores_waiting.labels(kind)
            for outcome in CHORE_OUTCOMES:
                self.chores.labels(kind, outcome)
        self.mcp_up = Gauge(
            "crew_mcp_up",
            "Whether an MCP server that was used is up.",
            ("server",),
            registry=registry,
        )
        self.mcp_restarts = counter(
            "crew_mcp_restarts", "Further starts of MCP servers, and connections to them.", "server"
        )
        self.notices = counter(
            "crew_notices",
            "Messages of `notify`: sent, failed (tried again), given_up.",
            "channel",
            "outcome",
        )
        self.schedules = counter(
            "crew_schedules",
            "Times of `schedules`: started, skipped (its run had not ended), missed, paused.",
            "schedule",
            "outcome",
        )
        self.tool_retries = counter("crew_tool_retries", "Further attempts of tools.", "tool")
        self.stalls = counter(
            "crew_tool_stalls", "How often a tool has held up the whole process.", "tool"
        )
        self.stall_seconds = counter(
            "crew_tool_stall_seconds", "For how long tools have held up the whole process.", "tool"
        )
        self.handoffs = counter(
            "crew_handoffs", "Changes of the current agent.", "from", "to", "why"
        )
        self.outputs = counter(
            "crew_outputs",
            "Typed answers: valid at once, repaired by the model, or invalid to the end.",
            "agent",
            "outcome",
        )
        self.output_unknown = counter(
            "crew_output_unknown",
            "Texts in typed answers that a vocabulary does not have.",
            "vocabulary",
        )
        self.cache = counter(
            "crew_cache",
            "Answers of agents and results of tools that may be used again: hit, or miss.",
            "kind",
            "result",
        )
        self.turn_limits = counter(
            "crew_turn_limits",
            "Turns that a limit has bounded: max_rounds, failed_sequences, same_calls.",
            "agent",
            "limit",
        )
        self.run_limits = counter(
            "crew_run_limits",
            "Runs that a limit has ended: max_rounds, max_handoffs.",
            "limit",
        )
        self.memory_changes = counter(
            "crew_memory_changes", "Changes of what the crew remembers.", "op", "by"
        )
        self.memory_refused = counter(
            "crew_memory_refused",
            "What was not changed: quote (it proves nothing), name, owner, writer, value.",
            "reason",
        )
        self.tainted_runs = counter(
            "crew_tainted_runs", "Runs that have read text of others (`untrusted`)."
        )
        self.recall_seconds = histogram(
            "crew_recall_duration_seconds", "Time of a search in recall memory.", buckets=MILLIS
        )
        self.embedding_requests = counter(
            "crew_embedding_requests", "Requests for vectors of texts.", "model", "outcome"
        )
        self.replays = counter(
            "crew_replays", "Runs that were played again over HTTP, by verdict.", "verdict"
        )
        self.documents = counter(
            "crew_documents", "Documents that were read, or failed.", "collection", "outcome"
        )
        self.document_seconds = histogram(
            "crew_document_duration_seconds",
            "Time of a document's steps: read (in a process of its own), index, describe.",
            "step",
        )
        self.searches = counter("crew_searches", "Searches in documents.", "collection")
        self.pauses = Gauge("crew_pauses_open", "Runs that wait for a person.", registry=registry)
        self.resumes = counter(
            "crew_stream_resumes", "Streams that came back with Last-Event-ID.", "result"
        )
        self.active = Gauge("crew_runs_active", "Runs alive in this process.", registry=registry)
        self.waiting = Gauge(
            "crew_runs_waiting", "Runs that wait to be at work.", registry=registry
        )
        self.unplayable = Gauge(
            "crew_runs_unplayable",
            "Runs that this process could not play lately.",
            registry=registry,
        )
        self.writable = Gauge(
            "crew_store_writable",
            "Whether the newest write to the store, and the newest look into it, succeeded.",
            registry=registry,
        )
        self.database = Gauge(
            "crew_database_bytes",
            "What the database holds, as it was last measured; it is measured once a minute.",
            registry=registry,
        )
        self.database_limit = Gauge(
            "crew_database_limit_bytes",
            "From how much on the oldest is deleted; 0: there is no limit.",
            registry=registry,
        )
        self.backup_interval = Gauge(
            "crew_backup_interval_seconds",
            "How often the server makes backups by itself; 0: it makes none.",
            registry=registry,
        )
        self.last_backup = Gauge(
            "crew_backup_last_success_timestamp_seconds",
            "When the server made its newest backup; 0: it makes none, or none yet.",
            registry=registry,
        )
        self.subscribers = Gauge(
            "crew_stream_subscribers", "Streams that are open.", registry=registry
        )
        self.reload = Gauge(
            "crew_config_last_reload_successful",
            "Whether the newest files could be loaded.",
            registry=registry,
        )
        Gauge("crew_build_info", "The version that runs.", ("version",), registry=registry).labels(
            version("crewline")
        ).set(1)
        for result in ("resumed", "up_to_date", "refused"):
            self.resumes.labels(result)
