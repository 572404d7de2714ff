"""Approvals that outlive their run: listing and ending them."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.grants import Grant
from server.http.callers.rights import caller_of
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.clock import rfc3339


async def list_grants(request: Request) -> Response:
    """Answer GET /api/crew/grants: the approvals that outlive their run, newest first."""
    parse_parameters(request)
    return JsonResponse({"grants": [asdict(one) for one in await _own(request)]})


async def revoke_grant(request: Request) -> Response:
    """Answer DELETE /api/crew/grants/{id}: end one; 204."""
    services, grant_id = services_of(request), request.path_params["grant_id"]
    if grant_id not in [one.id for one in await _own(request)]:
        raise HttpProblem(404, "there is no such grant")
    if not await services.runs.store.grants.revoke(grant_id):
        # another one was faster
        raise HttpProblem(404, "there is no such grant")
    await services.auditor.record(request, "revoke", detail=grant_id)
    return Response(status_code=204)


async def _own(request: Request) -> list[Grant]:
    """Return those that are there for the caller, as runs are."""
    store, caller = services_of(request).runs.store, caller_of(request)
    found = await store.grants.find(rfc3339(store.now()))
    return [one for one in found if caller.sees(one.owner)]
