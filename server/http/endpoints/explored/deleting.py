"""Runs that are deleted, one or many."""

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.rows import RunRow
from server.http.callers.rights import own_run
from server.http.endpoints.explored.bodies import DeleteRunsBody
from server.http.endpoints.lists import filter_of
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of

# of one request, and in one write: others wait for it
MAX_DELETED, AT_ONCE = 10_000, 100


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
    await services.auditor.record(request, "delete", row.run_id)
    return Response(status_code=204)


async def delete_matching(request: Request) -> Response:
    """Answer POST /api/crew/runs/delete: delete the runs of a filter, if it lets so many through.

    So what was seen is what goes. With `dry` nothing is deleted.
    """
    services = services_of(request)
    body = await parse_body(request, services.settings, DeleteRunsBody)
    wanted = filter_of(request, body.filter.model_dump(exclude_none=True))
    store = services.runs.store
    rows: list[RunRow] = []
    while page := await store.rows(wanted, 500, rows[-1].run_id if rows else None):
        rows += page
        if len(rows) > MAX_DELETED:
            raise HttpProblem(409, f"more than {MAX_DELETED:,} runs match; say less at once")
    if not body.dry and body.expect != len(rows):
        text = f"{len(rows)} runs match, not {body.expect}; nothing was deleted"
        raise HttpProblem(409, text, more={"count": len(rows)})
    for row in rows:
        _require_deletable(row)
    deleted = 0
    for start in range(0, 0 if body.dry else len(rows), AT_ONCE):
        ids = [row.run_id for row in rows[start : start + AT_ONCE]]
        for run_id in await store.delete_runs(ids):
            deleted += 1
            await services.auditor.record(request, "delete", run_id)
    return JsonResponse({"count": len(rows), "deleted": deleted})


def _require_deletable(row: RunRow) -> None:
    """Raise HttpProblem for a run that is at work, or of a conversation."""
    if row.ended_at is None:
        raise HttpProblem(409, f"run {row.run_id} is {row.status}; cancel it first")
    if row.conversation_id:
        text = f"run {row.run_id} is an exchange of conversation {row.conversation_id}"
        more = {"conversation_id": row.conversation_id}
        raise HttpProblem(409, f"{text}; delete that", more=more)
