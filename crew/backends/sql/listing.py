"""The statement that lists runs, the same for both databases but for how they read a row."""

from collections.abc import Mapping

from crew.journal.events import RunStatus
from crew.journal.listing import MAX_LISTED_BYTES, RunFilter


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
    table: str,
    tests: Mapping[str, str],
    mark: str,
    wanted: RunFilter,
    limit: int,
    after: str | None,
    *,
    oldest_first: bool,
) -> tuple[str, list[object]]:
    """Select the statement for a page of rows and the beginnings of their answers, with its values.

    Args:
        table: of the runs.
        tests: by field of RunFilter, but `status`: its condition, `{}` in the value's place.
        mark: what stands before the number of a value.
        wanted: only these runs.
        limit: so many at most.
        after: the last run_id of the page before.
        oldest_first: how they are ordered.
    """
    values: list[object] = [limit, MAX_LISTED_BYTES + 1]
    conditions = [] if wanted.status is None else [has_status(wanted.status)]
    if wanted.owner:
        conditions.append(_is_of_owner(wanted.status))
    given = {field: value for field in tests if (value := getattr(wanted, field)) is not None}
    for field, value in given.items():
        values.append(value)
        conditions.append(tests[field].format(f"{mark}{len(values)}"))
    if after is not None:
        values.append(after)
        conditions.append(f"run_id {'>' if oldest_first else '<'} {mark}{len(values)}")
    where = " AND ".join(conditions) or "true"
    order = "ASC" if oldest_first else "DESC"
    sql = f"SELECT row, substr(answer, 1, {mark}2) FROM {table} WHERE {where}"  # noqa: S608 # none of it is given
    return f"{sql} ORDER BY run_id {order} LIMIT {mark}1", values
