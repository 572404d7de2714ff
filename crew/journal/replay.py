"""A stored run's state, folded from its events."""

import logging

from crew.journal.errors import StoreError
from crew.journal.events import decode_event
from crew.journal.state import RunState
from crew.journal.store import RunLog

log = logging.getLogger(__name__)

# events in one read
PAGE = 500


async def replay(store: RunLog, state: RunState) -> None:
    """Bring a state up to the newest event that the store has of its run.

    Args:
        store: has the events.
        state: of the run, as far as it was replayed.

    Raises:
        StoreError: the store fails, or has an event that another version wrote.
    """
    try:
        while records := await store.records(state.run_id, state.seq, PAGE):
            for record in records:
                event, active_seconds = decode_event(record.event)
                state.apply(event)
                # of a segment that a crash has cut off too
                state.active_seconds = active_seconds
    except ValueError as error:
        number = state.seq + 1
        log.debug("event %d of run %s: %s", number, state.run_id, error)
        raise StoreError(
            f"event {number} of run {state.run_id} was written by another version, "
            "and cannot be read"
        ) from error
