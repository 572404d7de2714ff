"""The answer of an agent that plans: tasks, who does each, and which others each needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from agents.outputs.schema import Field, parse_schema

MAX_ASK = 4000
ID = "^[A-Za-z0-9_-]{1,32}$"


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What a plan may be, and how it is done."""

    # by id, what each worker does
    workers: Mapping[str, str]
    max_tasks: int
    at_once: int
    # of each task
    timeout_seconds: float
    # revisions after failures
    replan: int
    # a person approves each of them
    approve: bool = False


def plan_schema(rules: PlanRules) -> Field:
    """Return the schema of a plan."""
    who = "; ".join(f"{name}: {text}" for name, text in rules.workers.items())
    task = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": ID, "description": "another one for each task"},
            "agent": {"enum": list(rules.workers), "description": f"who does it. {who}"},
            "ask": {"type": "string", "maxLength": MAX_ASK, "description": "what to do"},
            "needs": {
                "type": "array",
                "items": {"type": "string"},
                "description": "ids of tasks the results of which it needs",
            },
        },
        "required": ["id", "agent", "ask"],
    }
    tasks = {"type": "array", "items": task, "maxItems": rules.max_tasks}
    return parse_schema({"properties": {"tasks": tasks}, "required": ["tasks"]})


def problems_of_plan(tasks: Sequence[Mapping[str, Any]], known: Mapping[str, bool]) -> list[str]:
    """Return what is wrong with the tasks of a plan, beside its schema.

    Args:
        tasks: that are planned.
        known: earlier tasks of the same plan, by id, and whether each is done. With some, there
            may be no further ones.
    """
    problems: list[str] = []
    if not tasks and not known:
        problems.append("tasks: must have at least 1 item")
    needs: dict[str, list[str]] = {}
    for place, task in enumerate(tasks):
        id_, where = task["id"], f"tasks[{place}]"
        if id_ in needs or id_ in known:
            problems.append(f"{where}.id: there is a task {id_} already")
        if not task["ask"].strip():
            problems.append(f"{where}.ask: must not be empty")
        needs.setdefault(id_, list(task.get("needs") or ()))
    for place, task in enumerate(tasks):
        for one in task.get("needs") or ():
            if one in needs or known.get(one):
                continue
            why = "has failed" if one in known else "does not exist"
            problems.append(f"tasks[{place}].needs: the task {one} {why}")
    if cycle := _cycle(needs):
        problems.append(f"tasks: they need each other: {' → '.join(cycle)}")
    return problems


def _cycle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return tasks that need each other in a circle; none where there is none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # each is needed by the next one
        return list(reversed(error.args[1]))
    return []
