"""A store that ends with its process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate, islice

from crew.backends.memory_budgets import MemoryBudgets
from crew.backends.memory_chores import MemoryChores
from crew.backends.memory_cluster import OneProcess
from crew.backends.memory_conversations import MemoryConversations
from crew.backends.memory_core import MemoryCore
from crew.backends.memory_costs import MemoryCosts
from crew.backends.memory_documents import MemoryDocuments
from crew.backends.memory_logs import (
    MemoryAudit,
    MemoryGrants,
    MemoryOutbox,
    MemorySchedules,
    MemoryViewers,
)
from crew.backends.memory_people import MemoryPeople
from crew.backends.memory_recall import MemoryRecall
from crew.backends.memory_revisions import MemoryRevisions
from crew.journal.errors import LostEvents, LostRun, StoreError
from crew.journal.events import CancelReason, RunStatus
from crew.journal.records.conversations import owner_of
from crew.journal.records.exchanges import Began, ExchangeEnd, ExchangeStart, Refused
from crew.journal.records.listing import (
    ALL_RUNS,
    CountedRun,
    RunFilter,
    Totals,
    is_wanted,
    listed_answer,
)
from crew.journal.records.rows import (
    FIRST_EPOCH,
    MAX_PAGE_BYTES,
    PAGE,
    Appended,
    AppendResult,
    Cancellation,
    Claim,
    IdempotencyRecord,
    KeyTaken,
    Newest,
    Opened,
    Page,
    PurgeAges,
    Record,
    RunRow,
    StatusDiffers,
    StoredReach,
    Write,
)
from tools.clock import SYSTEM_CLOCK, Clock, rfc3339


class MemoryStore(OneProcess):
    """Keeps runs in dictionaries."""

    shared = False
    failing: str | None = None

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self._rows: dict[str, RunRow] = {}
        self._records: dict[str, list[Record]] = {}
        self._idempotency: dict[str, IdempotencyRecord] = {}
        self._epochs: dict[str, int] = {}
        # until when a due pause is given to one worker
        self._given_until: dict[str, datetime] = {}
        # claims since the newest event, and the number of that event
        self._claims: dict[str, tuple[int, int]] = {}
        self._to_cancel: dict[str, CancelReason] = {}
        # how many of a run's first events are purged
        self._purged: dict[str, int] = {}
        self.revisions = MemoryRevisions(self._rows)
        self.audit = MemoryAudit(self._rows)
        self.grants = MemoryGrants()
        self.outbox = MemoryOutbox()
        self.schedules = MemorySchedules()
        self.viewers = MemoryViewers()
        self.chores = MemoryChores()
        self.core = MemoryCore(self._has_conversation)
        self.recall = MemoryRecall(
            self.core,
            self.chores,
            lambda place: self.conversations.find(place),
            lambda one: self.conversations.put(one),
        )
        self.documents = MemoryDocuments(self.chores, self._has_conversation)
        self.item_vectors, self.passage_vectors = self.recall.vectors, self.documents.vectors
        kept = (self.core, self.recall, self.documents)
        self.conversations = MemoryConversations(
            self.chores, *kept, self._forget_runs, self._is_open
        )
        self.costs = MemoryCosts()
        self.budgets = MemoryBudgets(self.costs, self.outbox, self._rows)
        logs = (self.audit, self.grants, self.outbox, self.chores, *kept)
        self.people = MemoryPeople(self._rows, self._forget_run, *logs, self.costs)

    def _has_conversation(self, place: tuple[str, str]) -> bool:
        return self.conversations.find(place) is not None

    async def append(self, write: Write) -> AppendResult:
        """See RunLog."""
        run_id, row = write.run_id, write.row
        known, epoch = self._rows.get(run_id), self._epochs.get(run_id, FIRST_EPOCH)
        if write.epoch is not None and write.epoch != epoch:
            raise LostRun
        status = known.status if known is not None else None
        if write.expected is not None and status != write.expected:
            return StatusDiffers(status)
        record = write.idempotency
        if record is not None and (taken := self._idempotency.get(record.key)) is not None:
            return KeyTaken(taken)
        began: Began | None = None
        if isinstance(write.exchange, ExchangeStart):
            found = self.conversations.begin(write.exchange)
            if isinstance(found, Refused):
                return found
            began = found
        kept = self._records.setdefault(run_id, [])
        newest = self._newest(run_id)
        first = write.records[0].seq
        if first > newest + 1:
            raise LostEvents(run_id, first - 1)
        if any(one.seq != number for number, one in enumerate(write.records, newest + 1)):
            raise StoreError(f"run {run_id}: event {first} is there already")
        kept.extend(write.records)
        self.costs.add(write.calls)
        self._epochs[run_id] = epoch + (write.expected is not None)
        if status == "failed":
            # it was to end a segment that has ended since
            self._to_cancel.pop(run_id, None)
        if row is not None:
            self._rows[run_id] = row
            self._given_until.pop(run_id, None)
        if record is not None:
            self._idempotency[record.key] = record
        self.outbox.insert(write.notices)
        if write.entry is not None:
            self.audit.add(write.entry)
        next_run = None
        if isinstance(write.exchange, ExchangeEnd):
            next_run = self.conversations.end(write.exchange)
        elif write.exchange is not None and began is not None:
            self.conversations.keep(write.exchange, began)
        waits = began is not None and began.waits
        return Appended(self._epochs[run_id], waits, next_run)

    async def claim(self, run_id: str, epoch: int | None = None) -> Claim | None:
        """See RunLog."""
        row = self._rows.get(run_id)
        if row is None or row.status != "running" or epoch not in (None, self._epochs[run_id]):
            return None
        self._epochs[run_id] += 1
        newest = self._newest(run_id)
        claims, seq = self._claims.get(run_id, (0, newest))
        claims = claims + 1 if seq == newest else 1
        self._claims[run_id] = (claims, newest)
        return Claim(row, self._epochs[run_id], claims)

    async def release(self, run_id: str, epoch: int) -> None:
        """See RunLog."""
        claims, seq = self._claims.get(run_id, (0, 0))
        if claims and self._epochs.get(run_id) == epoch:
            self._claims[run_id] = (claims - 1, seq)

    async def claims(self, run_ids: Sequence[str]) -> dict[str, int]:
        """See RunLog."""
        found = [(run_id, *self._claims.get(run_id, (0, 0))) for run_id in run_ids]
        return {run_id: n for run_id, n, seq in found if n and seq == self._newest(run_id)}

    def _newest(self, run_id: str) -> int:
        return self._purged.get(run_id, 0) + len(self._records.get(run_id, ()))

    async def request_cancellation(self, run_id: str, reason: CancelReason) -> None:
        """See Cancellations."""
        self._to_cancel[run_id] = reason

    async def cancellations(self, limit: int = 500) -> list[Cancellation]:
        """See Cancellations."""
        newest_first = sorted(self._to_cancel, reverse=True)
        rows = [self._rows[run_id] for run_id in newest_first if run_id in self._rows]
        found = [Cancellation(row, self._to_cancel[row.run_id]) for row in rows]
        return [one for one in found if one.row.ended_at is None][:limit]

    async def row(self, run_id: str) -> RunRow | None:
        """See RunLog."""
        return self._rows.get(run_id)

    async def rows(
        self,
        wanted: RunFilter = ALL_RUNS,
        limit: int = 50,
        after: str | None = None,
        *,
        oldest_first: bool = False,
    ) -> list[RunRow]:
        """See RunLog."""
        in_order = sorted(self._rows, reverse=not oldest_first)
        if after is not None:
            in_order = [one for one in in_order if (one > after if oldest_first else one < after)]
        found = (self._rows[run_id] for run_id in in_order)
        page = islice((row for row in found if is_wanted(row, wanted)), limit)
        return [replace(row, answer=listed_answer(row.answer)) for row in page]

    async def totals(self, wanted: RunFilter = ALL_RUNS) -> Totals:
        """See RunLog."""
        found = [row for row in self._rows.values() if is_wanted(row, wanted)]
        return Totals.of([CountedRun.of(row) for row in found])

    async def search(self, text: str, run_ids: Sequence[str], limit: int) -> list[tuple[str, str]]:
        """See RunLog."""
        wanted = text.casefold()
        found = (
            (run_id, one.public)
            for run_id in sorted(run_ids, reverse=True)
            for one in self._records.get(run_id, ())
            if wanted in one.public.casefold()
        )
        return list(islice(found, limit))

    async def delete_runs(self, run_ids: Sequence[str]) -> list[str]:
        """See RunLog."""
        rows = [self._rows[run_id] for run_id in run_ids if run_id in self._rows]
        deleted = [row.run_id for row in rows if row.ended_at and not row.conversation_id]
        for run_id in deleted:
            self._forget_run(run_id)
            self.outbox.forget(run_id)
            self.budgets.forget_run(run_id)
        return deleted

    async def count(self, status: RunStatus) -> int:
        """See RunLog."""
        return sum(row.status == status for row in self._rows.values())

    async def stored_bytes(self, owner: str) -> int:
        """See RunLog."""
        return sum(row.stored_bytes for row in self._rows.values() if row.owner == owner)

    async def records(self, run_id: str, after: int = 0, limit: int = PAGE) -> Page:
        """See RunLog."""
        first = max(0, after - self._purged.get(run_id, 0))
        found = self._records.get(run_id, [])[first : first + limit]
        sizes = accumulate(len(one.public) + len(one.event) for one in found)
        within = sum(size <= MAX_PAGE_BYTES for size in sizes)
        page = found[: max(1, within)]
        return Page(page, is_last=len(page) == len(found) < limit)

    async def opened(self, run_id: str) -> Opened | None:
        """See RunLog."""
        row = self._rows.get(run_id)
        return Opened(row, await self.records(run_id)) if row is not None else None

    async def newest(self, run_ids: Sequence[str]) -> dict[str, Newest]:
        """See RunLog."""
        rows = [self._rows[run_id] for run_id in run_ids if run_id in self._rows]
        return {row.run_id: Newest(row.status, self._newest(row.run_id)) for row in rows}

    async def idempotency_record(self, key: str) -> IdempotencyRecord | None:
        """See RunLog."""
        return self._idempotency.get(key)

    async def due_pauses(self, limit: int, seconds: float) -> list[RunRow]:
        """See RunLog."""
        now = self.now()
        free = [row for row in self._rows.values() if self._given_until.get(row.run_id, now) <= now]
        due = [row for row in free if row.paused_until and row.paused_until <= rfc3339(now)]
        given = sorted(due, key=lambda row: row.paused_until or "")[:limit]
        self._given_until |= {row.run_id: now + timedelta(seconds=seconds) for row in given}
        return given

    async def purge(self, ages: PurgeAges, limit: int = 200) -> int:
        """See Purging."""
        touched = 0
        ended = [row for row in self._rows.values() if row.ended_at is not None]
        for row in ended:
            if touched < limit and self._purge_run(row, ages):
                touched += 1
        used = {row.revision for row in self._rows.values()}
        self.revisions.purge(used, ages.revisions_before)
        return touched

    async def reach(self) -> StoredReach:
        """See Purging."""
        ended = [row for row in self._rows.values() if row.ended_at is not None]
        with_events = [row.ended_at or "" for row in ended if self._records[row.run_id]]
        size = sum(one.size for records in self._records.values() for one in records)
        events = min(with_events, default=None)
        runs = min((row.ended_at or "" for row in ended), default=None)
        return StoredReach(size, events, runs)

    async def oldest_end(
        self, count: int, kept_since: Mapping[str, str], *, with_events: bool
    ) -> str | None:
        """See Purging."""
        rows = [row for row in self._rows.values() if self._records[row.run_id] or not with_events]
        found = ((row.ended_at or "", kept_since.get(row.status, "~")) for row in rows)
        ends = sorted(at for at, kept in found if "" < at < kept)
        # behind the last one
        return f"{ends[:count][-1]}~" if ends else None

    def _purge_run(self, row: RunRow, ages: PurgeAges) -> bool:
        run_id, ended_at = row.run_id, row.ended_at or ""
        kept = self._records[run_id]
        if ended_at < min(ages.runs_before, ages.runs_kept_since.get(row.status, "~")):
            self._forget_run(run_id)
            return True
        gone = max(0, len(kept) - ages.max_events)
        if ended_at < min(ages.events_before, ages.kept_since.get(row.status, "~")):
            gone = len(kept)
        left = sum(one.size for one in kept[gone:])
        if gone:
            self._rows[run_id] = replace(row, stored_bytes=left)
        del kept[:gone]
        self._purged[run_id] = self._purged.get(run_id, 0) + gone
        return gone > 0

    def _forget_run(self, run_id: str) -> None:
        del self._rows[run_id], self._records[run_id]
        self._purged.pop(run_id, None)
        self._epochs.pop(run_id, None)
        self._claims.pop(run_id, None)
        self._to_cancel.pop(run_id, None)
        records = self._idempotency.items()
        self._idempotency = {key: one for key, one in records if one.run_id != run_id}

    def _is_open(self, run_id: str) -> bool:
        row = self._rows.get(run_id)
        return row is not None and row.ended_at is None

    def _forget_runs(self, place: tuple[str, str]) -> None:
        """Remove the runs of a conversation, and the notices of them."""
        rows = list(self._rows.values())
        for row in rows:
            if (owner_of(row.user_id), row.conversation_id) == place:
                self._forget_run(row.run_id)
                self.outbox.forget(row.run_id)

    def now(self) -> datetime:
        """See Cluster."""
        return self.clock.now()

    async def aclose(self) -> None:
        """See RunStore: there is nothing to close."""
