"""Runs that wait for room in the same pot: they go on together where a person wants it."""

import contextlib
import logging
from collections.abc import AsyncIterator

from crew.engine.spending.bounds import AGAIN
from crew.engine.spending.raising import ALL, FOR, agreed_amounts, raise_pot
from crew.errors import CrewError
from crew.journal.errors import StoreError
from crew.journal.events import Paused
from crew.journal.query import BUDGET_CALL, Answer, CallDecision
from crew.journal.questions import BudgetQuestion
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import PAGE, RunRow
from crew.journal.replay import read_event
from crew.journal.store import RunStore
from crew.runs.request import RunRequest
from crew.runs.run import Run
from crew.runs.starter import RunStarter

log = logging.getLogger(__name__)


async def resume_with_waiting(
    starter: RunStarter, run_id: str, answer: Answer, request: RunRequest, *, may_decide: bool
) -> Run:
    """Resume a run; and, where its answer is for all, the others that wait at the same pot.

    They get nothing more of their own: they try their calls again.

    Args:
        starter: resumes runs.
        run_id: the run that is answered.
        answer: to its pause.
        request: published with the segments.
        may_decide: see `Runs.resume`.

    Raises:
        CrewError: this run is not resumed. Of the others, those that cannot be resumed stay paused.
    """
    if not any((one.arguments or {}).get(FOR) == ALL for one in answer.decisions):
        return await starter.resume(run_id, answer, request, may_decide=may_decide)
    store = starter.store
    row = await store.row(run_id)
    question = await _question_of(store, row) if row is not None else None
    run = await starter.resume(run_id, answer, request, may_decide=may_decide)
    given = agreed_amounts(question, answer) if question is not None else None
    if row is None or row.pause_seq is None or question is None or given is None:
        return run
    try:
        # before the others look for room; the run does the same, and only one of them counts
        await raise_pot(store, question, given, run_id, row.pause_seq)
        own = RunRequest(request.request_id, entry=request.entry)
        await _resume_others(starter, run_id, question, answer.by, own)
    except StoreError as error:
        # this one goes on; the others can be answered again
        log.warning("runs that wait at budget %s stay paused: %s", question.full.budget, error)
    return run


async def _resume_others(
    starter: RunStarter, run_id: str, question: BudgetQuestion, by: str, own: RunRequest
) -> None:
    async for other, theirs in _waiting(starter.store):
        if other.run_id == run_id or _pot_of(theirs) != _pot_of(question):
            continue
        again = CallDecision(
            BUDGET_CALL, "approve", theirs.calls[0].agent_id, arguments={AGAIN: True}
        )
        theirs_too = Answer(decisions=(again,), by=by, pause_seq=other.pause_seq)
        with contextlib.suppress(CrewError):
            await starter.resume(other.run_id, theirs_too, own)


async def _waiting(store: RunStore) -> AsyncIterator[tuple[RunRow, BudgetQuestion]]:
    """Yield the runs that wait for room in a budget, newest first, with their questions."""
    after: str | None = None
    while page := await store.rows(RunFilter("paused"), PAGE, after):
        after = page[-1].run_id
        for row in page:
            if (question := await _question_of(store, row)) is not None:
                yield row, question


async def _question_of(store: RunStore, row: RunRow) -> BudgetQuestion | None:
    """Return the question about a budget in which a run waits; None: it waits for nothing such."""
    if row.pause_seq is None or not row.asks:
        return None
    records = await store.records(row.run_id, row.pause_seq - 1, 1)
    event = read_event(records[0], row.run_id)[0] if records else None
    question = event.question if isinstance(event, Paused) else None
    return question if isinstance(question, BudgetQuestion) else None


def _pot_of(question: BudgetQuestion) -> tuple[str, str, str]:
    return question.full.budget, question.full.value, question.full.period
