"""Tickets: what a page shows in place of a token."""

from starlette.requests import Request
from starlette.responses import Response

from server.http.bodies import TicketBody
from server.http.callers.rights import caller_of, own_run, require, user_of
from server.http.callers.tickets import CONNECT_SECONDS, make_place_ticket, make_ticket
from server.http.errors import HttpProblem
from server.http.reading import parse_body
from server.http.responses import JsonResponse
from server.http.services import services_of
from server.tokens import Scope, TicketPlace, Token

PLACE_SECONDS = 3600
PLACE_SCOPES: frozenset[Scope] = frozenset({"read", "run"})


async def make(request: Request) -> Response:
    """Answer POST /api/crew/tickets: a ticket that a page shows in place of a token; 201.

    Takes a TicketBody. With `scopes`, `conversation_id`, `user_id` or `seconds` it is good until
    its end, for the runs of that person or conversation, as `Authorization: Bearer TICKET` or, of
    streams, as `?ticket=`. Without them it is good for one run, or for one start, as `?ticket=`:
    for 60 s to connect, and to come back to the same run.
    """
    body = await parse_body(request, services_of(request).settings, TicketBody)
    token: Token | None = request.state.token
    if token is None or not token.makes_tickets:
        raise HttpProblem(403, "only a token of this server's own makes tickets; show one")
    if body.has_place:
        seconds = PLACE_SECONDS if body.seconds is None else body.seconds
        place = TicketPlace(user_of(request, body.user_id), body.conversation_id or "")
        ticket = make_place_ticket(token, place, _scopes(request, body), seconds)
    else:
        seconds = CONNECT_SECONDS
        require(request, "run" if body.run_id is None else "read")
        if body.run_id is not None:
            await own_run(request, body.run_id)
        ticket = make_ticket(token, body.run_id)
    headers = {"Cache-Control": "no-store"}
    document = {"ticket": ticket, "expires_in_seconds": seconds}
    return JsonResponse(document, 201, headers=headers)


def _scopes(request: Request, body: TicketBody) -> frozenset[Scope]:
    """Return what a ticket may do; raises HttpProblem where that is more than its token may."""
    if body.scopes is None:
        return PLACE_SCOPES & caller_of(request).scopes
    for scope in body.scopes:
        require(request, scope)
    return frozenset(body.scopes)
