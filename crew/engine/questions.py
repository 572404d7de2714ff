"""The questions to a person in a run, and what of the answer holds for its calls."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import inf

from agents.agent import Agent
from agents.events import ToolAsked, ToolReturned, ToolStarted, Warned
from agents.turns.turn import Turn
from crew.crew import Crew
from crew.engine.approvals import (
    Agents,
    CallKey,
    call_without_question,
    decisions_on,
    find_grantable,
    find_question,
    grants_of,
    needs_approval,
    repeated_denials,
    results_of_answer,
    with_edit,
)
from crew.engine.form_questions import find_inquiry
from crew.engine.taint import is_refused, refusal
from crew.journal.branches import Branch
from crew.journal.call_text import call_key
from crew.journal.decided import ApprovedCall
from crew.journal.errors import StoreError
from crew.journal.events import Answered, StoredEvent
from crew.journal.query import Answer
from crew.journal.questions import Inquiry, PendingCall, Question
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
from crew.journal.store import RunStore
from tools.approval import ApprovalRule
from tools.calls import QuestionRaised, ToolResult
from tools.clock import rfc3339

# how often it is tried to keep a grant, and how long after each time
KEEP_TRIES, KEEP_SECONDS = 60, 1.0
# facts of a call that is not made since the turn has made it before
REPEATED: dict[str, bool] = {"refused": True, "repeated": True}


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A person has to decide before anything goes on."""

    agent: Agent
    question: Question
    # RFC 3339: the question is decided then, even without an answer
    until: str | None


@dataclass(frozen=True, slots=True)
class Overdue:
    """No decision came in time, and the run must not go on without."""

    message: str


