"""The addresses of A2A."""

import re

from starlette.responses import Response
from starlette.routing import Route

from server.http.door import Door
from server.http.errors import HttpProblem
from server.protocols.a2a.card import CARD, REST, RPC, show_card
from server.protocols.a2a.problems import refuse_rest, refuse_rpc
from server.protocols.a2a.rest import rest_routes
from server.protocols.a2a.rpc import call_method

# headers that its clients send besides
SENT = ("A2A-Version", "A2A-Extensions")
# by JSON-RPC all methods have one address, also those that cancel
STARTS = re.compile(rf"{REST}/message:(?:send|stream)")


def open_a2a() -> Door:
    """Return the door of A2A."""
    routes = [
        Route(CARD, show_card, methods=["GET"]),
        Route(RPC, call_method, methods=["POST"]),
        *rest_routes(),
    ]
    return Door("a2a", routes, (RPC, CARD), refuse_a2a, frozenset({CARD}), SENT, STARTS)


def refuse_a2a(problem: HttpProblem, path: str) -> Response:
    """Return a problem in the form of the binding that was taken."""
    return refuse_rest(problem) if path.startswith(REST) else refuse_rpc(problem)
