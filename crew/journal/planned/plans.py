"""A plan of a run: its tasks, those who work on them, and how far they are."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agents.messages import CrewMessage, Message, UserMessage
from crew.journal.branches import Branch, join_answers, said_by
from crew.journal.planned.events import PlanEnded, Planned, PlanReviewed, TaskEnded, TaskStarted
from crew.journal.planned.tasks import Task, TaskStatus


@dataclass(slots=True)
class PlanState:
    """A plan that an agent has made, and its revisions."""

    # who plans
    agent_id: str
    # in the order of the plan, then of its revisions
    tasks: dict[str, Task] = field(default_factory=dict)
    # of the newest revision
    newest: tuple[str, ...] = ()
    revision: int = 0
    # of tasks that have begun
    members: dict[str, Branch] = field(default_factory=dict)
    statuses: dict[str, TaskStatus] = field(default_factory=dict)
    # the planner is asked for further tasks
    is_reviewed: bool = False
    ended: bool = False
    is_denied: bool = False

    @property
    def is_working(self) -> bool:
        """Whether tasks are to be done now."""
        return bool(self.newest) and not self.is_reviewed and not self.ended

    @property
    def branches(self) -> list[Branch]:
        """The tasks that may go on now."""
        return [
            branch
            for id_, branch in self.members.items()
            if id_ in self.newest
            and id_ not in self.statuses
            and branch.answer is None
            and branch.failed is None
        ]

    @property
    def known(self) -> dict[str, bool]:
        """Each task, and whether it is done."""
        return {id_: self.statuses.get(id_) == "done" for id_ in self.tasks}

    @property
    def has_failed(self) -> bool:
        """Whether nothing of it is done, and nothing is planned any more."""
        is_open = not (self.is_reviewed or self.is_denied)
        return is_open and "done" not in self.statuses.values()

    @property
    def results(self) -> str:
        """What its tasks have said; "" where none is done."""
        return self.join(tuple(self.tasks)) if "done" in self.statuses.values() else ""

    def revise(self, tasks: tuple[Task, ...]) -> None:
        """Add the tasks of a plan, or of a revision of it."""
        self.tasks |= {task.id: task for task in tasks}
        self.newest = tuple(task.id for task in tasks)
        self.revision += 1
        self.is_reviewed = False

    def with_status(self, *wanted: TaskStatus) -> list[str]:
        """Return the tasks of the newest revision that have ended so."""
        return [id_ for id_ in self.newest if self.statuses.get(id_) in wanted]

    def ready(self) -> Iterator[Task]:
        """Yield the tasks that may begin or go on, in the order of the plan."""
        for id_ in self.newest:
            task = self.tasks[id_]
            if id_ not in self.statuses and all(
                self.statuses.get(one) == "done" for one in task.needs
            ):
                yield task

    def lost(self) -> Iterator[Task]:
        """Yield the tasks that cannot be done: one that they need is not."""
        for id_ in self.newest:
            task = self.tasks[id_]
            if id_ not in self.statuses and any(
                self.statuses.get(one) in ("failed", "skipped") for one in task.needs
            ):
                yield task

    def begin(self, task_id: str, query: UserMessage) -> None:
        """Begin a task: it is shown the query, what the tasks that it needs have said, its own."""
        task = self.tasks[task_id]
        history: list[Message] = [query]
        if needs := self.join(task.needs):
            history.append(CrewMessage(needs))
        history.append(UserMessage(task.ask))
        self.members[task_id] = Branch(task.agent_id, history, task=task_id)

    def retry(self) -> None:
        """Let the failed tasks of the plan go on where they were, and those that they kept."""
        for id_ in self.with_status("failed", "skipped"):
            del self.statuses[id_]
            if (branch := self.members.get(id_)) is not None:
                branch.retry()
        self.ended = False

    def join(self, ids: tuple[str, ...] | list[str]) -> str:
        """Join what tasks have said, headed by id and agent; failures are named; "" for none."""
        texts = {f"{id_} · {self.tasks[id_].agent_id}": self._outcome(id_) for id_ in ids}
        return join_answers(texts) if texts else ""

    def _outcome(self, id_: str) -> str:
        match self.statuses.get(id_):
            case "done":
                # a typed answer without words is one, too
                return said_by(self.members[id_]) or self.members[id_].answer or "(nothing)"
            case "failed":
                return f"(failed: {self.members[id_].failed})"
            case _:
                return "(not done: a task that it needs has failed)"


PlanEvent = Planned | TaskStarted | TaskEnded | PlanReviewed | PlanEnded


def apply_to_plan(
    plan: PlanState | None, event: PlanEvent, main: Branch, query: UserMessage
) -> PlanState:
    """Go on with a plan by one event.

    Args:
        plan: None where none has begun.
        event: of it.
        main: the run's own branch; changed.
        query: of the run.
    """
    plan = PlanState(main.agent_id) if plan is None else plan
    match event:
        case Planned():
            plan.revise(event.tasks)
            main.rounds += 1
            main.answer, main.output = None, None
            main.begin_turn()
        case TaskStarted():
            plan.begin(event.task, query)
        case TaskEnded():
            plan.statuses[event.task] = event.status
        case PlanReviewed():
            plan.is_reviewed = True
            main.history.append(CrewMessage(event.joined))
        case PlanEnded():
            plan.ended, plan.is_reviewed, plan.is_denied = True, False, event.is_denied
            main.answer, main.output = None, None
            main.begin_turn()
            if event.joined:
                main.history.append(CrewMessage(event.joined))
    return plan
