"""What vectors cost: a row for each request, beside what models of runs cost."""

import logging

from agents.model import EmitModelEvent, ModelEvent, RequestEnded
from crew.config.costs.prices import EMBEDDINGS
from crew.crew import Crew
from crew.engine.spending.paying import call_row
from crew.journal.errors import StoreError
from crew.journal.state import RunState
from crew.journal.store import RunStore

log = logging.getLogger(__name__)
# for the store to keep one
RECORD_SECONDS = 1.0


def counting(
    crew: Crew,
    store: RunStore,
    user_id: str = "",
    conversation_id: str = "",
    state: RunState | None = None,
) -> EmitModelEvent:
    """Return what keeps the costs of requests for vectors.

    Args:
        crew: says which day it is.
        store: keeps them.
        user_id: the user that they are for; "" for none.
        conversation_id: in which conversation.
        state: of the run in which vectors are made; None: beside runs.
    """

    async def emit(event: ModelEvent) -> None:
        if not isinstance(event, RequestEnded):
            return
        row = call_row(
            event,
            EMBEDDINGS,
            store.now(),
            crew.zone,
            run_id=state.run_id if state is not None else "",
            seq=state.seq if state is not None else 0,
            user_id=user_id,
            conversation_id=conversation_id,
        )
        try:
            # the request may have taken all of its time: a run waits no longer than this
            async with crew.clock.timeout(RECORD_SECONDS):
                await store.costs.record([row])
        except (StoreError, TimeoutError) as error:
            # what was found is not lost for it
            log.warning("the cost of vectors is not kept: %s", str(error) or "the store is late")

    return emit


def counting_of_run(crew: Crew, store: RunStore, state: RunState) -> EmitModelEvent:
    """Return what keeps the costs of vectors that are made in a run."""
    return counting(crew, store, state.query.user_id, state.query.conversation_id, state)
