"""What a run is between two steps: made of its stored events alone; any process can resume it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agents.costs.usage import NO_USAGE, Usage
from agents.events import (
    AgentResponded,
    AgentStarted,
    Compacted,
    Shown,
    ToolReturned,
    ToolStarted,
    Warned,
)
from agents.messages import CrewMessage, UserMessage
from crew.journal.branches import Branch, GroupState, note_found
from crew.journal.call_text import call_key
from crew.journal.decided import content_of, remembered_by
from crew.journal.events import (
    NO_CONVERSATION,
    Answered,
    HandedOff,
    InConversation,
    ParallelEnded,
    ParallelStarted,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunRetried,
    RunStarted,
    RunStatus,
    StoredEvent,
    Unplayable,
    status_after,
    usage_of,
)
from crew.journal.planned.events import PlanEnded, Planned, PlanReviewed, TaskEnded, TaskStarted
from crew.journal.planned.parts import BranchEvent, branch_of, calls_of, open_branches
from crew.journal.planned.plans import PlanEvent, PlanState, apply_to_plan
from crew.journal.query import NO_QUERY, Answer, Query
from crew.journal.questions import GoingOn, Inquiry, PlanApproval, Question, UnknownOutcome
from crew.journal.records.spent.budgets import NO_BUDGET, BudgetState
from crew.journal.remembered.events import DocumentsShown, Tainted
from crew.journal.remembered.sources import ShownPassage
from crew.journal.said import Said, answered, asked
from tools.limits.deadline import Limits

# The codes of the warning by which a member of a group fails.
MEMBER_CODES = frozenset({"member_failed", "member_timeout"})


@dataclass(slots=True)
class RunState:
    """A run, folded from its events by `apply`, the only way to change it."""

    run_id: str
    limits: Limits
    # the number of the newest event
    seq: int = 0
    main: Branch = field(default_factory=lambda: Branch("", []))
    # the group that was entered
    group: GroupState | None = None
    # the plan that is worked on, or has ended
    plan: PlanState | None = None
    # how often a person has had it planned anew by words
    plan_words: int = 0
    # ids of the calls that groups and plans before have made
    part_calls: set[str] = field(default_factory=set)
    # agents that work as tools, by the calls of others that are open
    inner: dict[str, Branch] = field(default_factory=dict)
    # the agent that started the group
    origin: str = ""
    status: RunStatus = "running"
    query: Query = NO_QUERY
    conversation: InConversation = NO_CONVERSATION
    # of the newest one: the number of its first event, and the request's `traceparent`
    segment: tuple[int, str] = (1, "")
    # publish text as it is written
    deltas: bool = False
    handoffs: int = 0
    # agents that answered since the last answer of a person
    visited: set[str] = field(default_factory=set)
    usage: Usage = NO_USAGE
    active_seconds: float = 0.0  # until the newest event that was replayed
    # how much of that was used up when the run was retried: its time counts anew from there
    retried_at_seconds: float = 0.0
    question: Question | None = None
    # the number of the newest `pause` event, and the agent that it belongs to
    pause_seq: int | None = None
    paused_agent_id: str = ""
    # no answer came in time, and nothing has followed from it yet
    expired: bool = False
    # the answer to a question about calls, until those that are not made have their results
    decided: Answer | None = None
    # an answer of a person that no event tells yet, and what was asked
    untold: tuple[Question | None, Answer] | None = None
    # tools that a person has approved for this run, by name and definition, and who did
    remembered: dict[tuple[str, str], str] = field(default_factory=dict)
    # by agent and task: the tools that were found by `tool_search`, in that order
    found_tools: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    # the tools that were called, and whether one of them may change something
    tools: set[str] = field(default_factory=set)
    has_acted: bool = False
    # the tools and collections that gave text of others
    taint: tuple[str, ...] = ()
    # passages of documents that were shown
    sources: tuple[ShownPassage, ...] = ()
    # what was shown to people in this segment
    shows: list[Shown] = field(default_factory=list)
    # by agent, its newest typed answer
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    # how often a person has refused the same call
    denials: Counter[str] = field(default_factory=Counter)
    # what pauses have asked, and what was answered
    said: list[Said] = field(default_factory=list)
    # what follows from a budget without room
    budget: BudgetState = NO_BUDGET
    # the last answer of any agent
    last_answer: str = ""
    last_agent: str = ""
    # of the active time when the run last paused, by stage
    stages: dict[str, float] = field(default_factory=dict)
    # no process could play it, and nothing has happened since: when it fails
    unplayable_until: str | None = None

    def apply(self, event: StoredEvent) -> None:
        """Go on by one event."""
        self.seq += 1
        self.unplayable_until = event.until if isinstance(event, Unplayable) else None
        self.usage += usage_of(event)
        match event:  # first what comes most often
            case AgentStarted() | AgentResponded() | ToolStarted() | ToolReturned() | Compacted():
                self._apply_to_branch(event)
            case RunStarted():
                self._start(event)
            case RunDone() | RunFailed():
                self.status = status_after(event)
                self.active_seconds = event.duration_seconds
                self.stages = event.stages if isinstance(event, RunDone) else self.stages
            case HandedOff():
                self._hand_off(event)
            case RunResumed():
                self._resume(event)
            case RunRetried():
                self._retry(event)
            case Warned(code=code, agent_id=str() as agent_id) if code in MEMBER_CODES:
                branch_of(event, agent_id, self).failed = code
                self._end_question()
            case Answered():
                self.untold = None
            case ParallelStarted(group=name, agents=agents):
                self.main.rounds += 1
                members = {agent: Branch(agent, list(self.main.history)) for agent in agents}
                self.group = GroupState(name, members)
            case ParallelEnded(joined=joined):
                self._end_group(joined)
            case Planned() | TaskStarted() | TaskEnded() | PlanReviewed() | PlanEnded():
                self._apply_to_plan(event)
            case Paused():
                self._pause(event)
            case _:
                self._note(event)

    def _note(self, event: StoredEvent) -> None:
        """Note what changes nothing of where the run goes."""
        if isinstance(event, Shown):
            # one whose tool was called again after a crash is shown once
            self.shows = [one for one in self.shows if one.call_id != event.call_id] + [event]
        elif isinstance(event, Warned):
            self.budget = self.budget.after(event)
        elif isinstance(event, Tainted) and event.source not in self.taint:
            self.taint = (*self.taint, event.source)
        elif isinstance(event, DocumentsShown):
            self.sources = (*self.sources, *event.passages)

    @property
    def branches(self) -> list[Branch]:
        """The branches that may go on now: the run's own, members, tasks, agents as tools."""
        return open_branches(self)

    def has_started(self, event: ToolStarted) -> bool:
        """Return whether this start was published already, before a crash."""
        return event.call.id in branch_of(event, event.agent_id, self).started_calls

    def _apply_to_branch(self, event: BranchEvent) -> None:
        branch = branch_of(event, event.agent_id, self)
        match event:
            case AgentStarted():
                branch.start(event, self.seq)
            case Compacted():
                branch.compact(event)
            case AgentResponded():
                branch.respond(event)
                if event.task or event.within:
                    # what is said on a task, or as a tool, is for who has asked for it
                    return
                if event.output is not None:
                    self.outputs[event.agent_id] = event.output
                self.visited.add(event.agent_id)
                if (answer := event.final_answer) is not None:
                    self.last_answer, self.last_agent = answer, event.agent_id
            case ToolStarted(once=once, reads=reads):
                branch.begin_call(event)
                if event.runs_agent:
                    inner = branch.inner_of(event)
                    self.inner.setdefault(inner.within, inner)
                self.has_acted = self.has_acted or not reads
                self.tools.add(event.call.tool)
                if once:
                    self.question, self.decided, self.expired = None, None, False
            case ToolReturned():
                if event.result.status == "denied":
                    call = next(one for one in branch.calls if one.id == event.result.call_id)
                    self.denials[call_key(call)] += 1
                branch.add_result(event.result, self.limits)
                if self.inner:
                    self.inner.pop(branch.key_of(event.result.call_id), None)
                if branch.has_direct_answer and not (event.task or event.within):
                    self.last_answer, self.last_agent = branch.answer or "", event.agent_id
                note_found(event, self.found_tools)
                self._end_question()

    def _pause(self, event: Paused) -> None:
        self.question, self.paused_agent_id = event.question, event.agent_id
        self.pause_seq = self.seq
        self.said.append(asked(event, self.last_answer))
        if not isinstance(event.question, Inquiry):
            return
        # the calls of tools that ask have not done anything
        for branch in self.branches:
            branch.undo_starts(event.question)

    def _end_question(self) -> None:
        """End the question when none of its calls is open any more."""
        if self.question is None:
            return
        still_open = {(one.agent_id, call.id) for one in self.branches for call in one.open_calls}
        if not any((one.agent_id, one.call.id) in still_open for one in self.question.involved):
            self.question, self.decided, self.expired = None, None, False

    def _start(self, event: RunStarted) -> None:
        self.query, self.deltas = event.query, event.query.deltas
        self.segment, self.conversation = (self.seq, event.traceparent), event.conversation
        history = [one.as_message(event.agent_id, event.agent) for one in self.query.history]
        query = UserMessage(self.query.text, self.query.attachments)
        self.main = Branch(event.agent_id, [*history, query])

    def _resume(self, event: RunResumed) -> None:
        """Apply an answer: to calls, which stay open; else it is the person's next message."""
        self.status, self.segment = "running", (self.seq, event.traceparent)
        self.shows.clear()
        self.deltas, self.expired = event.answer.deltas, event.expired
        says_something = event.answer.says_something and not event.expired
        self.untold = (self.question, event.answer) if says_something else None
        if says_something:
            self.said.append(answered(event.answer))
        self.remembered |= remembered_by(self.question, event.answer)
        if not event.expired and not isinstance(self.question, UnknownOutcome | GoingOn):
            # limits and order start anew; a question after a crash must not change where it goes
            self.handoffs, self.main.rounds = 0, 0
            has_planned = self.plan is not None or isinstance(self.question, PlanApproval)
            self.visited = {self.main.agent_id} if has_planned else set()
            for branch in self.branches:
                branch.rounds = 0
        if isinstance(self.question, Inquiry):
            self._fill_in(self.question, event)
        elif isinstance(self.question, GoingOn) or (
            isinstance(self.question, PlanApproval) and event.expired
        ):
            self.question = None
        elif isinstance(self.question, PlanApproval) and not event.answer.decides:
            # it is planned anew by the person's words
            self.question, self.plan_words = None, self.plan_words + 1
            self.main.take_words(event.answer.text, event.answer.attachments)
        elif self.question is not None:
            self.decided = event.answer
            for branch in self.branches:
                branch.decide(self.question, event.answer)
        elif not event.expired:
            self.main.take_words(event.answer.text, event.answer.attachments)
            self._forget_plan()

    def _retry(self, event: RunRetried) -> None:
        """Take the step that failed again, or let a copy go on."""
        self.status, self.segment = "running", (self.seq, event.traceparent)
        self.retried_at_seconds = self.active_seconds
        if event.forked_from:
            self._forget_decisions()
        if self.question is not None and (self.expired or event.forked_from):
            # no decision came in time, or not for this run: the question is repeated
            self.question, self.decided, self.expired = None, None, False
        self.main.begin_anew()
        if self.group is not None and self.group.has_failed:
            self.group.retry(self.main)
        if self.plan is not None and self.plan.has_failed:
            self.plan.retry()

    def _forget_decisions(self) -> None:
        """Drop what was for another run: a person's decisions, and what it has paid."""
        self.usage = NO_USAGE
        if self.untold is not None and self.untold[0] is not None:
            self.untold = None
        self.remembered.clear()
        for branch in self.branches:
            branch.forget_decisions(self.question)

    def _fill_in(self, question: Inquiry, event: RunResumed) -> None:
        """Fill in the current form; when all are, the calls are to be made with that."""
        filled = question.answered(content_of(question, event.answer, expired=event.expired))
        # the next one is asked, if there is one
        self.question, self.expired = filled if filled.current is not None else None, False
        if self.question is None:
            for branch in self.branches:
                branch.fill_in(filled)

    def _hand_off(self, event: HandedOff) -> None:
        self.handoffs += 1
        self.main.drop_wrong()
        self.main.begin_turn()
        self.main.answer, self.expired = None, False
        if self.group is None:
            self.origin = event.from_
        elif event.decided_by is not None:
            self.origin = self.last_agent = event.decided_by
            self.last_answer = self.group.answers[event.decided_by]
        self._forget_plan()
        self.group = None
        self.main.agent_id = event.to

    def _forget_plan(self) -> None:
        self.part_calls |= calls_of(self.plan, self.group)
        self.plan, self.plan_words = None, 0

    def _apply_to_plan(self, event: PlanEvent) -> None:
        query = UserMessage(self.query.text, self.query.attachments)
        self.plan = apply_to_plan(self.plan, event, self.main, query)
        self._end_question()
        if isinstance(event, PlanEnded | PlanReviewed) and (results := self.plan.results):
            self.last_answer, self.last_agent = results, event.agent_id

    def _end_group(self, joined: str) -> None:
        self.main.history.append(CrewMessage(joined))
        self.last_answer, self.last_agent = joined, self.origin
        if self.group is not None:
            self.group.ended = True
        # those that did not decide are asked nothing any more
        self._end_question()
