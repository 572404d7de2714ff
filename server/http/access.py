"""Who may come in: request ids, host names, origins, tokens; and the access log.

Pure ASGI, so that streams pass untouched.
"""

import hmac
import logging
import re
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.responses import ProblemReply, Refusal
from server.settings import Settings
from server.telemetry.logs import current_request

log = logging.getLogger("crew.access")

HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# what a page of another site must not call, and a stranger not without a token
GUARDED = ("/api/", "/metrics")
PROBES = frozenset({"/health", "/ready"})
SILENT = frozenset({"/health", "/ready", "/metrics"})


class RequestIds:
    """Gives every request an id (the client's own where it is a good one).

    Tells it in the answer, writes the access log.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        said = Headers(scope=scope).get("x-request-id", "")
        request_id = said if REQUEST_ID.fullmatch(said) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        current_request.set(request_id)
        # what is never answered is answered with a 500 further out
        began, status = time.monotonic(), 500

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, tell)
        finally:
            # the path without its query, which may hold a token and what users said
            if scope["path"] not in SILENT:
                log.info(
                    "%s %s %s in %.3f s",
                    scope["method"],
                    scope["path"],
                    status,
                    time.monotonic() - began,
                )


class Guard:
    """Refuses foreign host names, pages of other sites, and strangers without a token."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with a problem."""
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await ProblemReply(refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers, settings = Headers(scope=scope), self.settings
        host = HOST.fullmatch(headers.get("host", ""))
        if host is None:
            return Refusal(400, "Host: is no host name")
        # a probe or a scraper asks by whatever address it has: it is told nothing, or needs a token
        # anyway
        by_address = scope["path"] in PROBES or (scope["path"] == "/metrics" and settings.tokens)
        if (
            settings.hosts is not None
            and not by_address
            and host[1].strip("[]").lower() not in settings.hosts
        ):
            return Refusal(
                421,
                f"Host: {host[1]!r} is not a name of this server; CREW_ALLOWED_HOSTS can allow it",
            )
        if not scope["path"].startswith(GUARDED):
            return None
        if not self._same_site(headers):
            return Refusal(
                403, "Origin: this page may not call the API; CREW_CORS_ORIGINS can allow it"
            )
        if settings.tokens and not self._known(headers, scope):
            return Refusal(
                401,
                "Authorization: send `Authorization: Bearer TOKEN` with one of CREW_API_TOKENS",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return None

    def _same_site(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            return origin in self.settings.origins or origin.partition("://")[2] == headers.get(
                "host"
            )
        # what pages load without a script (an image, a frame) names no origin; a page of another
        # port is of the same site
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")

    def _known(self, headers: Mapping[str, str], scope: Scope) -> bool:
        kind, _, shown = headers.get("authorization", "").partition(" ")
        # EventSource cannot send headers (RFC 6750, 2.3)
        given = (
            shown.strip()
            if kind.lower() == "bearer"
            else QueryParams(scope["query_string"]).get("access_token", "")
        )
        # all are compared, so that time tells nothing
        return (
            sum(
                hmac.compare_digest(given.encode(), token.encode())
                for token in self.settings.tokens
            )
            > 0
        )
