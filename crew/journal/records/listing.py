"""Lists of runs: which ones are wanted, and what of their answers is shown."""

from dataclasses import dataclass

from crew.journal.events import RunStatus
from crew.journal.query import SourceKind
from crew.journal.records.rows import RunRow

# of an answer in a list
MAX_LISTED_BYTES = 1000


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


ALL_RUNS = RunFilter()


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
    )


def listed_answer(answer: str | None) -> str | None:
    """Return an answer as lists have it: its beginning, of up to MAX_LISTED_BYTES."""
    encoded = (answer or "").encode()
    if len(encoded) <= MAX_LISTED_BYTES:
        return answer
    return encoded[: MAX_LISTED_BYTES - len("…".encode())].decode(errors="ignore") + "…"
