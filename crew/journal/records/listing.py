"""Lists of runs: which ones are wanted, and what of their answers is shown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, fsum
from typing import Literal

from crew.journal.events import RunStatus
from crew.journal.query import SourceKind
from crew.journal.records.rows import RunRow

# of an answer in a list
MAX_LISTED_BYTES = 1000
# of a day in UTC, or its beginning
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z"
_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
# a calendar has each, but for one of February
_DAY = (
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    "|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
)
TIME = rf"{_YEAR}(-(0[1-9]|1[0-2])|-{_DAY}(T{_CLOCK})?)?"
NO_TIME = "is a time like 2026-01-31T09:30:00Z, or 2026-01-31"


# what a paused run waits for: words of a person, or their decision on calls
Waiting = Literal["words", "decision"]


def beginning_of(time: str) -> str:
    """Return what stands, compared as text, before all times from a time (see TIME) on.

    Raises:
        ValueError: a calendar has no such day.
    """
    # a year or a month alone has a first day
    date.fromisoformat(f"{time}-01-01"[:10] if len(time) < len("2026-01-31") else time[:10])
    # behind a second stand its parts, which all come before the letter
    return time.removesuffix("Z")


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted; without a value: all. Times are RFC 3339, UTC."""

    status: RunStatus | None = None
    owner: str | None = None
    # who spoke last, or asks
    agent_id: str | None = None
    # is a part of the query, in whatever case
    text: str | None = None
    # when the run was started: not before, and before
    since: str | None = None
    until: str | None = None
    # what has started it
    source: SourceKind | None = None
    # the person that they are for
    user_id: str | None = None
    # the schedule, the hook, or what a client calls it; the conversation that it is in
    source_name: str | None = None
    conversation_id: str | None = None
    # why it has ended
    reason: str | None = None
    # it has cost more than so many USD
    over_usd: float | None = None
    # it has called this tool, as far as it has ended or paused since
    tool: str | None = None
    # of its id
    prefix: str | None = None
    # it is paused, and waits for this
    waiting: Waiting | None = None


# runs that totals count; behind so many they say that there are more
MAX_COUNTED = 100_000


@dataclass(frozen=True, slots=True)
class CountedRun:
    """Of a run, what totals have."""

    status: RunStatus
    duration_seconds: float
    tokens: int
    cost_usd: float
    # answers of models without a known price
    unpriced: int

    @classmethod
    def of(cls, row: RunRow) -> "CountedRun":
        """Return what totals have of a run."""
        usage = row.usage
        numbers = usage.total_tokens, usage.cost_usd, usage.unpriced
        return cls(row.status, row.duration_seconds, *numbers)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the runs of a filter come to."""

    statuses: Mapping[RunStatus, int]
    tokens: int
    cost_usd: float
    # the cost is at least this
    is_unpriced: bool
    # of those that have ended; None: there are none
    p50_seconds: float | None
    p95_seconds: float | None
    # there are more than were counted
    has_more: bool

    @classmethod
    def of(cls, found: Sequence[CountedRun]) -> "Totals":
        """Count runs, of up to MAX_COUNTED; one more says that there are more."""
        counted = found[:MAX_COUNTED]
        ended = sorted(
            one.duration_seconds for one in counted if one.status not in ("running", "paused")
        )
        return cls(
            dict(Counter(one.status for one in counted)),
            sum(one.tokens for one in counted),
            fsum(one.cost_usd for one in counted),
            any(one.unpriced for one in counted),
            _part(ended, 0.5),
            _part(ended, 0.95),
            len(found) > MAX_COUNTED,
        )


def _part(ordered: Sequence[float], part: float) -> float | None:
    """Return the least value that so large a part of them does not exceed."""
    return ordered[max(0, ceil(part * len(ordered)) - 1)] if ordered else None


ALL_RUNS = RunFilter()


def waits_for(row: RunRow) -> Waiting | None:
    """Return what a run waits for; None: it is not paused."""
    if row.status != "paused":
        return None
    return "decision" if row.asks else "words"


def is_wanted(row: RunRow, wanted: RunFilter) -> bool:
    """Return whether a filter lets a row through."""
    return (
        wanted.status in (None, row.status)
        and wanted.owner in (None, row.owner)
        and wanted.user_id in (None, row.user_id or None)
        and wanted.agent_id in (None, row.agent_id)
        and (wanted.text is None or wanted.text.casefold() in row.query.casefold())
        and (wanted.since is None or row.started_at >= wanted.since)
        and (wanted.until is None or row.started_at < wanted.until)
        and wanted.source in (None, row.source)
        and wanted.source_name in (None, row.source_name)
        and wanted.conversation_id in (None, row.conversation_id)
        and wanted.reason in (None, row.reason)
        and (wanted.over_usd is None or row.usage.cost_usd > wanted.over_usd)
        and (wanted.tool is None or wanted.tool in row.tools)
        and (wanted.prefix is None or row.run_id.startswith(wanted.prefix))
        and (wanted.waiting is None or waits_for(row) == wanted.waiting)
    )


def listed_answer(answer: str | None) -> str | None:
    """Return an answer as lists have it: its beginning, of up to MAX_LISTED_BYTES."""
    encoded = (answer or "").encode()
    if len(encoded) <= MAX_LISTED_BYTES:
        return answer
    return encoded[: MAX_LISTED_BYTES - len("…".encode())].decode(errors="ignore") + "…"
