"""A stored run as it stands: its state, folded from its events."""

import logging

from crew.errors import StoreError
from crew.events import unpack
from crew.mirror import PAGE
from crew.state import RunState
from crew.stores.contract import RunStore
from tools.deadline import Limits

log = logging.getLogger(__name__)


async def recall(store: RunStore, run_id: str, limits: Limits) -> tuple[RunState, int]:
    """The state, and the number of the last event.

    Raises:
        StoreError: the store fails, or has an event that another version wrote.
    """
    state, seq = RunState(run_id, limits), 0
    try:
        while records := await store.records(run_id, seq, PAGE):
            for record in records:
                state.apply(unpack(record.event))
                seq = record.seq
    except ValueError as error:
        log.debug("event %d of run %s: %s", seq + 1, run_id, error)
        raise StoreError(f"event {seq + 1} of run {run_id} was written by another version, and cannot be read") from error
    return state, seq
