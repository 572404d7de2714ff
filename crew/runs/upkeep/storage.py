"""How large a store may become: a warning first, and then the oldest is deleted."""

import logging
import math
from collections.abc import Mapping
from dataclasses import replace

from crew.journal.records.notices import plain_notices
from crew.journal.records.rows import NOTHING_OLD, PurgeAges, StoredReach
from crew.runs.runs import Runs
from crew.runs.upkeep.kept import kept_for_replays
from tools.clock import rfc3339

log = logging.getLogger(__name__)

GIGABYTE = 1_000_000_000
# of the limit: from where it is told, and how far the store is emptied when it is reached
TOLD, EMPTIED = 0.8, 0.95
# the same is told once in so long
TOLD_SECONDS = 86_400.0
# runs in one write, and writes in one round of maintenance: others use the store too
MAX_AT_ONCE, MAX_WRITES = 128, 20


class Storage:
    """The size of a store, as it was last measured, and its limit."""

    def __init__(self, max_bytes: int = 0) -> None:
        """`max_bytes`: 0: there is none."""
        self.max_bytes = max_bytes
        self.bytes = 0
        self._told_at: float | None = None

    @property
    def warning(self) -> str:
        """Return a warning for the operator; "" where there is room."""
        if not self.max_bytes or self.bytes < TOLD * self.max_bytes:
            return ""
        used, most = self.bytes / GIGABYTE, self.max_bytes / GIGABYTE
        return (
            f"the database has {used:.3g} of {most:.3g} GB (CREW_MAX_DATABASE_GB); "
            "when it is full, the oldest events and runs are deleted"
        )

    async def keep_within(self, runs: Runs) -> bool:
        """Measure, warn, and delete the oldest if it is too much.

        Runs that are at work or paused stay, and who did what. Raises StoreError.

        Returns:
            Whether there is more to delete.
        """
        self.bytes = (await runs.store.reach()).bytes
        await self._warn(runs)
        if not self.max_bytes or self.bytes <= self.max_bytes:
            return False
        kept = await kept_for_replays(runs, runs.store.now())
        wanted, last = 1, ""
        for _ in range(MAX_WRITES):
            ages = await _oldest(runs, wanted, kept)
            if ages is None:
                rest = ": what has ended is kept by replay.keep" if kept else ""
                text = "the database is full, and no run has ended that could be deleted%s"
                log.warning(text, rest)
                return False
            before, touched = self.bytes, await runs.store.purge(ages, MAX_AT_ONCE)
            last = max(ages.events_before, ages.runs_before)
            self.bytes = (await runs.store.reach()).bytes
            excess, freed = self.bytes - EMPTIED * self.max_bytes, before - self.bytes
            if excess <= 0:
                break
            # as many as the last ones were large
            wanted = MAX_AT_ONCE if freed <= 0 else math.ceil(touched * excess / freed)
            wanted = max(1, min(wanted, MAX_AT_ONCE))
        text = "the database was full: what was kept of runs that ended up to %s is deleted"
        log.warning(text, last.rstrip("~"))
        return self.bytes > EMPTIED * self.max_bytes

    async def _warn(self, runs: Runs) -> None:
        now, crew = runs.crew.clock.monotonic(), runs.crew
        is_due = self._told_at is None or now - self._told_at >= TOLD_SECONDS
        if self.warning and is_due:
            log.warning("%s", self.warning)
            self._told_at = now
            at = rfc3339(runs.store.now())
            # once a day, however many processes there are
            key, channels = f"storage:{at[:10]}", crew.config.told
            notices = plain_notices(channels, "storage", crew.name, key, at, self.warning)
            await runs.store.outbox.add(notices)


async def _oldest(runs: Runs, count: int, kept: Mapping[str, str]) -> PurgeAges | None:
    """Return the events of some of the oldest runs, or such runs where no events are left.

    `kept`: by status, since when runs are kept for replays.
    """
    before = await runs.store.oldest_end(count, kept, with_events=True)
    if before is not None:
        return replace(NOTHING_OLD, events_before=before, kept_since=kept)
    before = await runs.store.oldest_end(count, kept, with_events=False)
    if before is None:
        return None
    return replace(NOTHING_OLD, runs_before=before, kept_since=kept, keeps_runs=True)


def reach_text(reach: StoredReach) -> str:
    """Return how far back a store reaches, for people."""
    kinds = {
        "events": reach.events_since,
        "runs": reach.runs_since,
        "conversations": reach.conversations_since,
        "who did what": reach.audit_since,
    }
    known = [f"{kind} to {since[:10]}" for kind, since in kinds.items() if since is not None]
    back = f"; what is kept reaches back: {', '.join(known)}" if known else ""
    return f"the database has {reach.bytes / 1_000_000:,.1f} MB{back}"
