"""More room in the pot of a budget, as a person gives it in the pause of a run."""

from collections.abc import Mapping
from typing import Any

from agents.costs.prices import nanos_of
from crew.journal.decided import decision_on
from crew.journal.query import Answer
from crew.journal.questions import BudgetQuestion
from crew.journal.records.rows import IdempotencyRecord
from crew.journal.records.spent.budgets import PotKey
from crew.journal.store import RunStore

RAISED = "budget raised"
# the key of an approval that says for which runs it is, and its value for all that wait
FOR, ALL = "for", "all"


def agreed_amounts(question: BudgetQuestion, answer: Answer) -> Mapping[str, Any] | None:
    """Return what a person has agreed to; None: the person has not."""
    decided = decision_on(question.calls[0], question, answer)
    return (decided.arguments or {}) if decided.decision == "approve" else None


async def raise_pot(
    store: RunStore, question: BudgetQuestion, given: Mapping[str, Any], run_id: str, pause_seq: int
) -> None:
    """Add what a person gives to a pot, once for each pause; raises StoreError.

    Args:
        store: has the pot.
        question: names it.
        given: `usd` or `tokens` more; with neither nothing is added.
        run_id: the run in which it was said.
        pause_seq: the number of its pause.
    """
    nanos, tokens = nanos_of(float(given.get("usd", 0))), int(given.get("tokens", 0))
    if not (nanos or tokens):
        return
    full = question.full
    key = PotKey(full.budget, full.value, full.period)
    # should the process end before the answer is recorded, the next one does this again
    once = IdempotencyRecord(f"{RAISED} {run_id} {pause_seq}", "", run_id, 0)
    await store.budgets.add(key, full.resets_at, nanos, tokens, once)
