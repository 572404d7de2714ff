"""A stored run's state, folded from its events."""

import logging
from collections.abc import Sequence

from crew.journal.errors import Unreadable
from crew.journal.events import InConversation, StoredEvent, decode_event
from crew.journal.records.rows import PAGE, Page, Record, RunRow
from crew.journal.state import RunState
from crew.journal.store import RunLog
from tools.limits.deadline import Limits

log = logging.getLogger(__name__)


async def replay(store: RunLog, state: RunState, page: Page | None = None) -> None:
    """Bring a state up to the newest event that the store has of its run.

    Args:
        store: has the events.
        state: of the run, as far as it was replayed.
        page: what comes next, where it was read already.

    Raises:
        StoreError: the store fails, or has an event that another version wrote.
    """
    while True:
        if page is None:
            page = await store.records(state.run_id, state.seq, PAGE)
        apply_records(state, page)
        if page.is_last:
            return
        page = None


def apply_records(state: RunState, records: Sequence[Record]) -> None:
    """Bring a state up to the last of these events; raises StoreError."""
    for record in records:
        event, active_seconds = read_event(record, state.run_id)
        state.apply(event)
        # of a segment that a crash has cut off too
        state.active_seconds = active_seconds


def unread_state(row: RunRow, seq: int, limits: Limits) -> RunState:
    """Build the state of a run that can only be ended: its events cannot be read.

    Args:
        row: of the run.
        seq: the number of its newest event.
        limits: of its tools.
    """
    of = InConversation(row.conversation_id, row.exchange)
    return RunState(row.run_id, limits, seq, status=row.status, conversation=of)


def read_event(record: Record, run_id: str) -> tuple[StoredEvent, float]:
    """Read an event of a run, and the run's active time by then, in seconds.

    Raises:
        Unreadable: another version wrote it.
    """
    try:
        return decode_event(record.event)
    except ValueError as error:
        log.debug("event %d of run %s: %s", record.seq, run_id, error)
        raise Unreadable(run_id, record.seq) from error
