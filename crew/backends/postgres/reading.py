"""How rows of the database become rows of runs and pages of events."""

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from crew.backends.sql.runs import run_row
from crew.journal.records.rows import PAGE, Opened, Page, Record

# as statements name them
Found = Sequence[Mapping[str, Any] | asyncpg.Record]


def page_of(found: Found, limit: int) -> Page:
    """Return what RECORDS finds, of so many at most."""
    records = [Record(one["seq"], one["public"], one["event"]) for one in found]
    return Page(records, is_last=not found or len(found) == found[0]["found"] < limit)


def opened_of(found: Found) -> Opened | None:
    """Return what OPEN finds; None: no such run."""
    if not found or found[0]["row"] is None:
        return None
    row = run_row(found[0]["row"], found[0]["answer"])
    # a run whose events are purged has one line without an event
    return Opened(row, page_of([one for one in found if one["seq"] is not None], PAGE))
