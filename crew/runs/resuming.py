"""What a paused run goes on with: a person's answer, or what stands for it; pure."""

from datetime import datetime

from crew.crew import Crew
from crew.journal.events import RunResumed
from crew.journal.query import Answer
from crew.journal.records.rows import RunRow
from crew.journal.state import RunState
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
    request_id: str,
    *,
    expired: bool,
) -> RunResumed:
    """Build the event that begins the segment.

    Args:
        row: the paused run.
        crew: its own.
        state: as it is at the pause.
        answer: the person's, or what stands for it.
        request_id: of the request that brings it.
        expired: no answer came in time.
    """
    agent_id = state.paused_agent_id
    name = crew.name_of(agent_id)
    of = state.conversation
    return RunResumed(row.crew, agent_id, name, request_id, answer, expired, of)
