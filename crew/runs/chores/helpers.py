"""Helpers: exchanges as they are shown them, and who counts their requests."""

import logging
from collections.abc import Sequence

from agents.context.blocks import as_data, cut_to
from agents.events import ModelCalled, Warned
from agents.helper import Helper
from agents.model import EmitModelEvent, Meter, ModelEvent, RequestEnded
from crew.engine.spending.budgets import RunBudgets
from crew.engine.spending.paying import call_row
from crew.journal.records.conversations import Exchange
from crew.journal.records.rows import RunRow
from crew.journal.said import parts_in_words
from crew.journal.state import RunState
from crew.runs.runs import Runs
from tools.clock import rfc3339

log = logging.getLogger(__name__)
# of one exchange
MAX_EXCHANGE_TOKENS = 1500


def exchanges_text(exchanges: Sequence[Exchange], helper: Helper) -> str:
    """Return exchanges with their numbers, each cut to a length, as data."""
    parts = []
    for one in exchanges:
        said = [f"{part.agent or 'user'}: {part.text}" for part in parts_in_words(one.said)]
        lines = [
            f"Exchange {one.number}",
            f"user: {one.query}",
            *said,
            f"{one.agent}: {one.answer}",
        ]
        parts.append("\n".join(lines))
    short = [cut_to(part, MAX_EXCHANGE_TOKENS, helper.tokenizer) for part in parts]
    return as_data("exchanges", "\n\n".join(short))


def meter_of(runs: Runs, helper: Helper, user_id: str, conversation_id: str = "") -> Meter | None:
    """Return what reserves for a helper's requests; None: no budget counts them. See `emit_of`."""
    crew, now = runs.crew, rfc3339(runs.store.now())
    row = RunRow(
        "", crew.name, "running", "", now, "", user_id=user_id, conversation_id=conversation_id
    )
    state = RunState("", crew.tool_limits)
    return RunBudgets(crew, state, row, runs.store, _log).meter(helper.agent_id)


def _log(event: Warned) -> None:
    log.warning("%s: %s", event.agent_id, event.message)


def emit_of(runs: Runs, helper: Helper, user_id: str, conversation_id: str = "") -> EmitModelEvent:
    """Return what counts a helper's requests, and keeps what they cost.

    Args:
        runs: of the crew.
        helper: who makes them.
        user_id: the user that they are for; "" for none.
        conversation_id: about which conversation.
    """

    async def emit(event: ModelEvent) -> None:
        if isinstance(event, RequestEnded):
            called = ModelCalled(helper.agent_id, helper.agent_id, event)
            for listener in runs.listeners:
                listener("", called)
            row = call_row(
                event,
                helper.agent_id,
                runs.store.now(),
                runs.crew.zone,
                user_id=user_id,
                conversation_id=conversation_id,
            )
            await runs.store.costs.record([row])

    return emit
