"""The statement that lists runs."""

from datetime import UTC, datetime

from crew.backends.sql.statements import Statement, sql
from crew.journal.events import RunStatus
from crew.journal.records.listing import MAX_COUNTED, MAX_LISTED_BYTES, RunFilter

# the time in an id and that of a start may be so far apart
APART_SECONDS = 60.0
# by field of RunFilter, but `status`: its condition, `{}` in the value's place
TESTS = {
    "owner": "owner = {}",
    "user_id": "user_id <> '' AND user_id = {}",
    "agent_id": "row::json ->> 'agent_id' = {}",
    "source": "row::json ->> 'source' = {}",
    "source_name": "row::json ->> 'source_name' = {}",
    "conversation_id": "row::json ->> 'conversation_id' = {}",
    "text": "strpos(crew_casefold(row::json ->> 'query'), crew_casefold({})) > 0",
    "since": "(row::json ->> 'started_at') COLLATE \"C\" >= {}",
    "until": "(row::json ->> 'started_at') COLLATE \"C\" < {}",
    "reason": "row::json ->> 'reason' = {}",
    # names of tools have no quotes
    "tool": "strpos(row::json ->> 'tools', '\"' || {} || '\"') > 0",
    "over_usd": "(row::json -> 'usage' ->> 'cost_usd')::float8 > {}",
    # an id is ASCII, and "~" comes behind all that it may have
    "prefix": "run_id >= {0} AND run_id < {0} || '~'",
}


_USAGE = "row::json -> 'usage' ->>"
COUNTED = (
    f"status, (row::json ->> 'duration_seconds')::float8, ({_USAGE} 'prompt_tokens')::bigint"
    f" + ({_USAGE} 'completion_tokens')::bigint, ({_USAGE} 'cost_usd')::float8,"
    f" coalesce(({_USAGE} 'unpriced')::bigint, 0)"
)


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
    conditions = _conditions(wanted, values)
    if after is not None:
        values.append(after)
        conditions.append(f"run_id {'>' if oldest_first else '<'} ${len(values)}")
    where = " AND ".join(conditions) or "true"
    order = "ASC" if oldest_first else "DESC"
    text = f"SELECT row, substr(answer, 1, $2) FROM crew_runs WHERE {where}"  # noqa: S608 # none of it is given
    return sql(f"{text} ORDER BY run_id {order} LIMIT $1"), values


def select_counted(wanted: RunFilter) -> tuple[Statement, list[object]]:
    """Select the statement for what totals have of each run, in the order of CountedRun."""
    values: list[object] = [MAX_COUNTED + 1]
    where = " AND ".join(_conditions(wanted, values)) or "true"
    text = f"SELECT {COUNTED} FROM crew_runs WHERE {where} LIMIT $1"  # noqa: S608 # none of it is given
    return sql(text), values


def _conditions(wanted: RunFilter, values: list[object]) -> list[str]:
    """Return the conditions of a filter; their values are added."""
    conditions = [] if wanted.status is None else [has_status(wanted.status)]
    if wanted.owner:
        conditions.append(_is_of_owner(wanted.status))
    given = {field: value for field in TESTS if (value := getattr(wanted, field)) is not None}
    for field, value in given.items():
        values.append(value)
        conditions.append(TESTS[field].format(f"${len(values)}"))
    # by the key: what is older, or younger, is not read
    for sign, time, apart in (
        (">=", wanted.since, -APART_SECONDS),
        ("<=", wanted.until, APART_SECONDS),
    ):
        if time is not None and (bound := _id_at(time, apart)):
            values.append(bound)
            conditions.append(f"run_id {sign} ${len(values)}")
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
