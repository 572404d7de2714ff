"""What a paused run goes on with: a person's answer, or what stands for it; pure."""

from datetime import datetime

from crew.crew import Crew
from crew.engine.decisions import changed_call, wrong_decision
from crew.errors import CrewError
from crew.journal.decided import decision_on
from crew.journal.events import RunResumed
from crew.journal.query import Answer
from crew.journal.questions import BudgetQuestion, Question, RestoredQuestion
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
from crew.runs.errors import ChangedCall, MayNotSpend, WrongDecision
from crew.runs.request import RunRequest
from crew.runs.streams.live import LiveRuns
from tools.clock import rfc3339


def is_over(row: RunRow, now: datetime) -> bool:
    """Return whether a pause has a deadline that has passed."""
    return row.paused_until is not None and row.paused_until <= rfc3339(now)


def no_answer(row: RunRow) -> Answer:
    """Build what stands for the answer to a pause that is over."""
    text = f"nobody answered until {row.paused_until}"
    return Answer(text, decision="deny", pause_seq=row.pause_seq)


def resumed_event(
    row: RunRow,
    crew: Crew,
    state: RunState,
    answer: Answer,
    request: RunRequest,
    *,
    expired: bool,
) -> RunResumed:
    """Build the event that begins the segment.

    Args:
        row: the paused run.
        crew: its own.
        state: as it is at the pause.
        answer: the person's, or what stands for it.
        request: that brings it.
        expired: no answer came in time.
    """
    agent_id = state.paused_agent_id
    name = crew.name_of(agent_id)
    begun = row.crew, agent_id, name, request.request_id, answer, expired, state.conversation
    return RunResumed(*begun, request.traceparent)


def remedy_of(row: RunRow, live: LiveRuns) -> str:
    """Return what can be done with a run that is at work, but not `live`; "" for others."""
    if row.status != "running" or row.run_id in live:
        return ""
    return "; if its process has ended, crew serve goes on with it, and crew cancel ends it"


def refused_answer(
    answer: Answer, state: RunState, crew: Crew, *, may_decide: bool
) -> CrewError | None:
    """Return why a person's answer is not taken; None if it is.

    Args:
        answer: the person's.
        state: of the paused run.
        crew: its own.
        may_decide: it came in a way by which calls may be decided on.
    """
    question = state.question
    wrong = wrong_decision(answer, question, crew.agents)
    if question is not None and not may_decide:
        wrong = "this pause asks about calls; decide on them by POST"
    if wrong:
        return WrongDecision(wrong)
    if isinstance(question, BudgetQuestion) and not answer.may_spend:
        return MayNotSpend()
    if text := changed_call(answer, question):
        return ChangedCall(text)
    return None


def ended_since(question: Question | None, answer: Answer) -> str:
    """Return the time of the backup since which a person ends a run; "" where it goes on."""
    if not isinstance(question, RestoredQuestion):
        return ""
    decided = decision_on(question.calls[0], question, answer)
    return question.taken_at if decided.decision == "deny" else ""
