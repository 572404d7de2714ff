"""Tickets for EventSource."""

from starlette.requests import Request
from starlette.responses import Response

from server.http.bodies import TicketBody
from server.http.callers.rights import own_run, require
from server.http.callers.tickets import CONNECT_SECONDS, make_ticket
from server.http.errors import HttpProblem
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.tokens import Token


async def make(request: Request) -> Response:
    """Answer POST /api/crew/tickets: a ticket that an EventSource shows as `?ticket=`; 201.

    Takes a TicketBody. It is good for one run, or for one start; for 60 s to connect, and to come
    back to the same run.
    """
    body = await parse_body(request, services_of(request).settings, TicketBody)
    token: Token | None = request.state.token
    if token is None or not token.makes_tickets:
        raise HttpProblem(403, "only a token of this server's own makes tickets; show one")
    if body.run_id is None:
        require(request, "run")
    else:
        require(request, "read")
        await own_run(request, body.run_id)
    ticket = make_ticket(token, body.run_id)
    headers = {"Cache-Control": "no-store"}
    document = {"ticket": ticket, "expires_in_seconds": CONNECT_SECONDS}
    return JsonResponse(document, 201, headers=headers)
