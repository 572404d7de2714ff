"""Lists of runs."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.listing import NO_TIME, RunFilter, beginning_of
from crew.journal.records.rows import RunRow
from server.http.callers.rights import caller_of, own_run, require
from server.http.errors import bad_request
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse, describe_listed_run
from server.http.services import services_of

TIME_PARAMETERS = ("since", "until")


async def list_runs(request: Request) -> Response:
    """Answer GET /api/crew/runs: runs, newest first.

    Takes `status`, `agent_id`, `source`, `text` (a part of the query), `since` and `until` (of the
    start: a time, UTC, or its beginning), `limit` (50) and `after` (a run_id; `next` of the page
    before). With `totals=1` also what all that match come to.
    """
    given = parse_parameters(request)
    wanted = filter_of(request, given)
    page, following = await page_of_runs(request, given, wanted)
    document: dict[str, Any] = {
        "runs": [describe_listed_run(row) for row in page],
        "next": following,
    }
    if given["totals"]:
        totals = await services_of(request).runs.store.totals(wanted)
        document["totals"] = asdict(totals) | {"count": sum(totals.statuses.values())}
    return JsonResponse(document)


async def page_of_runs(
    request: Request,
    given: Mapping[str, Any],
    wanted: RunFilter,
    *,
    oldest_first: bool = False,
) -> tuple[list[RunRow], str | None]:
    """Return a page of the caller's runs, and where the next one begins."""
    limit, after = given["limit"], given.get("after")
    if after is not None:
        await own_run(request, after)
    store = services_of(request).runs.store
    rows = await store.rows(wanted, limit + 1, after, oldest_first=oldest_first)
    page = rows[:limit]
    return page, page[-1].run_id if len(rows) > len(page) else None


def filter_of(request: Request, given: Mapping[str, Any]) -> RunFilter:
    """Return which runs are wanted, of the ones that the caller may see; raises HttpProblem."""
    caller = caller_of(request)
    owner, is_own = given.get("owner"), given.get("own")
    if owner not in (None, caller.owner):
        require(request, "admin")
        if is_own:
            raise bad_request([("owner", "is another one than the caller, whose own are wanted")])
    if is_own or "admin" not in caller.scopes:
        owner = caller.owner
    since, until = (beginning_in(given, field) for field in TIME_PARAMETERS)
    return RunFilter(
        given.get("status"),
        owner,
        # it may be one that the crew has no more
        given.get("agent_id"),
        given.get("text"),
        since,
        until,
        given.get("source"),
        given.get("user_id"),
        given.get("source_name"),
        reason=given.get("reason"),
        over_usd=float(given["cost_over"]) if "cost_over" in given else None,
        tool=given.get("tool"),
        prefix=given.get("prefix"),
        waiting=given.get("waiting"),
    )


def beginning_in(given: Mapping[str, Any], field: str) -> str | None:
    """Return where a given time begins, as stores compare it; raises HttpProblem."""
    text: str | None = given.get(field)
    if text is None:
        return None
    try:
        return beginning_of(text)
    except ValueError:
        raise bad_request([(field, NO_TIME)]) from None
