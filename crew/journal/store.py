"""What every store promises, in small roles.

Events in order and without holes, a run's row changed only together with them, one writer at a
time, one start for each idempotency key.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from crew.journal.events import CancelReason, RunStatus
from crew.journal.records.audit import AuditLog
from crew.journal.records.cluster import Cluster
from crew.journal.records.conversations import ChoreLog, ConversationLog
from crew.journal.records.grants import GrantLog
from crew.journal.records.listing import ALL_RUNS, RunFilter, Totals
from crew.journal.records.notices import Outbox
from crew.journal.records.remembered.core import CoreLog
from crew.journal.records.remembered.documents import DocumentLog
from crew.journal.records.remembered.people import PeopleLog
from crew.journal.records.remembered.recall import RecallLog
from crew.journal.records.remembered.vectors import VectorLog
from crew.journal.records.revisions import RevisionLog
from crew.journal.records.rows import (
    PAGE,
    AppendResult,
    Cancellation,
    Claim,
    Finding,
    HeldWork,
    IdempotencyRecord,
    Newest,
    Opened,
    Page,
    PurgeAges,
    RunRow,
    StoredReach,
    Write,
)
from crew.journal.records.schedules import ScheduleLog
from crew.journal.records.spent.budgets import BudgetLog
from crew.journal.records.spent.costs import CostLog
from crew.journal.records.viewers import ViewerLog


class RunLog(Protocol):
    """Runs and their events."""

    def append(self, write: Write) -> Awaitable[AppendResult]:
        """Write in one transaction; it is done even if its caller no longer waits.

        Raises:
            LostRun: the write's epoch is over, since another process has claimed the run.
            LostEvents: the event before the first one is not there.
        """
        ...

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """Claim a `running` run; writers with an earlier epoch are refused. None: not claimed.

        Args:
            run_id: the run.
            epoch: claim it only if it is in this one; None: in any.
        """
        ...

    async def release(self, run_id: str, epoch: int) -> None:
        """Release a run that this process has claimed; that claim counts no more."""
        ...

    async def claims(self, run_ids: Sequence[str]) -> dict[str, int]:
        """Return how often runs were claimed since their newest event.

        Without those that were not.
        """
        ...

    async def row(self, run_id: str) -> RunRow | None:
        """Return a run's row."""
        ...

    async def rows(
        self,
        wanted: RunFilter = ALL_RUNS,
        limit: int = 50,
        after: str | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[RunRow]:
        """Return rows, newest first (run ids begin with their time), with `listed_answer`s.

        Args:
            wanted: only those.
            limit: so many at most.
            after: the last run_id seen.
            oldest_first: the other way round.
        """
        ...

    async def totals(self, wanted: RunFilter = ALL_RUNS) -> Totals:
        """Return what runs come to, of up to MAX_COUNTED."""
        ...

    async def search(self, text: str, run_ids: Sequence[str], limit: int) -> list[tuple[str, str]]:
        """Return events that have a text, in whatever case: run and event, as clients get it.

        Args:
            text: as it stands in JSON; of texts that are not ASCII the case is that of Unicode.
            run_ids: only of those; newest first.
            limit: so many at most.
        """
        ...

    async def delete_runs(self, run_ids: Sequence[str]) -> list[str]:
        """Delete runs that have ended and are of no conversation, with all that is of them.

        Their bytes are overwritten. Returns those that were deleted.
        """
        ...

    async def count(self, status: RunStatus) -> int:
        """Return how many runs have a status."""
        ...

    async def stored_bytes(self, owner: str) -> int:
        """Estimate the bytes of the events of an owner's ended and paused runs."""
        ...

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        """Return events with a number above `after`, in order, of up to MAX_PAGE_BYTES together.

        One that is larger comes alone. Of a page with `limit` events it is not known whether it is
        the last one.
        """
        ...

    async def opened(self, run_id: str) -> Opened | None:
        """Return a run's row, with the first page of its events."""
        ...

    async def newest(self, run_ids: Sequence[str]) -> dict[str, Newest]:
        """Return where runs are now; without those that there are not."""
        ...

    async def idempotency_record(self, key: str) -> IdempotencyRecord | None:
        """Return what a key has started."""
        ...

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """Return paused runs with a `paused_until` that has passed, earliest first.

        Each is given to one process; again after so many seconds, if it is paused still.
        """
        ...


class Cancellations(Protocol):
    """Requests to end a run that another process may have."""

    async def request_cancellation(self, run_id: str, reason: CancelReason) -> None:
        """Ask whichever process has the run to end it."""
        ...

    async def cancellations(self, limit: int = 500) -> list[Cancellation]:
        """Return runs that are to be ended, and have not ended; newest first."""
        ...


class Purging(Protocol):
    """Deleting what is old."""

    async def purge(self, ages: "PurgeAges", limit: int = 200) -> int:
        """Delete some of what is old, and revisions that no run needs any more.

        Args:
            ages: what is old.
            limit: of runs in one call.

        Returns:
            How many runs were touched; 0 when nothing is left to do.
        """
        ...

    async def reach(self) -> "StoredReach":
        """Return how much there is, and how far back it goes."""
        ...

    async def oldest_end(
        self, count: int, kept_since: Mapping[str, str], *, with_events: bool
    ) -> str | None:
        """Return a time before which the `count` oldest ended runs have ended.

        None if there are none.

        Args:
            count: of runs.
            kept_since: by status: those that have ended since then are none of them.
            with_events: of those that have events.
        """
        ...


class Restoring(Protocol):
    """What follows from an old state of the store, which is the present one again."""

    async def hold(self, taken_at: str, *, runs: bool = True) -> HeldWork:
        """See to it that nothing of an old state acts by itself a second time.

        Runs that were at work pause before they go on, paused ones wait without a deadline,
        notices are dropped, schedules count from now.

        Args:
            taken_at: the time of that state, RFC 3339.
            runs: False: runs go on by themselves.
        """
        ...


class StoreHealth(Protocol):
    """Whether the store can be written."""

    @property
    def failing(self) -> str | None:
        """Why the newest write failed; None if it did not."""
        ...

    async def examine(self) -> list[Finding]:
        """Examine settings by which it may lose or refuse runs, and what is good."""
        ...

    async def probe(self) -> None:
        """Write something that changes nothing, to see whether the store can be written."""
        ...


class RunStore(RunLog, Cancellations, Purging, Cluster, Restoring, StoreHealth, Protocol):
    """All roles together. Methods raise StoreError; what was not written then is not there."""

    @property
    def audit(self) -> AuditLog:
        """Who did what."""
        ...

    @property
    def conversations(self) -> ConversationLog:
        """Threads of runs."""
        ...

    @property
    def revisions(self) -> RevisionLog:
        """The files of crews."""
        ...

    @property
    def core(self) -> CoreLog:
        """Core memory."""
        ...

    @property
    def recall(self) -> RecallLog:
        """Recall memory."""
        ...

    @property
    def documents(self) -> DocumentLog:
        """Documents."""
        ...

    @property
    def item_vectors(self) -> VectorLog:
        """Of the items of recall memory."""
        ...

    @property
    def passage_vectors(self) -> VectorLog:
        """Of the passages of documents."""
        ...

    @property
    def people(self) -> PeopleLog:
        """What is kept of users."""
        ...

    @property
    def costs(self) -> CostLog:
        """What calls of models have cost."""
        ...

    @property
    def budgets(self) -> BudgetLog:
        """What is used of budgets."""
        ...

    @property
    def chores(self) -> ChoreLog:
        """Work after runs that needs a model."""
        ...

    @property
    def grants(self) -> GrantLog:
        """Approvals that outlive their run."""
        ...

    @property
    def outbox(self) -> Outbox:
        """The notices of runs."""
        ...

    @property
    def schedules(self) -> ScheduleLog:
        """How far each schedule has come."""
        ...

    @property
    def viewers(self) -> ViewerLog:
        """Who looks at runs that wait."""
        ...

    async def aclose(self) -> None:
        """Finish what was accepted, and close."""
        ...
