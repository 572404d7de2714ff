"""Who did what."""

from dataclasses import asdict
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.audit import AuditAction, AuditFilter
from server.http.endpoints.lists import TIME_PARAMETERS, beginning_in
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of

ACTIONS = get_args(AuditAction)


async def show_audit(request: Request) -> Response:
    """Answer GET /api/crew/audit: who did what, newest first."""
    given, services = parse_parameters(request), services_of(request)
    limit = given.pop("limit")
    given |= {field: beginning_in(given, field) for field in TIME_PARAMETERS}
    found = await services.runs.store.audit.entries(limit, AuditFilter(**given))
    return JsonResponse({"entries": [asdict(one) for one in found]})
