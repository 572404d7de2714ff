"""A run's row when a segment has ended; pure."""

from dataclasses import replace

from crew.journal.questions import question_text
from crew.journal.rows import RunRow
from crew.journal.state import RunState


def ended_row(
    row: RunRow,
    state: RunState,
    reason: str,
    agent_id: str | None,
    answer: str,
    until: str | None,
    now: str,
    recorded_bytes: int,
) -> RunRow:
    """The row of a run that has ended or is paused.

    Args:
        row: as it was.
        state: of the run, with the segment's last event in it.
        reason: of that event.
        agent_id: who spoke last, or asks.
        answer: the run's, or why it failed.
        until: when a pause is over even without an answer; RFC 3339, as is `now`.
        now: the time.
        recorded_bytes: of the segment's events.
    """
    is_paused = state.status == "paused"
    return replace(
        row,
        status=state.status,
        reason=reason,
        answer=answer,
        agent_id=agent_id,
        paused_agent_id=agent_id if is_paused else None,
        rounds=state.main.rounds,
        handoffs=state.handoffs,
        usage=state.usage,
        duration_seconds=state.active_seconds,
        ended_at=None if is_paused else now,
        paused_until=until,
        asks=question_text(state.question) if is_paused and state.question is not None else "",
        pause_seq=state.pause_seq if is_paused else None,
        last_seq=state.seq,
        stored_bytes=row.stored_bytes + recorded_bytes,
    )
