"""The statement that lists runs."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from crew.backends.sql.statements import Statement, sql
from crew.journal.events import RunStatus
from crew.journal.records.listing import MAX_COUNTED, MAX_LISTED_BYTES, RunFilter, Waiting

# the time in an id and that of a start may be so far apart
APART_SECONDS = 60.0
# by field of RunFilter, but `status`: its condition, `$` in the value's place
TESTS = {
    "owner": "owner = $",
    "user_id": "user_id <> '' AND user_id = $",
    "agent_id": "agent_id = $",
    "source": "source = $",
    "source_name": "source_name = $",
    "conversation_id": "conversation_id = $",
    "since": "{started_at} >= $",
    "until": "{started_at} < $",
    "reason": "reason = $",
    # names of tools have no quotes
    "tool": "strpos(tools, '\"' || $ || '\"') > 0",
    "over_usd": "cost_usd > $",
    # an id is ASCII, and "~" comes behind all that it may have
    "prefix": "run_id >= $ AND run_id < $ || '~'",
}
# of paused runs, of which there are few
WAITS_FOR: dict[Waiting, str] = {
    "words": "coalesce(row::json ->> 'asks', '') = ''",
    "decision": "row::json ->> 'asks' <> ''",
}
HAS_TEXT = "strpos(crew_casefold(row::json ->> 'query'), crew_casefold($)) > 0"
# by what no index finds them
SCANNED = ("agent_id", "source", "source_name", "conversation_id", "reason", "tool", "over_usd")
COUNTED = ("duration_seconds", "tokens", "cost_usd", "unpriced")
# what a row says; of crew_listed they are columns
_USAGE = "row::json -> 'usage' ->>"
OF_ROW = {
    "started_at": "(row::json ->> 'started_at') COLLATE \"C\"",
    "duration_seconds": "(row::json ->> 'duration_seconds')::float8",
    "tokens": f"({_USAGE} 'prompt_tokens')::bigint + ({_USAGE} 'completion_tokens')::bigint",
    "cost_usd": f"({_USAGE} 'cost_usd')::float8",
    "unpriced": f"coalesce(({_USAGE} 'unpriced')::bigint, 0)",
}
LISTED = {name: name for name in OF_ROW}


def has_status(status: RunStatus) -> str:
    """Return the condition, by which the index of runs that are not completed is used.

    A part of the text: SQLite does not conclude that from a value, nor from an equality alone.
    """
    return f"status = '{status}'" + (" AND status <> 'completed'" if status != "completed" else "")


def _is_of_owner(status: RunStatus | None) -> str:
    """Return the condition by which the index of an owner's runs is used, as above.

    Of running and paused ones there are few; those that failed become many.
    """
    match status:
        case None | "completed":
            return "owner <> ''"
        case "failed" | "cancelled":
            return "owner <> '' AND status IN ('failed', 'cancelled')"
        case "running" | "paused":
            return "true"


def select_rows(
    wanted: RunFilter, limit: int, after: str | None, *, oldest_first: bool
) -> tuple[Statement, list[object]]:
    """Select the statement for a page of rows and the beginnings of their answers, with its values.

    Args:
        wanted: only these runs.
        limit: so many at most.
        after: the last run_id of the page before.
        oldest_first: how they are ordered.
    """
    values: list[object] = [limit, MAX_LISTED_BYTES + 1]
    way, sign = ("ASC", ">") if oldest_first else ("DESC", "<")
    order = f"ORDER BY run_id {way} LIMIT $1"
    page = [] if after is None else [f"run_id {sign} $"]
    of_row = _of_row(wanted, values)
    if _is_scanned(wanted):
        ids = _where(_conditions(wanted, values, LISTED) + _given(page, after, values))
        # where the row decides, too, it is not known before how many of these are wanted
        first = "" if of_row else order
        some = f"SELECT run_id FROM crew_listed WHERE {ids} {first}"  # noqa: S608 # none of it is given
        where = _where([f"run_id IN ({some})", *of_row])
    else:
        found = _conditions(wanted, values, OF_ROW) + of_row
        where = _where(found + _given(page, after, values))
    text = f"SELECT row, substr(answer, 1, $2) FROM crew_runs WHERE {where} {order}"  # noqa: S608 # none of it is given
    return sql(text), values


def select_counted(wanted: RunFilter) -> tuple[Statement, list[object]]:
    """Select the statement for what totals have of each run, in the order of CountedRun."""
    values: list[object] = [MAX_COUNTED + 1]
    of_row = _of_row(wanted, values)
    # where an index finds few, their rows are read
    is_found = any((wanted.owner, wanted.user_id, wanted.status, wanted.prefix))
    if _is_scanned(wanted) or not (is_found or of_row):
        columns, table = LISTED, "listed"
        of_row = [f"run_id IN (SELECT run_id FROM crew_runs WHERE {one})" for one in of_row]  # noqa: S608 # none of it is given
    else:
        columns, table = OF_ROW, "runs"
    where = _where(_conditions(wanted, values, columns) + of_row)
    counted = ", ".join(columns[name] for name in COUNTED)
    text = f"SELECT status, {counted} FROM crew_{table} WHERE {where} LIMIT $1"  # noqa: S608 # none of it is given
    return sql(text), values


def _is_scanned(wanted: RunFilter) -> bool:
    """Return whether no index finds what is wanted, so that it is looked for in crew_listed."""
    return any(getattr(wanted, field) is not None for field in SCANNED)


def _of_row(wanted: RunFilter, values: list[object]) -> list[str]:
    """Return the conditions that only the rows of runs say; their values are added."""
    conditions = [] if wanted.text is None else _given([HAS_TEXT], wanted.text, values)
    if wanted.waiting is not None:
        conditions.append(f"{has_status('paused')} AND {WAITS_FOR[wanted.waiting]}")
    return conditions


def _where(conditions: Sequence[str]) -> str:
    return " AND ".join(conditions) or "true"


def _given(conditions: Sequence[str], value: object, values: list[object]) -> list[str]:
    """Return conditions on one value, which is added."""
    if conditions:
        values.append(value)
    return [one.replace("$", f"${len(values)}") for one in conditions]


def _conditions(wanted: RunFilter, values: list[object], columns: Mapping[str, str]) -> list[str]:
    """Return the conditions of a filter without the row's own; their values are added."""
    conditions = [] if wanted.status is None else [has_status(wanted.status)]
    if wanted.owner:
        conditions.append(_is_of_owner(wanted.status))
    for field, test in TESTS.items():
        if (value := getattr(wanted, field)) is not None:
            conditions += _given([test.format_map(columns)], value, values)
    # by the key: what is older, or younger, is not read
    for sign, time, apart in (
        (">=", wanted.since, -APART_SECONDS),
        ("<=", wanted.until, APART_SECONDS),
    ):
        if time is not None and (bound := _id_at(time, apart)):
            conditions += _given([f"run_id {sign} $"], bound, values)
    return conditions


def _id_at(time: str, apart: float) -> str:
    """Return how ids begin of runs that were started so many seconds from a time; "": not known.

    An id begins with the time in milliseconds, in 12 hexadecimal digits.
    """
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        return ""
    moment = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    millis = int((moment.timestamp() + apart) * 1000)
    return f"{millis:012x}" if millis > 0 else ""
