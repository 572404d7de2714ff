"""Work that is due by time: pauses without an answer are over, and what is old is purged."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from datetime import timedelta

from crew.errors import CrewError
from crew.journal.errors import StoreError
from crew.journal.records.rows import PurgeAges, RunRow
from crew.runs.runs import Runs
from crew.runs.upkeep.kept import kept_for_replays
from crew.runs.upkeep.storage import GIGABYTE, Storage
from tools.clock import rfc3339

log = logging.getLogger(__name__)

# how late the end of a pause may be noticed
ROUND_SECONDS = 1.0
PURGE_SECONDS = 60.0
# pauses that are ended at the same time; no more while so many runs are at work here
MAX_DUE = 50
MAX_LIVE = 500
# until a pause that could not be ended is tried again
RETRY_SECONDS = 60.0
# a revision is kept for so long even if no run needs it: a run with it may be starting
KEEP_REVISIONS_HOURS = 1.0
KEEP_NOTICES_HOURS = 48.0
# what calls of models have cost: each call, and the sums of days
KEEP_CALLS_DAYS, KEEP_SUMS_DAYS = 90, 400


@dataclass(frozen=True, slots=True)
class Retention:
    """How long ended runs are kept. Runs that go on or are paused are kept for ever."""

    # after a run's end
    events_days: float = 30.0
    # of each run
    max_events: int = 50_000
    # the run's result, after its end
    runs_days: float = 30.0
    # who did what
    audit_days: float = 365.0
    # of the database; when it is full, the oldest is deleted. 0: no limit
    max_bytes: int = 10 * GIGABYTE


class Maintenance:
    """Rounds of work that is due by time; a store that fails is tried again in the next round."""

    def __init__(self, runs: Runs, retention: Retention, storage: Storage | None = None) -> None:
        """`storage`: shows others the size of the store."""
        self.runs, self.retention = runs, retention
        self.storage = storage or Storage()
        self.storage.max_bytes = retention.max_bytes
        self.clock = runs.crew.clock
        # on the clock, when the last purge ended
        self._purged = -PURGE_SECONDS
        # the store failed in the last round
        self._failing = False

    async def run(self) -> None:
        """Do one round after the other, until this is cancelled or the process drains."""
        while not self.runs.draining:
            try:
                await self._round()
                if self._failing:
                    log.info("the store can be used again")
                self._failing = False
            except StoreError as error:
                if not self._failing:
                    # once, not in each round
                    log.warning("the store fails: %s", error)
                self._failing = True
            except Exception:
                # whatever is wrong with one run, the others must not wait for ever
                log.exception("a round of maintenance failed")
            await self.clock.sleep(ROUND_SECONDS)

    async def _round(self) -> None:
        store = self.runs.store
        if store.failing is not None:
            await store.probe()
            log.info("the store can be written again")
        await self.runs.apply_cancellations()
        await self._end_pauses()
        if self.runs.crew.budgets:
            # of processes that have ended while they called a model
            await store.budgets.expire(rfc3339(store.now()))
        # one batch in each round, so that others who use the store do not wait long
        is_due = self.clock.monotonic() - self._purged >= PURGE_SECONDS
        if is_due and not await self._purge() and not await self.storage.keep_within(self.runs):
            self._purged = self.clock.monotonic()

    async def _purge(self) -> bool:
        """Delete some of what is old; whether there may be more."""
        more = await purge_batch(self.runs, self.retention)
        return await forget_conversations(self.runs) or more

    async def _end_pauses(self) -> None:
        """End the pauses that are over, as many as this process has room for."""
        while self.runs.at_work < MAX_LIVE and not self.runs.draining:
            due = await self.runs.store.due_pauses(MAX_DUE, RETRY_SECONDS)
            await asyncio.gather(*(self._expire(row) for row in due))
            if len(due) < MAX_DUE:
                return

    async def _expire(self, row: RunRow) -> None:
        try:
            await self.runs.expire(row)
        except CrewError as error:
            # a run that cannot be resumed must not keep the others waiting
            text = "run %s cannot go on without an answer: %s"
            log.error(text, row.run_id, error, extra={"run_id": row.run_id})


async def recover_left(runs: Runs) -> None:
    """Claim the runs that this process is to resume, until this is cancelled."""
    while not runs.draining:
        # maintenance tells of a store that fails
        with contextlib.suppress(StoreError):
            await runs.recover_left()
        await runs.crew.clock.sleep(ROUND_SECONDS)


async def apply_cancellations(runs: Runs) -> None:
    """End the runs of this process that others request to end, until this is cancelled.

    For a process without Maintenance.
    """
    while True:
        await runs.crew.clock.sleep(ROUND_SECONDS)
        with contextlib.suppress(StoreError):
            await runs.apply_cancellations()


async def purge_batch(runs: Runs, retention: Retention) -> bool:
    """Delete some of what is old; whether there may be more."""
    now = runs.store.now()
    events_before = now - timedelta(days=retention.events_days)
    runs_before = now - timedelta(days=retention.runs_days)
    revisions_before = now - timedelta(hours=KEEP_REVISIONS_HOURS)
    ages = PurgeAges(
        rfc3339(events_before),
        retention.max_events,
        rfc3339(runs_before),
        rfc3339(revisions_before),
        await kept_for_replays(runs, events_before),
    )
    # the current revision may be purged while no run needs it
    runs.revisions.forget_files()
    audit_before = rfc3339(now - timedelta(days=retention.audit_days))
    await runs.store.grants.purge(rfc3339(now))
    # of channels that there are no more; others are given up by their sender
    await runs.store.outbox.purge(rfc3339(now - timedelta(hours=KEEP_NOTICES_HOURS)))
    if (recall := runs.crew.memory.recall) is not None:
        await runs.store.recall.purge(recall.limits(now).since)
    purged = await runs.store.purge(ages) + await runs.store.audit.purge(audit_before)
    calls_before = rfc3339(now - timedelta(days=KEEP_CALLS_DAYS))
    days_before = (now - timedelta(days=KEEP_SUMS_DAYS)).date().isoformat()
    purged += await runs.store.costs.purge(calls_before, days_before)
    await runs.store.budgets.purge(calls_before)
    return purged > 0


async def forget_conversations(runs: Runs) -> bool:
    """Delete some conversations that were not used for long; return whether there may be more."""
    settings = runs.crew.config.conversations
    if settings is None or settings.keep_days is None:
        return False
    before = rfc3339(runs.store.now() - timedelta(days=settings.keep_days))
    old = await runs.store.conversations.old(before)
    for owner, conversation_id in old:
        await runs.store.conversations.delete(owner, conversation_id, before)
    return bool(old)
