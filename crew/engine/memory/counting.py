"""What vectors cost: a row for each request, beside what models of runs cost."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from agents.model import EmitModelEvent, ModelEvent, RequestEnded
from crew.budgets.rules import Budget, Payer, pots_of
from crew.config.costs.prices import EMBEDDINGS
from crew.crew import Crew
from crew.engine.spending.bounds import bound_of_request
from crew.engine.spending.paying import call_row
from crew.journal.errors import StoreError
from crew.journal.records.spent.budgets import Reservation, Share
from crew.journal.records.spent.costs import CALL, CallRow
from crew.journal.state import RunState
from crew.journal.store import RunStore
from tools.clock import rfc3339

log = logging.getLogger(__name__)
# for the store to keep one
RECORD_SECONDS = 1.0
# a call of which the row is not kept counts by itself after that
LOST_SECONDS = 60.0


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
        try:
            # the request may have taken all of its time: a run waits no longer than this
            async with crew.clock.timeout(RECORD_SECONDS):
                row = await store.row(state.run_id) if state is not None else None
                run_id = state.run_id if state is not None else ""
                payer = Payer(run_id, conversation_id, user_id) if row is None else Payer.of(row)
                call = call_row(
                    event,
                    EMBEDDINGS,
                    store.now(),
                    crew.zone,
                    run_id=payer.run,
                    seq=state.seq if state is not None else 0,
                    user_id=user_id,
                    owner=payer.token,
                    conversation_id=conversation_id,
                )
                own = bound_of_request(state.query) if state is not None else None
                budgets = crew.budgets if own is None else (*crew.budgets, own)
                await _fill_pots(budgets, crew.zone, store, payer, call)
                await store.costs.record([call])
        except (StoreError, TimeoutError) as error:
            # what was found is not lost for it
            log.warning("the cost of vectors is not kept: %s", str(error) or "the store is late")

    return emit


async def _fill_pots(
    budgets: Sequence[Budget], zone: ZoneInfo, store: RunStore, payer: Payer, call: CallRow
) -> None:
    """Let a call that was made count in the pots of budgets, once its row is kept.

    None of them refuses it: words find without vectors, but what was made is paid.
    """
    now = store.now()
    pots = pots_of(budgets, payer, EMBEDDINGS, call.model, now, zone)
    if pots:
        tokens = call.input + call.output
        shares = [Share(one.key, one.resets_at, call.nanos or 0, tokens) for one in pots]
        until = rfc3339(now + timedelta(seconds=LOST_SECONDS))
        kept = CALL.dump_json(call).decode()
        await store.budgets.reserve(Reservation(call.id, payer.run, shares, until, kept))


def counting_of_run(crew: Crew, store: RunStore, state: RunState) -> EmitModelEvent:
    """Return what keeps the costs of vectors that are made in a run."""
    return counting(crew, store, state.query.user_id, state.query.conversation_id, state)
