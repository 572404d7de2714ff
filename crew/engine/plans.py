"""A plan: its tasks run once what they need is done, so many at the same time."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import anyio
from anyio.abc import TaskGroup
from pydantic_core import to_json

from agents.agent import Agent
from agents.outputs.plans import PlanRules
from agents.outputs.typed import schema_for_model
from crew.crew import Crew
from crew.engine.decisions import changed_plan
from crew.engine.endings import cut_off
from crew.engine.groups import GroupFailed
from crew.engine.members import Members
from crew.journal.branches import Branch
from crew.journal.decided import decision_on
from crew.journal.events import Event, StoredEvent
from crew.journal.planned.events import PlanEnded, Planned, PlanReviewed, TaskEnded, TaskStarted
from crew.journal.planned.plans import PlanState
from crew.journal.planned.tasks import Task, TaskStatus
from crew.journal.questions import PendingCall, PlanApproval
from crew.journal.state import RunState
from crew.routing.decisions import decide
from crew.routing.rules import NO_ANSWER
from crew.routing.steps import NextStep
from tools.calls import ToolCall

# a plan stands as a call of this name where a person decides on it
PLAN = "plan"
# how often a person may have it planned anew by words
MAX_WORDS = 3
# behind the results, where tasks have failed
REVIEW = (
    "Some tasks have not been done. Plan further tasks, which may need the ones that are done; or "
    "answer without tasks, to go on with what there is."
)


class Plans:
    """The plans of one run."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        members: Members,
        record: Callable[[StoredEvent], None],
        emit: Callable[[Event], Awaitable[None]],
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            state: of the run.
            members: runs each task.
            record: records an event of the run.
            emit: gets the events of plans.
        """
        self.crew, self.state, self.members = crew, state, members
        self.record, self.emit = record, emit

    def take(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Begin to work on what an agent has planned; end its plan where that is nothing.

        Raises:
            GroupFailed: nothing of it was done.
        """
        plan, agent = self.state.plan, self.crew.agents[self.state.main.agent_id]
        if tasks:
            self.record(Planned(agent.id, agent.name, self.next_revision, tasks_of(tasks)))
            return
        assert plan is not None, "the first plan has tasks"
        ended = ended_plan(plan, agent)
        self.record(ended)
        _require_done(ended)

    @property
    def next_revision(self) -> int:
        """The number of what is planned next."""
        return 1 if self.state.plan is None else self.state.plan.revision + 1

    def question(self, tasks: Sequence[Mapping[str, Any]]) -> PlanApproval | None:
        """Return the question to a person about a plan; None: there is none, or it was answered."""
        state, agent = self.state, self.crew.agents[self.state.main.agent_id]
        is_answered = isinstance(state.question, PlanApproval) and state.decided is not None
        if (
            not tasks
            or agent.plan is None
            or agent.output is None
            or not agent.plan.approve
            or is_answered
        ):
            return None
        call = ToolCall(f"plan-{self.next_revision}", PLAN, {"tasks": list(tasks)})
        digest = sha256(to_json(call.arguments)).hexdigest()
        schema = schema_for_model(agent.output.schema)
        asked = PendingCall(
            agent.id, call, digest, source=PLAN, schema=schema, may=PlanApproval.usual
        )
        known = state.plan.known if state.plan is not None else {}
        return PlanApproval((asked,), known, max(0, MAX_WORDS - state.plan_words))

    def decide(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Begin to work on a plan as a person has approved it; end one that was denied."""
        question, answer = self.state.question, self.state.decided
        agent = self.crew.agents[self.state.main.agent_id]
        if not isinstance(question, PlanApproval) or answer is None:
            self.take(tasks)
            return
        decided = decision_on(question.calls[0], question, answer)
        if decided.decision == "approve":
            changed = decided.arguments
            self.take(tasks if changed is None else _changed(agent, question, changed))
            return
        ended = ended_plan(self.state.plan or PlanState(agent.id), agent)
        why = f": {decided.reason}" if decided.reason.strip() else ""
        text = f"{ended.joined}A person has denied the plan{why}. Answer without workers."
        self.record(replace(ended, joined=text, is_denied=True))

    def after(self, plan: PlanState) -> NextStep | None:
        """Return where a plan leads that has ended; None: the planner itself goes on."""
        if not plan.ended or (plan.is_denied and self.state.main.answer is None):
            return None
        way = self.crew.routing.plans[plan.agent_id]
        if way.then is None:
            return None
        return decide(self.crew.routing, plan.agent_id, NO_ANSWER, self.state.visited)

    async def run(self, plan: PlanState) -> None:
        """Work on the tasks of a plan until all have ended, or a person has to decide.

        Raises:
            GroupFailed: none was done.
        """
        planner = self.crew.agents[plan.agent_id]
        assert planner.plan is not None, "it has planned"
        rules = planner.plan
        runner = _PlanRunner(self.crew, planner, rules, plan, self.members, self.emit)
        await runner.run()


class _PlanRunner:
    """Runs the tasks of one revision of a plan."""

    def __init__(
        self,
        crew: Crew,
        planner: Agent,
        rules: PlanRules,
        plan: PlanState,
        members: Members,
        emit: Callable[[Event], Awaitable[None]],
    ) -> None:
        self.crew, self.planner, self.rules, self.plan = crew, planner, rules, plan
        self.members, self.emit = members, emit
        # tasks at work, and those that wait for a person
        self._running: set[str] = set()
        self._stopped: set[str] = set()

    async def run(self) -> None:
        """Work on the tasks until all have ended, or a person has to decide.

        Raises:
            GroupFailed: none was done.
        """
        for task in self.plan.ready():
            # a process has ended between an answer and this
            await self._end_task(task)
        async with anyio.create_task_group() as tasks:
            await self._begin(tasks)
        if not self.plan.branches:
            await self._end()

    async def _begin(self, tasks: TaskGroup) -> None:
        """Begin the tasks that may, in the order of the plan; skip those that never may."""
        while lost := next(self.plan.lost(), None):
            await self._emit_end(lost, "skipped")
        for task in list(self.plan.ready()):
            if len(self._running) >= self.rules.at_once:
                return
            if task.id in self._running or task.id in self._stopped:
                continue
            self._running.add(task.id)
            if task.id not in self.plan.members:
                name = self.crew.name_of(task.agent_id)
                await self.emit(TaskStarted(task.agent_id, name, self.planner.id, task.id))
            tasks.start_soon(self._run, task, tasks)

    async def _run(self, task: Task, tasks: TaskGroup) -> None:
        branch = self.plan.members[task.id]
        await self.members.run(branch, self.planner.id, self.rules.timeout_seconds)
        self._running.discard(task.id)
        if not await self._end_task(task):
            # the others go on until they have ended, or stop
            self._stopped.add(task.id)
        await self._begin(tasks)

    async def _end_task(self, task: Task) -> bool:
        """Record the end of a task that has an answer, or failed; whether it has ended."""
        branch = self.plan.members.get(task.id)
        if branch is None or (branch.answer is None and branch.failed is None):
            return False
        await self._emit_end(task, "done" if branch.failed is None else "failed")
        return True

    async def _emit_end(self, task: Task, status: TaskStatus) -> None:
        name = self.crew.name_of(task.agent_id)
        await self.emit(TaskEnded(task.agent_id, name, self.planner.id, task.id, status))

    async def _end(self) -> None:
        plan, planner = self.plan, self.planner
        has_failed = bool(plan.with_status("failed", "skipped"))
        if plan.results:
            # the calls of tasks that were late
            late = [plan.members[id_] for id_ in plan.with_status("failed") if id_ in plan.members]
            why = f"the task of {planner.id}'s plan has failed"
            for result in cut_off(late, self.members.state, self.crew, planner.id, why):
                await self.emit(result)
        if has_failed and plan.revision <= self.rules.replan:
            outcomes = f"{plan.join(tuple(plan.tasks))}\n{REVIEW}"
            await self.emit(PlanReviewed(planner.id, planner.name, plan.revision, outcomes))
            return
        ended = ended_plan(plan, planner)
        await self.emit(ended)
        _require_done(ended)


def planned_tasks(crew: Crew, main: Branch) -> Sequence[Mapping[str, Any]] | None:
    """Return the tasks that an agent's answer has planned; None: it is no plan."""
    if main.output is None or main.answer is None:
        return None
    agent = crew.agents.get(main.agent_id)
    if agent is None or agent.plan is None:
        return None
    tasks: Sequence[Mapping[str, Any]] = main.output["tasks"]
    return tasks


def _changed(
    agent: Agent, question: PlanApproval, changed: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """Return the tasks of a plan as a person has changed it, read as a model's are.

    Raises:
        GroupFailed: by the files as they are now it is wrong.
    """
    assert agent.output is not None, "it plans"
    checked = changed_plan(agent.output, question, changed)
    if checked.output is None:
        text = f"the plan is not as it must be: {'; '.join(checked.problems)}"
        raise GroupFailed("model", text, "plan")
    tasks: Sequence[Mapping[str, Any]] = checked.output["tasks"]
    return tasks


def _require_done(ended: PlanEnded) -> None:
    if not ended.done:
        text = f"no task of {ended.agent_id}'s plan was done: {', '.join(ended.failed)} failed"
        raise GroupFailed("model", text, "plan")


def ended_plan(plan: PlanState, planner: Agent) -> PlanEnded:
    """Return the end of a plan: what was done, and what its tasks have said."""
    by_status: dict[TaskStatus, tuple[str, ...]] = {
        status: tuple(id_ for id_ in plan.tasks if plan.statuses.get(id_) == status)
        for status in ("done", "failed", "skipped")
    }
    done, failed, skipped = (by_status[key] for key in ("done", "failed", "skipped"))
    return PlanEnded(planner.id, planner.name, plan.revision, done, failed, skipped, plan.results)


def tasks_of(planned: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks of a plan that was checked."""
    return tuple(
        Task(one["id"], one["agent"], one["ask"], tuple(dict.fromkeys(one.get("needs") or ())))
        for one in planned
    )
