"""Why a run went where it went."""

from starlette.requests import Request
from starlette.responses import Response

from crew.why.reading import explain_run
from server.http.callers.rights import own_run
from server.http.errors import HttpProblem
from server.http.parameters import parse_parameters
from server.http.responses import JsonResponse
from server.http.services import services_of


async def show_why(request: Request) -> Response:
    """Answer GET /api/crew/runs/{id}/why: each rule, the words that decided, and their lines.

    By the files that the run was started with.
    """
    given, services = parse_parameters(request), services_of(request)
    row = await own_run(request, request.path_params["run_id"])
    steps = (await explain_run(services.runs.store, row, services.runs.crew)).steps
    if (number := given.get("event")) is not None:
        steps = [one for one in steps if one.event == number]
        if not steps:
            raise HttpProblem(404, f"event {number} follows from nothing, or is not there")
    return JsonResponse({"run_id": row.run_id, "steps": [one.document() for one in steps]})
