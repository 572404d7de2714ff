"""What a person is asked in a run, and what of the answer holds for its calls."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from agents.agent import Agent
from agents.events import ToolAsked, ToolReturned, ToolStarted, Warned
from agents.turn import Turn
from crew.crew import Crew
from crew.engine.approvals import (
    Agents,
    ApprovedCall,
    CallKey,
    decided_calls,
    decisions_on,
    find_question,
    grants_of,
    is_asked,
    may_be_granted,
    results_of_answer,
    unasked_call,
    unasked_denials,
    with_edit,
)
from crew.engine.inquiries import content_of, find_inquiry, replies_to
from crew.journal.branches import Branch
from crew.journal.events import Answered, Inquiry, Question, StoredEvent
from crew.journal.query import Answer
from crew.journal.state import RunState
from crew.journal.store import RunStore
from tools.approval import ApprovalRule
from tools.calls import CallAsked, ToolResult
from tools.clock import rfc3339


@dataclass(frozen=True, slots=True)
class Asked:
    """A person has to decide before anything goes on."""

    agent: Agent
    question: Question
    # RFC 3339: the question is decided then, even without an answer
    until: str | None


@dataclass(frozen=True, slots=True)
class Overdue:
    """Nobody has decided in time, and the run must not go on without."""

    message: str


class Asking:
    """The questions of one run about its calls."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        store: RunStore,
        record: Callable[[StoredEvent], None],
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            state: of the run; changed by its events.
            store: has the grants, and the time by which pauses end.
            record: records an event of the run.
        """
        self.crew, self.state, self.store, self.record = crew, state, store, record
        # what tools ask, until it is a question of the run
        self._pending: dict[CallKey, CallAsked] = {}
        # the calls that are made now
        self._made: dict[CallKey, ApprovedCall] = {}

    async def tell_answer(self) -> None:
        """Record what a person has said, as the first thing that happens after it.

        Raises:
            StoreError: what holds for all runs cannot be kept.
        """
        if self.state.untold is not None and self.state.status == "running":
            state, answer = self.state, self.state.untold
            if grants := grants_of(answer, state, self.store.now()):
                await self.store.grants.add(grants)
            decided = tuple(decisions_on(state.question, answer))
            self.record(Answered(state.pause_seq, answer, decided))

    async def ask(self, branches: Sequence[Branch]) -> Asked | Overdue | None:
        """What must be decided before the open calls of branches are made; None: nothing.

        Records the results of an answer.

        Raises:
            StoreError: the grants cannot be read.
        """
        state, agents = self.state, self.crew.agents
        self._made = {
            (branch.agent_id, one.call.id): one
            for branch in branches
            for one in decided_calls(branch, state)
        }
        if isinstance(state.question, Inquiry) and state.decided is not None:
            involved = [(one.agent_id, one.call.id) for one in state.question.involved]
            # a tool that asks again has had what was said
            if not any(key in self._pending for key in involved):
                return self._take_content(state.question, state.decided)
        if state.decided is not None:
            if state.expired and any(
                one.on_deadline == "fail" for one in _rules(state.question, agents)
            ):
                text = "nobody has decided on a call in time"
                return Overdue(f"{text} (requires_approval.on_deadline: fail)")
            # before any of them is recorded: the last one ends the question
            results = [
                (branch, results_of_answer(branch, state.question, state.decided, state.expired))
                for branch in branches
            ]
            for branch, decided in results:
                self._record_results(branch, decided)
        else:
            for branch in branches:
                denied = unasked_denials(branch, agents[branch.agent_id], state)
                self._record_results(branch, denied)
        for branch in branches:
            await self._apply_grants(branch)
        pending, self._pending = self._pending, {}
        secrets = self.crew.secrets
        found = find_inquiry(branches, agents, pending, secrets) or find_question(
            branches, agents, state, secrets, self._made
        )
        if found is None:
            return None
        agent, question = found
        if question.kind == "unknown_outcome":
            tools = ", ".join(asked.call.tool for asked in question.calls)
            text = f"{tools} had started when the process ended; whether it acted is not known"
            self.record(Warned("unknown_outcome", text, agent.id, agent.name))
            # what nobody knows is never decided by a clock
            return Asked(agent, question, None)
        return Asked(agent, question, self._until(agent, question))

    def hear(self, event: ToolAsked) -> None:
        """A tool asks a person before it goes on."""
        self._pending[event.agent_id, event.asked.call.id] = event.asked

    def _take_content(self, question: Inquiry, answer: Answer) -> Asked | None:
        """Fill in the current form; what is asked next, or nothing: the calls are made then."""
        filled = question.answered(content_of(question, answer, expired=self.state.expired))
        if filled.current is not None:
            agent = self.crew.agents[filled.calls[0].agent_id]
            return Asked(agent, filled, self._until(agent, filled))
        for key, reply in replies_to(filled).items():
            if key in self._made:
                self._made[key] = replace(self._made[key], reply=reply)
        return None

    def until(self, agent_id: str) -> str | None:
        """When a pause of an agent is over even without an answer: RFC 3339."""
        return self._in(self.crew.routing.wait_seconds.get(agent_id))

    def _until(self, agent: Agent, question: Question) -> str | None:
        """When a question about calls is: as their tools say, else as their agent does."""
        rules = _rules(question, self.crew.agents)
        given = [one for one in rules if one.deadline_seconds is not None]
        if not given:
            return self.until(agent.id)
        seconds = [one.deadline_seconds for one in given if one.on_deadline != "wait"]
        return self._in(min((one for one in seconds if one is not None), default=None))

    def _in(self, seconds: float | None) -> str | None:
        if seconds is None:
            return None
        return rfc3339(self.store.now() + timedelta(seconds=seconds))

    def _record_results(self, branch: Branch, results: Sequence[ToolResult]) -> None:
        agent, main = self.crew.agents[branch.agent_id], self.state.main
        group = None if branch is main else main.agent_id
        for result in results:
            self.record(ToolReturned(agent.id, agent.name, group, result))

    async def _apply_grants(self, branch: Branch) -> None:
        """Approve the open calls of a branch that a person has approved for all runs."""
        agent = self.crew.agents[branch.agent_id]
        open_calls = [call for call in branch.open_calls if (agent.id, call.id) not in self._made]
        found = [(call, may_be_granted(call, agent, self.state)) for call in open_calls]
        wanted = [(call, tool.definition) for call, tool in found if tool is not None]
        if not wanted:
            return
        now = rfc3339(self.store.now())
        grants = await self.store.grants.find(now, [definition for _, definition in wanted])
        for call, definition in wanted:
            for grant in grants:
                if grant.covers(agent.id, definition, call.arguments):
                    edited = call.id in branch.edited_calls
                    made = ApprovedCall(call, grant.by, edited, grant.id)
                    self._made[agent.id, call.id] = made

    async def calls_to_make(self, branch: Branch) -> list[ApprovedCall] | None:
        """The open calls of a branch, as a person wants them; None: a person has to decide first.

        Only between one `ask` and the next.
        """
        await self._apply_grants(branch)
        agent = self.crew.agents[branch.agent_id]
        calls = []
        for call in branch.open_calls:
            if (agent.id, call.id) in self._pending:
                return None
            made = self._made.get((agent.id, call.id))
            if made is None:
                if is_asked(call, agent, self.state):
                    return None
                made = unasked_call(call, branch, agent, self.state)
                self._made[agent.id, call.id] = made
            calls.append(made)
        return calls

    def with_approval(self, event: ToolStarted | ToolReturned) -> ToolStarted | ToolReturned:
        """A call with who has approved it, or a result with what of its call was changed."""
        match event:
            case ToolStarted(call=call):
                made = self._made.get((event.agent_id, call.id))
                if made is not None:
                    by, edited, grant = made.by, made.edited, made.grant
                    return replace(event, approved_by=by, edited=edited, grant=grant)
            case ToolReturned(result=result):
                made = self._made.get((event.agent_id, result.call_id))
                if made is not None and made.edited:
                    return replace(event, result=with_edit(result, made.call))
        return event


async def act(turn: Turn, calls: Sequence[ApprovedCall]) -> None:
    """Make calls as a person wants them."""
    replies = {one.call.id: one.reply for one in calls if one.reply is not None}
    await turn.act([one.call for one in calls], replies)


def _rules(question: Question | None, agents: Agents) -> Iterator[ApprovalRule]:
    """The rules of the tools that a question asks about."""
    for asked in question.calls if question is not None else ():
        agent = agents.get(asked.agent_id)
        tool = agent.tools.get(asked.call.tool) if agent is not None else None
        if tool is not None and tool.approval is not None:
            yield tool.approval
