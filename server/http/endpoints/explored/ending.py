"""Runs that are deleted, one or many, and many that are cancelled."""

import contextlib
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.rows import RunRow
from crew.runs.errors import RunEnded, UnknownRun
from server.http.callers.rights import own_run
from server.http.endpoints.explored.bodies import MatchingRunsBody
from server.http.endpoints.lists import filter_of
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of

# of one request, in one read, and in one write: others wait for it
MAX_MATCHING, PAGE, AT_ONCE = 10_000, 500, 100


async def delete_run(request: Request) -> Response:
    """Answer DELETE /api/crew/runs/{id}: delete a run that has ended, with its events; 204.

    For its owner, or `admin`. The audit keeps who and when, not the words.
    """
    parse_parameters(request)
    row = await own_run(request, request.path_params["run_id"])
    _require_deletable(row)
    services = services_of(request)
    if not await services.runs.store.delete_runs([row.run_id]):
        raise HttpProblem(409, f"run {row.run_id} is at work again")
    await services.auditor.record(request, "delete", row.run_id, user_id=row.user_id)
    return Response(status_code=204)


async def delete_matching(request: Request) -> Response:
    """Answer POST /api/crew/runs/delete: delete the runs of a filter, if it lets so many through.

    So what was seen is what goes. With `dry` nothing is deleted.
    """
    services = services_of(request)
    body = await parse_body(request, services.settings, MatchingRunsBody)
    rows = [row async for row in _matching(request, body)]
    _require_expected(body, len(rows), "deleted")
    for row in rows:
        _require_deletable(row)
    deleted, users = 0, {row.run_id: row.user_id for row in rows}
    for start in range(0, 0 if body.dry else len(rows), AT_ONCE):
        ids = [row.run_id for row in rows[start : start + AT_ONCE]]
        for run_id in await services.runs.store.delete_runs(ids):
            deleted += 1
            await services.auditor.record(request, "delete", run_id, user_id=users[run_id])
    return JsonResponse({"count": len(rows), "deleted": deleted})


async def cancel_matching(request: Request) -> Response:
    """Answer POST /api/crew/runs/cancel: end the runs of a filter that have not ended.

    Only if there are so many. With `dry` none is ended.
    """
    services = services_of(request)
    body = await parse_body(request, services.settings, MatchingRunsBody)
    run_ids = [row.run_id async for row in _matching(request, body) if row.ended_at is None]
    _require_expected(body, len(run_ids), "cancelled")
    cancelled = 0
    for run_id in () if body.dry else run_ids:
        with contextlib.suppress(RunEnded, UnknownRun):
            await services.runs.cancel(run_id, request.state.request_id)
            await services.auditor.record(request, "cancel", run_id)
            cancelled += 1
    return JsonResponse({"count": len(run_ids), "cancelled": cancelled})


async def _matching(request: Request, body: MatchingRunsBody) -> AsyncIterator[RunRow]:
    """Yield the runs of a filter; raises HttpProblem where they are too many for one request."""
    wanted = filter_of(request, body.filter.model_dump(exclude_none=True))
    store, count, after = services_of(request).runs.store, 0, None
    while page := await store.rows(wanted, PAGE, after):
        count, after = count + len(page), page[-1].run_id
        if count > MAX_MATCHING:
            raise HttpProblem(409, f"more than {MAX_MATCHING:,} runs match; say less at once")
        for row in page:
            yield row


def _require_expected(body: MatchingRunsBody, count: int, done: str) -> None:
    """Raise HttpProblem where other runs match than the caller has seen."""
    if not body.dry and body.expect != count:
        text = f"{count} runs match, not {body.expect}; nothing was {done}"
        raise HttpProblem(409, text, more={"count": count})


def _require_deletable(row: RunRow) -> None:
    """Raise HttpProblem for a run that is at work, or of a conversation."""
    if row.ended_at is None:
        raise HttpProblem(409, f"run {row.run_id} is {row.status}; cancel it first")
    if row.conversation_id:
        text = f"run {row.run_id} is an exchange of conversation {row.conversation_id}"
        more = {"conversation_id": row.conversation_id}
        raise HttpProblem(409, f"{text}; delete that", more=more)
