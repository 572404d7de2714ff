"""A stored run as it stands: its state, folded from its events."""

import logging

from crew.errors import StoreError
from crew.journal.events import unpack
from crew.journal.state import RunState
from crew.journal.store import RunStore
from crew.runs.remote import PAGE

log = logging.getLogger(__name__)


async def recall(store: RunStore, state: RunState, seq: int = 0) -> int:
    """Bring a state up to the last event that the store has of its run; gives that event's number.

    Args:
        store: has the events.
        state: of the run, up to event `seq`.
        seq: 0 for a state that is new.

    Raises:
        StoreError: the store fails, or has an event that another version wrote.
    """
    try:
        while records := await store.records(state.run_id, seq, PAGE):
            for record in records:
                state.apply(unpack(record.event))
                seq = record.seq
    except ValueError as error:
        log.debug("event %d of run %s: %s", seq + 1, state.run_id, error)
        raise StoreError(
            f"event {seq + 1} of run {state.run_id} was written by another version, and cannot be read"
        ) from error
    return seq