class Questions:
    """The questions of one run about its calls."""

    def __init__(
        self,
        crew: Crew,
        state: RunState,
        store: RunStore,
        row: RunRow,
        record: Callable[[StoredEvent], None],
    ) -> None:
        """Of a run.

        Args:
            crew: the run's.
            state: of the run; changed by its events.
            store: has the grants, and the time by which pauses end.
            row: of the run.
            record: records an event of the run.
        """
        self.crew, self.state, self.store, self.row = crew, state, store, row
        self.record = record
        # what tools ask, until it is a question of the run
        self._pending: dict[CallKey, QuestionRaised] = {}
        # the calls that are made now
        self._made: dict[CallKey, ApprovedCall] = {}

    async def apply_answer(self) -> None:
        """Record what a person has said, as the first thing that happens after it."""
        state = self.state
        if state.untold is None or state.status != "running":
            return
        question, answer = state.untold
        if question is not None and not await self._keep_grants(question, answer):
            text = "what was approved for all runs could not be kept: it will be asked about again"
            self.record(Warned("grant_lost", text))
        decided = tuple(decisions_on(question, answer)) if question is not None else ()
        self.record(Answered(state.pause_seq, answer, decided))

    async def _keep_grants(self, question: Question, answer: Answer) -> bool:
        """Keep what an answer approves for all runs; whether that was done, in a minute."""
        made = grants_of(question, answer, self.state, self.row, self.store.now())
        for _ in range(KEEP_TRIES if made else 0):
            try:
                await self.store.grants.add(made)
            except StoreError:
                await self.crew.clock.sleep(KEEP_SECONDS)
            else:
                return True
        return not made

    async def find_open(self, branches: Sequence[Branch]) -> OpenQuestion | Overdue | None:
        """Return what must be decided before the open calls of branches are made; None: nothing.

        Records the results of an answer.
        """
        state, agents = self.state, self.crew.agents
        if isinstance(state.question, Inquiry):
            agent = agents[state.question.calls[0].agent_id]
            return OpenQuestion(agent, state.question, self.until(agent.id))
        self._made = {
            (branch.agent_id, call_id): one
            for branch in branches
            for call_id, one in branch.decided.items()
        }
        if state.decided is not None and state.question is not None:
            asked, answer, expired = state.question, state.decided, state.expired
            waiting = self._still_waiting(asked) if expired else set()
            overdue = [
                rule
                for one, rule in _rules(asked, agents)
                if (one.agent_id, one.call.id) not in waiting
            ]
            if expired and any(rule.on_deadline == "fail" for rule in overdue):
                text = "nobody has decided on a call in time"
                return Overdue(f"{text} (requires_approval.on_deadline: fail)")
            # before any of them is recorded: the last one ends the question
            results = [
                (branch, results_of_answer(branch, asked, answer, expired, waiting))
                for branch in branches
            ]
            for branch, decided in results:
                self._record_results(branch, decided)
        else:
            for branch in branches:
                denied = repeated_denials(branch, agents[branch.agent_id], state)
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
            # an unknown outcome is never decided by a clock
            return OpenQuestion(agent, question, None)
        return OpenQuestion(agent, question, self._until(agent, question))

    def add_question(self, event: ToolAsked) -> None:
        """Record what a tool asks a person before it goes on."""
        self._pending[event.agent_id, event.asked.call.id] = event.asked

    def until(self, agent_id: str) -> str | None:
        """Return the time at which a pause of an agent ends even without an answer: RFC 3339."""
        return self._in(self.crew.routing.wait_seconds.get(agent_id))

    def _until(self, agent: Agent, question: Question) -> str | None:
        """Return when a question about calls is: as their tools say, else as their agent does."""
        if isinstance(question, Inquiry):
            return self.until(agent.id)
        rules = [rule for _, rule in _rules(question, self.crew.agents)]
        if all(one.deadline_seconds is None for one in rules):
            return self.until(agent.id)
        return self._in(_first_deadline(rules))

    def _still_waiting(self, question: Question) -> set[CallKey]:
        """Return the calls of an overdue question that have time left, for the next question."""
        rules = list(_rules(question, self.crew.agents))
        first = _first_deadline([rule for _, rule in rules])
        if first is None:
            # it was the agent's own time
            return set()
        return {
            (asked.agent_id, asked.call.id)
            for asked, rule in rules
            if rule.on_deadline == "wait" or (rule.deadline_seconds or inf) > first
        }

    def _in(self, seconds: float | None) -> str | None:
        if seconds is None:
            return None
        return rfc3339(self.store.now() + timedelta(seconds=seconds))

    def refuse_repeated(self, branch: Branch) -> bool:
        """Record the results of calls that a turn makes too often; whether there were any."""
        most = self.crew.agents[branch.agent_id].limits.max_same_calls
        if most is None:
            return False
        known: Counter[str] = Counter()
        repeated = set()
        for call in branch.turn_calls:
            # of a call that cannot be read nothing is known to be the same
            key = call_key(call) if call.argument_error is None else call.id
            if known[key] >= most:
                repeated.add(call.id)
            known[key] += 1
        results = [
            ToolResult.of(call, "error", repeated_text(call.tool, most), facts={**REPEATED})
            for call in branch.open_calls
            if call.id in repeated and call.id not in branch.started_calls
        ]
        self._record_results(branch, results)
        return bool(results)

    def _record_results(self, branch: Branch, results: Sequence[ToolResult]) -> None:
        agent, main = self.crew.agents[branch.agent_id], self.state.main
        # of a group, or of a plan that is worked on
        group = None if any(one is main for one in self.state.branches) else main.agent_id
        for result in results:
            returned = ToolReturned(agent.id, agent.name, group, result, branch.task, branch.within)
            self.record(returned)

    async def _apply_grants(self, branch: Branch) -> None:
        """Approve the open calls of a branch that a person has approved for all runs."""
        agent = self.crew.agents[branch.agent_id]
        wanted = [
            (call, tool.definition)
            for call in branch.open_calls
            if (agent.id, call.id) not in self._made
            and (tool := find_grantable(call, agent, self.state)) is not None
        ]
        if not wanted:
            return
        now = rfc3339(self.store.now())
        try:
            found_grants = await self.store.grants.find(now, [one for _, one in wanted])
        except StoreError:
            # a person is asked then
            return
        grants = [one for one in found_grants if one.owner == self.row.owner]
        for call, definition in wanted:
            for grant in grants:
                if grant.covers(agent.id, definition, call.arguments):
                    edited = call.id in branch.edited_calls
                    made = ApprovedCall(call, grant.by, edited, grant.id)
                    self._made[agent.id, call.id] = made

    async def calls_to_make(self, branch: Branch) -> list[ApprovedCall] | None:
        """Return the open calls of a branch, as a person wants them.

        None: a person has to decide first.

        Only between one `find_open` and the next.
        """
        await self._apply_grants(branch)
        agent = self.crew.agents[branch.agent_id]
        calls = []
        for call in list(branch.open_calls):
            if (agent.id, call.id) in self._pending:
                return None
            is_new, tool = call.id not in branch.started_calls, agent.tools.get(call.tool)
            if is_new and tool is not None and is_refused(tool, agent, self.state):
                self._record_results(branch, [refusal(call, self.state)])
                continue
            made = self._made.get((agent.id, call.id))
            if made is None:
                if needs_approval(call, agent, self.state):
                    return None
                made = call_without_question(call, branch, agent, self.state)
                self._made[agent.id, call.id] = made
            calls.append(made)
        return calls

    def with_approval(self, event: ToolStarted | ToolReturned) -> ToolStarted | ToolReturned:
        """Return a call with who has approved it, or a result with what of its call was changed."""
        match event:
            case ToolStarted(call=call):
                made = self._made.get((event.agent_id, call.id))
                if made is not None and made.concerns_a_person:
                    by, edited, grant = made.by, made.edited, made.grant
                    return replace(event, approved_by=by, edited=edited, grant=grant)
            case ToolReturned(result=result):
                made = self._made.get((event.agent_id, result.call_id))
                if made is not None and made.edited:
                    return replace(event, result=with_edit(result, made.call))
        return event


def repeated_text(tool: str, most: int) -> str:
    """Return why a call is not made that its turn has made before."""
    times = "once" if most == 1 else f"{most} times"
    return (
        f"{tool} was called {times} with these arguments, and is not called again in this turn "
        f"(settings.max_same_calls = {most}); use what it gave, or do something else"
    )


async def make_calls(turn: Turn, calls: Sequence[ApprovedCall]) -> None:
    """Make calls as a person wants them."""
    replies = {one.call.id: one.reply for one in calls if one.reply is not None}
    await turn.act([one.call for one in calls], replies)


def _first_deadline(rules: Sequence[ApprovalRule]) -> float | None:
    """Return when the first of them is over, in seconds; None: no clock ends the wait."""
    given = [one.deadline_seconds for one in rules if one.on_deadline != "wait"]
    return min((one for one in given if one is not None), default=None)


def _rules(question: Question | None, agents: Agents) -> Iterator[tuple[PendingCall, ApprovalRule]]:
    """Yield the calls that a question asks about, and the rules of their tools."""
    for asked in question.calls if question is not None else ():
        agent = agents.get(asked.agent_id)
        tool = agent.tools.get(asked.call.tool) if agent is not None else None
        if tool is not None and tool.approval is not None:
            yield asked, tool.approval
