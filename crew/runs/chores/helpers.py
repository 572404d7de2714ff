"""Helpers: exchanges as they are shown them, and who counts their requests."""

from collections.abc import Sequence

from agents.context.blocks import as_data, cut_to
from agents.events import ModelCalled
from agents.helper import Helper
from agents.model import EmitModelEvent, ModelEvent, RequestEnded
from crew.journal.records.conversations import Exchange
from crew.runs.runs import Runs

# of one exchange
MAX_EXCHANGE_TOKENS = 1500


def exchanges_text(exchanges: Sequence[Exchange], helper: Helper) -> str:
    """Return exchanges with their numbers, each cut to a length, as data."""
    parts = []
    for one in exchanges:
        said = [f"{part.agent or 'user'}: {part.text}" for part in one.said]
        lines = [
            f"Exchange {one.number}",
            f"user: {one.query}",
            *said,
            f"{one.agent}: {one.answer}",
        ]
        parts.append("\n".join(lines))
    short = [cut_to(part, MAX_EXCHANGE_TOKENS, helper.tokenizer) for part in parts]
    return as_data("exchanges", "\n\n".join(short))


def emit_of(runs: Runs, helper: Helper) -> EmitModelEvent:
    """Return what gives a helper's requests to the counters."""

    async def emit(event: ModelEvent) -> None:
        if isinstance(event, RequestEnded):
            called = ModelCalled(helper.agent_id, helper.agent_id, event)
            for listener in runs.listeners:
                listener("", called)

    return emit
