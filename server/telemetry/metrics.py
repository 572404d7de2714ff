"""A listener that counts: Prometheus metrics, fed by the events of runs.

Labels come from the configuration only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import Gauge

from agents.costs.usage import Usage
from agents.events import (
    AgentFailed,
    AgentResponded,
    ContextShown,
    ModelCalled,
    ToolRetried,
    ToolReturned,
    Warned,
)
from agents.model import RequestEnded
from crew.crew import Crew
from crew.journal.events import (
    Answered,
    Event,
    HandedOff,
    RunDone,
    RunFailed,
    RunStarted,
    status_after,
)
from crew.journal.planned.events import PlanEnded, TaskEnded
from crew.journal.records.conversations import ChoreKind
from crew.journal.records.remembered.core import ChangedBy
from crew.journal.remembered.events import (
    DocumentsSearched,
    MemoryChanged,
    MemoryRefused,
    MemorySearched,
    Tainted,
)
from server.telemetry.series import CHORES, Series
from server.telemetry.zeros import RUN_LIMITS, begin_at_zero
from tools.calls import ToolResult
from tools.kinds.mcp.servers import ServerStatus

# a model may call a tool, or be one, that the configuration does not name
OTHER = "other"


class Metrics(Series):
    """The numbers of one process."""

    def __init__(self, crew: Crew) -> None:
        super().__init__()
        # the tools that the configurations have named so far
        self.tools: set[str] = set()
        # agents and tools the answers and results of which are used again, by kind and name
        self.keeping: set[tuple[str, str]] = set()
        # requests for vectors that are counted, by model and outcome
        self.embeddings_counted: dict[tuple[str, str], int] = {}
        # calls for which budgets had no room that are counted, by budget and what followed
        self.refused_counted: dict[tuple[str, str], int] = {}
        # restarts that are counted, of each server
        self.mcp_counted: dict[str, int] = {}
        self._workers: Gauge | None = None
        # the store could not be asked by the newest scrape
        self.is_away = False
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
        self.writable.set_function(lambda: writable() and not self.is_away)
        self.active.set_function(active)
        self.unplayable.set_function(unplayable)
        self.subscribers.set_function(subscribers)

    def set_workers(self, workers: int) -> None:
        """Set how many are alive; without a queue there is no such series."""
        if self._workers is None:
            text = "Workers that are alive."
            self._workers = Gauge("crew_workers", text, registry=self.registry)
        self._workers.set(workers)

    def fail_reload(self) -> None:
        """Note that the newest files have errors."""
        self.reload.set(0)

    def adopt(self, crew: Crew) -> None:
        """Count for this crew from now on."""
        self.crew = crew
        self.reload.set(1)
        for agent in crew.agents.values():
            kept = [one.name for one in agent.tools.values() if one.cache_seconds is not None]
            self.keeping |= {("tool", name) for name in kept}
            self.keeping |= {("answer", agent.id)} if agent.kept is not None else set()
        self.tools |= {name for agent in crew.agents.values() for name in agent.tools}
        begin_at_zero(self, crew, (*self.tools, OTHER), {kind for kind, _ in self.keeping})

    def __call__(self, run_id: str, event: Event) -> None:
        """Count an event."""
        match event:
            # first what comes most often
            case ModelCalled(request=request):
                self._count_request(request)
                self._count_cost(event.agent_id, request)
            case AgentResponded():
                self._count_response(event)
            case ToolReturned():
                self._count_result(event)
            case RunDone() | RunFailed():
                self._count_end(event)
            case RunStarted():
                self._count_start(event)
            case HandedOff():
                self.handoffs.labels(event.from_, event.to, event.why).inc()
            case ContextShown():
                self._count_context(event)
            case AgentFailed():
                self.turns.labels(event.agent_id, "error").inc()
            case TaskEnded() | PlanEnded():
                self._count_plan(event)
            case Answered():
                self._count_decisions(event)
            case MemoryChanged() | MemoryRefused() | MemorySearched() | Tainted():
                self._count_memory(event)
            case DocumentsSearched(collections=names):
                self._count_searches(names)
            case ToolRetried(retried=retried):
                self.tool_retries.labels(self._tool(retried.call.tool)).inc()
            case Warned(limit=str() as limit, agent_id=str() as agent_id):
                self.turn_limits.labels(agent_id, limit).inc()

    def set_breakers(
        self, open_by_tool: Mapping[str, bool], open_by_provider: Mapping[str, bool]
    ) -> None:
        """Set which tools are refused now, and which providers are not called."""
        for tool, is_open in open_by_tool.items():
            self.breaker_open.labels(tool).set(is_open)
        opened: dict[str, bool] = {}
        for name, is_open in open_by_provider.items():
            # which may have several addresses
            provider = name.partition(" ")[0]
            opened[provider] = opened.get(provider, False) or is_open
        for provider, is_open in opened.items():
            self.provider_breaker_open.labels(provider).set(is_open)

    def set_token_ratios(self, ratios: Mapping[tuple[str, str], float]) -> None:
        """Set by how much models' providers count more tokens than are estimated."""
        for (_, model), ratio in ratios.items():
            self.token_ratio.labels(model).set(ratio)

    def set_embeddings(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Set how many requests for vectors have ended, by model and outcome."""
        for key, count in counts.items():
            self.embedding_requests.labels(*key).inc(count - self.embeddings_counted.get(key, 0))
            self.embeddings_counted[key] = count

    def set_budgets(
        self,
        pots: Mapping[str, tuple[float, float]],
        refused: Mapping[tuple[str, str], int],
    ) -> None:
        """Set how full budgets are.

        Args:
            pots: by budget: of its fullest pot the part that is used; the USD that are reserved.
            refused: by budget and what followed: calls for which it had no room.
        """
        for name, (ratio, reserved) in pots.items():
            self.budget_used.labels(name).set(ratio)
            self.budget_reserved.labels(name).set(reserved)
        for key, count in refused.items():
            self.budget_refused.labels(*key).inc(count - self.refused_counted.get(key, 0))
            self.refused_counted[key] = count

    def set_mcp(self, statuses: Iterable[ServerStatus]) -> None:
        """Set how the MCP servers are now."""
        for status in statuses:
            name = status.name
            self.mcp_up.labels(name).set(status.state == "up")
            more = status.restarts - self.mcp_counted.get(name, 0)
            # one that is described anew begins to count anew
            self.mcp_restarts.labels(name).inc(max(0, more))
            self.mcp_counted[name] = status.restarts

    def count_memory(self, op: str, by: ChangedBy) -> None:
        """Count a change of memory that no run has made."""
        self.memory_changes.labels(op, by).inc()

    def count_notice(self, channel: str, outcome: str) -> None:
        """Count a notice to a channel, sent or not."""
        self.notices.labels(channel, outcome).inc()

    def count_schedule(self, schedule: str, outcome: str, times: int) -> None:
        """Count so many due times of a schedule."""
        self.schedules.labels(schedule, outcome).inc(times)

    def count_stall(self, tool: str, seconds: float) -> None:
        """Count that a tool has held up the whole process."""
        self.stalls.labels(self._tool(tool)).inc()
        self.stall_seconds.labels(self._tool(tool)).inc(seconds)

    def _count_start(self, event: RunStarted) -> None:
        if event.conversation.exchange == 1:
            self.conversations.inc()

    def _count_end(self, event: RunDone | RunFailed) -> None:
        if event.reason == "paused":
            return
        self.runs.labels(self.crew.name, status_after(event)).inc()
        self.run_seconds.observe(event.duration_seconds)
        if event.reason in RUN_LIMITS:
            self.run_limits.labels(event.reason).inc()
        if isinstance(event, RunDone):
            for stage, seconds in event.all_stages.items():
                self.stage_seconds.labels(stage).observe(seconds)

    def _count_context(self, event: ContextShown) -> None:
        if event.load_seconds:
            self.context_seconds.observe(event.load_seconds)
        for block in event.blocks:
            agent, kind = event.agent_id, block.kind
            self.context_tokens.labels(agent, kind).observe(block.tokens)
            if kind == "recall":
                self.recall_seconds.observe(block.load_millis / 1000)
            # what is late is not there at all
            reason = "window" if block.tokens else "late"
            self.context_left_out.labels(agent, kind, reason).inc(block.left_out)

    def count_chore(self, kind: str, outcome: str, seconds: float) -> None:
        """Count a chore, done or not."""
        self.chores.labels(kind, outcome).inc()
        self.chore_seconds.labels(kind).observe(seconds)

    def count_facts(self, outcome: str, count: int) -> None:
        """Count facts of a summary that were kept, or dropped."""
        self.summary_facts.labels(outcome).inc(count)

    def set_chores(self, waiting: Mapping[ChoreKind, int]) -> None:
        """Set how many wait now."""
        for kind in CHORES:
            self.chores_waiting.labels(kind).set(waiting.get(kind, 0))

    def _count_decisions(self, event: Answered) -> None:
        for tool, decision in event.decided:
            self.approvals.labels(self._tool(tool), decision).inc()

    def _count_searches(self, collections: Sequence[str]) -> None:
        for one in collections:
            self.searches.labels(one).inc()

    def _count_memory(
        self, event: MemoryChanged | MemoryRefused | MemorySearched | Tainted
    ) -> None:
        if isinstance(event, Tainted):
            self.tainted_runs.inc(event.is_first)
        elif isinstance(event, MemoryRefused):
            self.memory_refused.labels(event.reason).inc()
        elif isinstance(event, MemorySearched):
            self.recall_seconds.observe(event.seconds)
        else:
            self.count_memory(event.op, "agent")

    def _count_plan(self, event: TaskEnded | PlanEnded) -> None:
        if isinstance(event, TaskEnded):
            self.plan_tasks.labels(event.agent_id, event.status).inc()
            return
        outcome = "partial" if event.done and (event.failed or event.skipped) else "done"
        self.plans.labels(event.agent_id, outcome if event.done else "failed").inc()

    def _count_request(self, request: RequestEnded) -> None:
        model, usage = request.model, request.usage
        self.requests.labels(request.provider, model, request.outcome).inc()
        if request.outcome == "context_overflow":
            self.overflows.labels(model).inc()
        self.request_seconds.observe(request.duration_seconds)
        self.tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self.tokens.labels(model, "completion").inc(usage.completion_tokens)
        self._count_parts(model, usage)
        if request.without_kept:
            self.kept_dropped.labels(request.provider).inc(request.without_kept)

    def _count_cost(self, agent_id: str, request: RequestEnded) -> None:
        usage = request.usage
        if usage.cost_usd:
            self.cost.labels(agent_id, request.model).inc(usage.cost_usd)
        if usage.unpriced:
            self.unpriced.labels(request.model).inc(usage.unpriced)
        if usage.estimated:
            self.estimated.labels(request.model).inc(usage.estimated)

    def _count_parts(self, model: str, usage: Usage) -> None:
        for type_, tokens in usage.parts:
            if tokens:
                self.tokens.labels(model, type_).inc(tokens)

    def _count_response(self, event: AgentResponded) -> None:
        self.turns.labels(event.agent_id, "success").inc()
        self.turn_seconds.labels(event.agent_id).observe(event.duration_seconds)
        if event.first_token_seconds is not None:
            self.first_token_seconds.observe(event.first_token_seconds)
        if ("answer", event.agent_id) in self.keeping:
            self.cache.labels("answer", "hit" if event.cached else "miss").inc()
        if event.limit is not None:
            self.turn_limits.labels(event.agent_id, event.limit).inc()
        for one in event.unknown:
            self.output_unknown.labels(one.vocabulary).inc()
        if event.output is not None:
            outcome = "repaired" if event.sent_back else "valid"
            self.outputs.labels(event.agent_id, outcome).inc()
        elif event.invalid and not event.is_sent_back:
            self.outputs.labels(event.agent_id, "invalid").inc()

    def _count_result(self, event: ToolReturned) -> None:
        result, tool = event.result, self._tool(event.result.tool)
        self.tool_calls.labels(tool, _outcome(result)).inc()
        is_kept = ("tool", result.tool) in self.keeping
        if is_kept and (result.attempts or "cached" in result.facts):
            self.cache.labels("tool", "hit" if "cached" in result.facts else "miss").inc()
        if "repeated" in result.facts:
            self.turn_limits.labels(event.agent_id, "same_calls").inc()
        if (why := result.facts.get("denied")) is not None:
            self.tool_denied.labels(tool, str(why)).inc()
        self.tool_seconds.labels(tool).observe(result.duration_seconds)

    def _tool(self, name: str) -> str:
        return name if name in self.tools else OTHER

    def as_json(self) -> dict[str, Any]:
        """Return the same numbers as a document: by metric, a list of {"labels", "value"}."""
        out: dict[str, list[dict[str, Any]]] = {}
        for family in self.registry.collect():
            for sample in family.samples:
                out.setdefault(sample.name, []).append(
                    {"labels": sample.labels, "value": sample.value}
                )
        return out


def _outcome(result: ToolResult) -> str:
    """Return how a call has ended; by a limit or a breaker it was not made."""
    return "refused" if "refused" in result.facts else result.status
