"""The statement that lists runs, the same for both databases but for how they read a row."""

from collections.abc import Mapping

from crew.journal.listing import MAX_LISTED_BYTES, RunFilter


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
    """The statement for a page of rows and the beginnings of their answers, with its values.

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
    # a part of the text, so that the index of open runs is used
    conditions = [] if wanted.status is None else [f"status = '{wanted.status}'"]
    if wanted.status in ("running", "paused"):
        conditions.append("status IN ('running', 'paused')")
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
