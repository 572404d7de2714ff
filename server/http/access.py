"""Who may call: request ids, host names, origins, tokens; and the access log.

Pure ASGI, so that streams pass unchanged.
"""

import hmac
import logging
import re
import secrets
import time
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.errors import HttpProblem, ProblemResponse
from server.settings import Caller, ServerSettings
from server.telemetry.logs import current_request

log = logging.getLogger("crew.access")

HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
# what pages of other sites must not call, nor anyone without a token
GUARDED = ("/api/", "/metrics")
PROBES = frozenset({"/health", "/ready"})
NOT_LOGGED = frozenset({"/health", "/ready", "/metrics"})


class RequestIds:
    """Gives every request an id, the client's own where it is valid; writes the access log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        current_request.set(request_id)
        # what is not answered here is answered with a 500 further out
        started, status = time.monotonic(), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        finally:
            # the path without its query, which may hold a token and what users say
            if scope["path"] not in NOT_LOGGED:
                method, path, seconds = scope["method"], scope["path"], time.monotonic() - started
                log.info("%s %s %s in %.3f s", method, path, status, seconds)


class Guard:
    """Refuses foreign host names, pages of other sites, and clients without a token."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with a problem."""
        if scope["type"] == "http":
            problem = self._check(scope)
            if problem is not None:
                await ProblemResponse(problem)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> HttpProblem | None:
        headers = Headers(scope=scope)
        host = HOST.fullmatch(headers.get("host", ""))
        if host is None:
            return HttpProblem(400, "Host: is no host name")
        if not self._is_own_name(host[1], scope["path"]):
            detail = f"Host: {host[1]!r} is not a name of this server"
            return HttpProblem(421, f"{detail}; CREW_ALLOWED_HOSTS can allow it")
        if not scope["path"].startswith(GUARDED):
            return None
        if not self._is_same_site(headers):
            detail = "Origin: this page may not call the API; CREW_CORS_ORIGINS can allow it"
            return HttpProblem(403, detail)
        caller = self._caller(headers, scope) if self.settings.tokens else Caller()
        if caller is None:
            detail = "Authorization: send `Authorization: Bearer TOKEN` with one of CREW_API_TOKENS"
            return HttpProblem(401, detail, headers={"WWW-Authenticate": "Bearer"})
        scope.setdefault("state", {})["caller"] = caller
        return None

    def _is_own_name(self, host: str, path: str) -> bool:
        hosts = self.settings.hosts
        # a probe or a scraper calls by any address: the answer says nothing, or needs a token
        by_address = path in PROBES or (path == "/metrics" and bool(self.settings.tokens))
        return hosts is None or by_address or host.strip("[]").lower() in hosts

    def _is_same_site(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            own = origin.partition("://")[2] == headers.get("host")
            return own or origin in self.settings.origins
        # what pages load without a script (an image, a frame) names no origin; a page of another
        # port is of the same site
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")

    def _caller(self, headers: Mapping[str, str], scope: Scope) -> Caller | None:
        """Who shows a token; None without one of ours."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            # EventSource cannot send headers (RFC 6750, 2.3)
            given = QueryParams(scope["query_string"]).get("access_token", "")
        token = given.strip().encode()
        # all are compared, so that the time says nothing
        tokens = self.settings.tokens
        matches = [one for one in tokens if hmac.compare_digest(token, one.secret.encode())]
        return matches[0].caller if matches else None
