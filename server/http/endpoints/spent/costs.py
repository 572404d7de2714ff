"""What calls of models have cost."""

from starlette.requests import Request
from starlette.responses import Response

from crew.journal.records.spent.costs import parse_keys
from crew.runs.costs.report import cost_report
from server.http.callers.rights import caller_of
from server.http.errors import bad_request
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of
from tools.text.lengths import length_of

TOP = 1000
BY = "agent,model"


async def show_costs(request: Request) -> Response:
    """Answer GET /api/crew/costs: sums of what calls of models have cost, the dearest first.

    Without the scope `admin`, of the caller's own user and token alone.
    """
    given, services, caller = parse_parameters(request), services_of(request), caller_of(request)
    try:
        keys = parse_keys(given.get("by", BY))
    except ValueError as error:
        raise bad_request([("by", str(error))]) from None
    since = length_of(given["since"]) if "since" in given else None
    of = None if "admin" in caller.scopes else caller.owner
    found = await cost_report(
        services.runs.store,
        keys,
        services.runs.crew.zone,
        since=since,
        caller=of,
        top=TOP,
    )
    return JsonResponse(found.document())
