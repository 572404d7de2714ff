"""The series of a crew, which begin at zero, so that none is missing before something happens."""

from collections.abc import Collection
from itertools import product
from typing import get_args

from agents.agent import Agent
from agents.errors import ModelErrorCode
from agents.limits import LimitName
from agents.stages import STAGES
from crew.crew import Crew
from crew.journal.planned.tasks import TaskStatus
from crew.journal.remembered.events import MemoryOp, Refusal
from crew.routing.graph import END, NO_WAYS
from server.telemetry.series import Series
from tools.calls import CallStatus

RUN_OUTCOMES = ("completed", "failed", "cancelled")
RUN_LIMITS = ("max_rounds", "max_handoffs")
NOTICE_OUTCOMES = ("sent", "failed", "given_up")
TURN_LIMITS = (*get_args(LimitName), "same_calls")
PLAN_OUTCOMES = ("done", "partial", "failed")
OUTPUT_OUTCOMES = ("valid", "repaired", "invalid")
DOCUMENT_OUTCOMES = ("read", "failed")
SCHEDULE_OUTCOMES = ("started", "skipped", "missed", "paused")
ITEM_OPS = tuple(one for one in get_args(MemoryOp) if one != "edited")
TOOL_OUTCOMES = (*get_args(CallStatus), "refused")


def begin_at_zero(
    series: Series, crew: Crew, tools: Collection[str], kept: Collection[str]
) -> None:
    """Begin all series that a crew may have.

    Args:
        series: of the process.
        crew: the crew.
        tools: the names that its tools are counted by.
        kept: what of it is used again: "tool", "answer".
    """
    for kind, result in product(kept, ("hit", "miss")):
        series.cache.labels(kind, result)
    _begin_runs(series, crew)
    for channel, outcome in product(crew.config.notify, NOTICE_OUTCOMES):
        series.notices.labels(channel, outcome)
    for schedule, outcome in product(crew.config.schedules, SCHEDULE_OUTCOMES):
        series.schedules.labels(schedule, outcome)
    _begin_budgets(series, crew)
    for agent in crew.agents.values():
        _begin_agent(series, agent)
    for tool in tools:
        _begin_tool(series, tool)
    for edge in crew.graph.edges:
        if edge.kind not in NO_WAYS and edge.to != END:
            series.handoffs.labels(edge.from_, edge.to, edge.kind)
    for collection in crew.documents.collections:
        series.searches.labels(collection)
        for outcome in DOCUMENT_OUTCOMES:
            series.documents.labels(collection, outcome)
    if crew.memory:
        ops = [*(["edited"] if crew.memory.core else []), *(ITEM_OPS if crew.memory.recall else [])]
        for op, by in product(ops, ("person", "agent", "learn")):
            series.memory_changes.labels(op, by)
        for reason in get_args(Refusal):
            series.memory_refused.labels(reason)


def _begin_runs(series: Series, crew: Crew) -> None:
    for outcome in RUN_OUTCOMES:
        series.runs.labels(crew.name, outcome)
    for limit in RUN_LIMITS:
        series.run_limits.labels(limit)
    for stage in (*STAGES, "other"):
        series.stage_seconds.labels(stage)


def _begin_tool(series: Series, tool: str) -> None:
    series.tool_seconds.labels(tool)
    series.tool_retries.labels(tool)
    series.stalls.labels(tool)
    series.stall_seconds.labels(tool)
    for outcome in TOOL_OUTCOMES:
        series.tool_calls.labels(tool, outcome)


def _begin_budgets(series: Series, crew: Crew) -> None:
    for budget in crew.budgets:
        series.budget_refused.labels(budget.name, budget.then)


def _begin_agent(series: Series, agent: Agent) -> None:
    series.turn_seconds.labels(agent.id)
    for outcome in ("success", "error"):
        series.turns.labels(agent.id, outcome)
    for provider, model in agent.model.endpoints:
        for outcome in ("success", "cancelled", *get_args(ModelErrorCode)):
            series.requests.labels(provider, model, outcome)
        for counted in (series.overflows, series.unpriced, series.estimated):
            counted.labels(model)
        for type_ in ("prompt", "completion"):
            series.tokens.labels(model, type_)
    series.cost.labels(agent.id, agent.model.name)
    for limit in TURN_LIMITS:
        series.turn_limits.labels(agent.id, limit)
    if agent.plan is not None:
        for outcome in PLAN_OUTCOMES:
            series.plans.labels(agent.id, outcome)
        for worker in agent.plan.workers:
            for status in get_args(TaskStatus):
                series.plan_tasks.labels(worker, status)
    if agent.output is not None:
        for outcome in OUTPUT_OUTCOMES:
            series.outputs.labels(agent.id, outcome)
        for vocabulary in agent.output.vocabularies:
            series.output_unknown.labels(vocabulary)
