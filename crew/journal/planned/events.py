"""Events of a run that works on a plan."""

from dataclasses import dataclass

from crew.journal.planned.tasks import Task, TaskStatus


@dataclass(frozen=True, slots=True)
class Planned:
    """An agent has planned tasks, or further ones."""

    agent_id: str
    agent: str
    # from 1
    revision: int
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """Work on a task begins."""

    # who works on it
    agent_id: str
    agent: str
    # the agent that has planned it
    group: str
    task: str


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task has ended."""

    agent_id: str
    agent: str
    group: str
    task: str
    status: TaskStatus


@dataclass(frozen=True, slots=True)
class PlanReviewed:
    """Some tasks have failed: the planner is asked for further ones."""

    agent_id: str
    agent: str
    revision: int
    # how each task has ended, as the planner is shown it
    joined: str


@dataclass(frozen=True, slots=True)
class PlanEnded:
    """A plan has ended."""

    agent_id: str
    agent: str
    revision: int
    # of all revisions
    done: tuple[str, ...]
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    # what the tasks have said, as the next agent is shown it; "" where none was done
    joined: str
    # a person has denied it: the planner speaks without workers
    is_denied: bool = False
