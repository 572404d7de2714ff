"""Which runs are kept for replays, however old they are, or full the store is."""

from datetime import datetime, timedelta

from crew.journal.events import RunStatus
from crew.journal.records.listing import RunFilter
from crew.journal.records.rows import PAGE
from crew.runs.runs import Runs
from tools.clock import rfc3339

ENDED: tuple[RunStatus, ...] = ("completed", "failed", "cancelled")


async def kept_for_replays(runs: Runs, events_before: datetime) -> dict[str, str]:
    """Return by status since when the runs have ended that keep their events for replays.

    Args:
        runs: have the crew, which says how many, and the store.
        events_before: what has ended before loses its events otherwise.
    """
    keep = runs.crew.config.replay.keep
    since = runs.store.now() - timedelta(days=keep.days)
    if not keep.runs or events_before <= since:
        return {}
    found: dict[str, str] = {}
    for status in ENDED:
        left, after = keep.runs, None
        while page := await runs.store.rows(
            RunFilter(status, since=rfc3339(since)), min(left, PAGE), after
        ):
            oldest = min(row.ended_at or "~" for row in page)
            found[status] = min(found.get(status, "~"), oldest)
            left, after = left - len(page), page[-1].run_id
            if not left:
                break
    return found
