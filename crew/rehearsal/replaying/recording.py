"""A stored run, with all that the world has said in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agents.events import AgentResponded, Warned
from crew.budgets.rules import Budget
from crew.journal.decided import decision_on
from crew.journal.errors import StoreError
from crew.journal.events import (
    Answered,
    Paused,
    RunDone,
    RunFailed,
    RunResumed,
    RunRetried,
    RunStarted,
    StoredEvent,
)
from crew.journal.questions import BudgetQuestion, RestoredQuestion
from crew.journal.records.remembered.recall import RecallItem
from crew.journal.records.rows import PAGE, Record, RunRow
from crew.journal.replay import read_event
from crew.journal.store import RunStore
from crew.rehearsal.playing.tape import Noted, moment_of
from crew.rehearsal.replaying.before import Before, ConversationGone, find_before
from crew.rehearsal.replaying.recalled import ItemGone, blocks_of, find_recalled


class NotKept(Exception):
    """A run cannot be played again; the text says why."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """An answer to a pause, or what stood for it."""

    # when, in seconds since the start
    seconds: float
    event: RunResumed
    # when the pause was to be over, as RFC 3339
    until: str | None


@dataclass(frozen=True, slots=True)
class Recording:
    """A run."""

    row: RunRow
    start: datetime
    events: Sequence[Noted]
    before: Before
    # items of recall memory that models were shown, for each look, in order
    recalled: Sequence[Sequence[RecallItem]] = ()

    @property
    def started(self) -> RunStarted:
        """Its first event."""
        event = self.events[0].event
        assert isinstance(event, RunStarted), "it was read so"
        return event

    def changed_since(self, budgets: Sequence[Budget]) -> str:
        """Return why it may not be reproduced: what is kept only as it is now; "" for nothing.

        `budgets`: of its crew.
        """
        # from the others no other run was paid
        shared = {one.source for one in budgets if one.scope != "run"}
        blocks = (block for one in self.events for block in blocks_of(one.event))
        if any(one.kind == "documents" and one.ids for one in blocks):
            return "it was shown a list of documents, which is another one now"
        if any(self.recalled):
            return "it was shown items of recall memory, which were said again or changed since"
        if any(_budget_of(one.event) in shared for one in self.events):
            return "it met a budget that other runs are paid from, too"
        return ""

    @property
    def resumed(self) -> list[Resumption]:
        """Its answers, and what stands for them."""
        found: list[Resumption] = []
        until: str | None = None
        for one in self.events:
            if isinstance(one.event, Paused):
                until = one.event.until
            elif isinstance(one.event, RunResumed):
                found.append(Resumption(one.seconds, one.event, until))
        return found


async def read_recording(store: RunStore, row: RunRow) -> Recording:
    """Read a run that has ended or is paused.

    Raises:
        NotKept: it goes on, or its events are not all there.
        StoreError: the store fails.
    """
    if row.status == "running":
        raise NotKept("it still goes on")
    records: list[Record] = []
    while True:
        page = await store.records(row.run_id, len(records), PAGE)
        if not records and (not page or page[0].seq != 1):
            raise NotKept("its events are no longer kept")
        if any(one.seq != seq for seq, one in enumerate(page, len(records) + 1)):
            raise NotKept("some of its events are no longer kept")
        records += page
        if page.is_last:
            break
    start = moment_of(records[0])
    try:
        events = [
            Noted(read_event(one, row.run_id)[0], (moment_of(one) - start).total_seconds())
            for one in records
        ]
    except StoreError as error:
        raise NotKept(f"an earlier version wrote its events: {error}") from None
    events = _without_restores(events)
    first, last = events[0].event, events[-1].event
    if isinstance(last, RunDone | RunFailed) and last.reason in ("cancelled", "abandoned"):
        raise NotKept("it was cancelled from outside")
    if not isinstance(first, RunStarted) or row.source == "fork":
        raise NotKept("it began as a copy of another run")
    if any(isinstance(one.event, RunRetried) for one in events):
        raise NotKept("it was retried after a failure, which is not replayed")
    if any(isinstance(one.event, AgentResponded) and one.event.asked is None for one in events):
        raise NotKept("an earlier version wrote its events, without what models were sent")
    shown = [block for one in events for block in blocks_of(one.event)]
    versions = (one.versions for one in shown if one.kind == "summary")
    try:
        before = await find_before(store, row, next((one[0] for one in versions if one), 0))
        recalled = await find_recalled(store, row, [one.event for one in events])
    except (ConversationGone, ItemGone) as error:
        raise NotKept(str(error)) from None
    return Recording(row, start, events, before, recalled)


def _budget_of(event: StoredEvent) -> str | None:
    """Return which budget had no room, or little, as `file:line`; None: the event is another."""
    match event:
        case Warned(code=code) | RunFailed(code=code):
            return event.source if code.startswith("budget") else None
        case RunDone(reason="budget"):
            return event.source
        case Paused(question=BudgetQuestion() as question):
            return question.full.source
        case _:
            return None


def _without_restores(events: Sequence[Noted]) -> list[Noted]:
    """Leave out pauses because the database was restored: behind them a run only goes on.

    Raises:
        NotKept: it waits in one, or a person has ended it there.
    """
    found: list[Noted] = []
    question: RestoredQuestion | None = None
    is_resumed = False
    for one in events:
        event = one.event
        if isinstance(event, Paused) and isinstance(event.question, RestoredQuestion):
            question = event.question
        elif question is not None and isinstance(event, RunResumed):
            if decision_on(question.calls[0], question, event.answer).decision != "approve":
                raise NotKept("it was ended after its database was restored")
            question, is_resumed = None, True
        elif question is None:
            # the answer is recorded next
            if not (is_resumed and isinstance(event, Answered)):
                found.append(one)
            is_resumed = False
    if question is not None:
        raise NotKept("it waits since its database was restored")
    return found
