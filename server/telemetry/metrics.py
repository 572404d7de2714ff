"""A listener that counts: Prometheus metrics, fed by the events of runs.

Labels come from the configuration only.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from agents.agent import Agent
from agents.errors import ModelErrorCode
from agents.events import AgentFailed, AgentResponded, ModelCalled, ToolRetried, ToolReturned
from crew.crew import Crew
from crew.journal.events import Answered, Event, HandedOff, RunDone, RunFailed, status_of
from crew.routing.graph import END
from tools.calls import CallStatus, ToolResult
from tools.kinds.mcp.servers import ServerStatus

# a series for the time at which another one began is needed by nobody
disable_created_metrics()  # type: ignore[no-untyped-call] # the package leaves its types out here

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
# a model may call a tool, or be one, that the configuration does not name
OTHER = "other"
RUN_OUTCOMES = ("completed", "failed", "cancelled")
NOTICE_OUTCOMES = ("sent", "failed", "given_up")
SCHEDULE_OUTCOMES = ("started", "skipped", "missed")
TOOL_OUTCOMES = (*get_args(CallStatus), "refused")


class Metrics:
    """The numbers of one process."""

    def __init__(self, crew: Crew) -> None:
        # what the configurations have named so far: tools, and the model of each agent
        self.tools: set[str] = set()
        self.models: dict[str, str] = {}
        self._workers: Gauge | None = None
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(name, text, labels, registry=registry, buckets=SECONDS)

        self.refused = counter(
            "crew_refused_requests",
            "Requests that were refused: token (a wrong one), slowed, scope, origin, overload, "
            "rate, streams.",
            "reason",
        )
        for reason in ("token", "slowed", "scope", "origin", "overload", "rate", "streams"):
            self.refused.labels(reason)
        self.runs = counter("crew_runs", "Runs that have ended.", "crew", "outcome")
        self.run_seconds = histogram(
            "crew_run_duration_seconds", "Active time of runs that have ended."
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
        self.tokens = counter(
            "crew_model_tokens", "Tokens, as providers counted them.", "model", "type"
        )
        self.cost = counter("crew_cost_usd", "Cost by the agents' prices.", "agent", "model")
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
        self.mcp_up = Gauge(
            "crew_mcp_up",
            "Whether an MCP server that was used is up.",
            ("server",),
            registry=registry,
        )
        self.mcp_restarts = counter(
            "crew_mcp_restarts", "Further starts of MCP servers, and connections to them.", "server"
        )
        # restarts that are counted, of each server
        self.mcp_counted: dict[str, int] = {}
        self.notices = counter(
            "crew_notices",
            "Messages of `notify`: sent, failed (tried again), given_up.",
            "channel",
            "outcome",
        )
        self.schedules = counter(
            "crew_schedules",
            "Times of `schedules`: started, skipped (its run had not ended), missed.",
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
            "Whether the newest write to the store succeeded.",
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
        self.adopt(crew)

    def watch(
        self,
        *,
        active: Callable[[], int],
        unplayable: Callable[[], int],
        subscribers: Callable[[], int],
        writable: Callable[[], bool],
    ) -> None:
        """Read these at each scrape."""
        self.writable.set_function(writable)
        self.active.set_function(active)
        self.unplayable.set_function(unplayable)
        self.subscribers.set_function(subscribers)

    def set_workers(self, workers: int) -> None:
        """How many are alive; without a queue there is no such series."""
        if self._workers is None:
            text = "Workers that are alive."
            self._workers = Gauge("crew_workers", text, registry=self.registry)
        self._workers.set(workers)

    def fail_reload(self) -> None:
        """The newest files have errors."""
        self.reload.set(0)

    def adopt(self, crew: Crew) -> None:
        """Count for this crew from now on; all its series begin at zero, so none is missing."""
        self.crew = crew
        self.reload.set(1)
        self.tools |= {name for agent in crew.agents.values() for name in agent.tools}
        self.models |= {agent.id: agent.model.name for agent in crew.agents.values()}
        for outcome in RUN_OUTCOMES:
            self.runs.labels(crew.name, outcome)
        for channel in crew.config.notify:
            for outcome in NOTICE_OUTCOMES:
                self.notices.labels(channel, outcome)
        for schedule in crew.config.schedules:
            for outcome in SCHEDULE_OUTCOMES:
                self.schedules.labels(schedule, outcome)
        for agent in crew.agents.values():
            self._begin_agent(agent)
        for tool in (*self.tools, OTHER):
            self.tool_seconds.labels(tool)
            self.tool_retries.labels(tool)
            self.stalls.labels(tool)
            self.stall_seconds.labels(tool)
            for outcome in TOOL_OUTCOMES:
                self.tool_calls.labels(tool, outcome)
        for edge in crew.graph.edges:
            if edge.kind != "member" and edge.to != END:
                self.handoffs.labels(edge.from_, edge.to, edge.kind)

    def _begin_agent(self, agent: Agent) -> None:
        self.turn_seconds.labels(agent.id)
        for outcome in ("success", "error"):
            self.turns.labels(agent.id, outcome)
        for provider, model in agent.model.endpoints:
            for outcome in ("success", "cancelled", *get_args(ModelErrorCode)):
                self.requests.labels(provider, model, outcome)
            for type_ in ("prompt", "completion"):
                self.tokens.labels(model, type_)
        self.cost.labels(agent.id, agent.model.name)

    def __call__(self, run_id: str, event: Event) -> None:
        """Count an event."""
        match event:
            case RunDone(reason="paused"):
                pass
            case RunDone() | RunFailed():
                self.runs.labels(self.crew.name, status_of(event.reason)).inc()
                self.run_seconds.observe(event.duration_seconds)
            case AgentResponded():
                self._count_response(event)
            case AgentFailed():
                self.turns.labels(event.agent_id, "error").inc()
            case ModelCalled(request=request):
                model, usage = request.model, request.usage
                self.requests.labels(request.provider, model, request.outcome).inc()
                self.request_seconds.observe(request.duration_seconds)
                self.tokens.labels(model, "prompt").inc(usage.prompt_tokens)
                self.tokens.labels(model, "completion").inc(usage.completion_tokens)
            case ToolReturned(result=result):
                tool = self._tool(result.tool)
                self.tool_calls.labels(tool, _outcome(result)).inc()
                if (why := result.facts.get("denied")) is not None:
                    self.tool_denied.labels(tool, str(why)).inc()
                self.tool_seconds.labels(tool).observe(result.duration_seconds)
            case Answered(decided=decided):
                for tool, decision in decided:
                    self.approvals.labels(self._tool(tool), decision).inc()
            case ToolRetried(retried=retried):
                self.tool_retries.labels(self._tool(retried.call.tool)).inc()
            case HandedOff():
                self.handoffs.labels(event.from_, event.to, event.why).inc()

    def set_breakers(
        self, open_by_tool: Mapping[str, bool], open_by_provider: Mapping[str, bool]
    ) -> None:
        """Which tools are refused now, and which providers not asked."""
        for tool, is_open in open_by_tool.items():
            self.breaker_open.labels(tool).set(is_open)
        opened: dict[str, bool] = {}
        for name, is_open in open_by_provider.items():
            # which may have several addresses
            provider = name.partition(" ")[0]
            opened[provider] = opened.get(provider, False) or is_open
        for provider, is_open in opened.items():
            self.provider_breaker_open.labels(provider).set(is_open)

    def set_mcp(self, statuses: Iterable[ServerStatus]) -> None:
        """How the MCP servers are now."""
        for status in statuses:
            name = status.name
            self.mcp_up.labels(name).set(status.state == "up")
            more = status.restarts - self.mcp_counted.get(name, 0)
            # one that is described anew begins to count anew
            self.mcp_restarts.labels(name).inc(max(0, more))
            self.mcp_counted[name] = status.restarts

    def count_notice(self, channel: str, outcome: str) -> None:
        """A channel was told, or not."""
        self.notices.labels(channel, outcome).inc()

    def count_schedule(self, schedule: str, outcome: str, times: int) -> None:
        """So many times of a schedule have come."""
        self.schedules.labels(schedule, outcome).inc(times)

    def count_stall(self, tool: str, seconds: float) -> None:
        """A tool has held up the whole process."""
        self.stalls.labels(self._tool(tool)).inc()
        self.stall_seconds.labels(self._tool(tool)).inc(seconds)

    def _count_response(self, event: AgentResponded) -> None:
        self.turns.labels(event.agent_id, "success").inc()
        self.turn_seconds.labels(event.agent_id).observe(event.duration_seconds)
        if event.usage.cost_usd:
            model = self.models.get(event.agent_id, OTHER)
            self.cost.labels(event.agent_id, model).inc(event.usage.cost_usd)

    def _tool(self, name: str) -> str:
        return name if name in self.tools else OTHER

    def as_json(self) -> dict[str, Any]:
        """The same numbers as a document: by metric, a list of {"labels", "value"}."""
        out: dict[str, list[dict[str, Any]]] = {}
        for family in self.registry.collect():
            for sample in family.samples:
                out.setdefault(sample.name, []).append(
                    {"labels": sample.labels, "value": sample.value}
                )
        return out


def _outcome(result: ToolResult) -> str:
    """How a call has ended; by a limit or a breaker it was not made."""
    return "refused" if "refused" in result.facts else result.status
