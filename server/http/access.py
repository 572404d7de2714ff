"""Of every answer: its request id, the headers that protect browsers, and a line in the access log.

Pure ASGI, so that streams pass unchanged.
"""

import logging
import re
import secrets
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.telemetry.logs import current_request
from tools.tracing import TraceContext, incoming_traceparent

log = logging.getLogger("crew.access")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# what an endpoint does not say itself: no page may frame, run or read an answer
POLICY = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_LOGGED = frozenset({"/health", "/ready", "/metrics"})


def request_id_of(scope: Scope) -> str:
    """Return a request's id: the client's own where it is valid."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _traceparent_of(scope: Scope) -> str:
    """Return a request's W3C `traceparent`; "" where it has none that is right."""
    given = Headers(scope=scope).get("traceparent", "")
    return given if given and TraceContext.parse(given) is not None else ""


class RequestIds:
    """Gives every request an id, the client's own where it is valid; writes the access log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        current_request.set(request_id)
        incoming_traceparent.set(_traceparent_of(scope))
        # what is not answered here is answered with a 500 further out
        started, status = time.monotonic(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in POLICY.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            # the path without its query, which may hold a token and what users say
            if scope["path"] not in NOT_LOGGED:
                method, path, seconds = scope["method"], scope["path"], time.monotonic() - started
                address = scope["client"][0] if scope.get("client") else "-"
                log.info("%s %s %s %s in %.3f s", address, method, path, status, seconds)
