"""What the events of plans contribute to what clients get."""

from collections.abc import Callable
from typing import Any

from crew.journal.envelopes import Envelope
from crew.journal.planned.events import PlanEnded, Planned, PlanReviewed, TaskEnded, TaskStarted


def _planned(event: Planned) -> Envelope:
    tasks = [
        {"id": one.id, "agent": one.agent_id, "ask": one.ask, "needs": one.needs}
        for one in event.tasks
    ]
    content = f"{event.agent} has planned {_count(len(tasks))}"
    metadata = {"revision": event.revision, "tasks": tasks}
    return Envelope("plan", event.agent, content, event.agent_id, metadata)


def _count(tasks: int) -> str:
    return f"{tasks} tasks" if tasks != 1 else "1 task"


def _task_started(event: TaskStarted) -> Envelope:
    content, metadata = f"Starting task {event.task}", {"group": event.group, "task": event.task}
    return Envelope("task_start", event.agent, content, event.agent_id, metadata)


def _task_ended(event: TaskEnded) -> Envelope:
    metadata = {"group": event.group, "task": event.task, "status": event.status}
    content = f"Task {event.task} is {event.status}"
    return Envelope("task_end", event.agent, content, event.agent_id, metadata)


def _reviewed(event: PlanReviewed) -> Envelope:
    metadata = {"code": "plan_revised", "retryable": False, "group": None}
    content = f"Some tasks of {event.agent}'s plan have failed: it plans further ones"
    return Envelope("warning", event.agent, content, event.agent_id, metadata)


def _ended(event: PlanEnded) -> Envelope:
    metadata = {
        "revision": event.revision,
        "done": event.done,
        "failed": event.failed,
        "skipped": event.skipped,
    }
    content = event.joined or f"No task of {event.agent}'s plan was done"
    return Envelope("plan_end", event.agent, content, event.agent_id, metadata)


PLAN_ENVELOPES: dict[type[Any], Callable[[Any], Envelope]] = {
    Planned: _planned,
    TaskStarted: _task_started,
    TaskEnded: _task_ended,
    PlanReviewed: _reviewed,
    PlanEnded: _ended,
}
