"""Who may call: host names, origins, tokens, tickets.

Pure ASGI, so that streams pass unchanged. A path that is not named here needs a token.
"""

import re
from collections.abc import Mapping, Sequence

from starlette.datastructures import Headers, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from crew.config.keys.matters import TRY_AGAIN
from server.http.callers.auditor import address_of
from server.http.callers.authenticator import Authenticator
from server.http.callers.pace import RateLimits
from server.http.callers.session import COOKIE, SESSION, ask_for_token, open_session
from server.http.callers.tickets import TicketOver, read_ticket
from server.http.door import Door
from server.http.errors import HttpProblem, ProblemResponse
from server.http.pages.chat import OPEN_PATHS
from server.settings import ServerSettings
from server.tokens import Caller, Token

HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
PROBES = frozenset({"/health", "/ready"})
OPEN = PROBES | {SESSION} | OPEN_PATHS
CONSOLE = "/"
# in the scope: the address of the other end of the connection, which may be a proxy's
PEER = "crew.peer"
# what pages of other sites must not load
GUARDED = ("/api/", "/metrics", "/openapi.json", SESSION)
STREAM = "/api/crew/stream"
HOOKS = "/api/crew/hooks/"
# what a ticket opens
STREAMS = re.compile(rf"{STREAM}|/api/crew/runs/[^/]+/events")
# what one opens that is shown as a token
OF_PLACE = re.compile(
    rf"(?:GET|POST) {STREAM}|POST /api/crew/(?:run|runs|runs/[^/]+/(?:resume|cancel|retry))"
    r"|GET /api/crew/(?:runs/[^/]+|runs/[^/]+/events|conversations/[^/]+)"
)
UNAUTHORIZED = (
    "Authorization: send `Authorization: Bearer TOKEN` with a token of this server; an EventSource "
    "shows a ticket of POST /api/crew/tickets"
)


class AccessGuard:
    """Refuses foreign host names, pages of other sites, and clients without a token."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        authenticator: Authenticator,
        limits: RateLimits,
        doors: Sequence[Door],
    ) -> None:
        self.app, self.settings, self.authenticator = app, settings, authenticator
        self.limits, self.doors = limits, doors
        self.open = OPEN.union(*(door.open_paths for door in doors))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] == "http":
            try:
                answer = await self._check(HTTPConnection(scope))
            except HttpProblem as problem:
                if problem.status == 429 and scope["path"].startswith(HOOKS):
                    problem.status = TRY_AGAIN
                answer = ProblemResponse(problem)
            if answer is not None:
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _check(self, request: HTTPConnection) -> Response | None:
        headers, path = request.headers, request.scope["path"]
        if path not in PROBES:
            self.limits.take_request(f"address {address_of(request)}")
        hosts = headers.getlist("host")
        host = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            raise HttpProblem(400, "Host: is no host name, or there are several")
        if not self._is_own_name(host[1], path):
            detail = f"Host: {host[1]!r} is not a name of this server"
            raise HttpProblem(421, f"{detail}; CREW_ALLOWED_HOSTS can allow it")
        if self._is_guarded(path) and not self._is_same_site(headers):
            self.authenticator.refused.labels("origin").inc()
            detail = "Origin: this page may not call the API; CREW_CORS_ORIGINS can allow it"
            raise HttpProblem(403, detail)
        if path == STREAM and headers.get("sec-fetch-mode") == "navigate":
            # a link must not start a run
            raise HttpProblem(403, "Sec-Fetch-Mode: a page that is opened starts no run")
        return None if path in self.open else await self._check_token(request)

    def _is_own_name(self, host: str, path: str) -> bool:
        hosts = self.settings.hosts
        # a probe or a scraper calls by any address: the answer says nothing, or needs a token
        needs_token = self.authenticator.tokens.are_needed
        by_address = path in PROBES or (path == "/metrics" and needs_token)
        return hosts is None or by_address or host.strip("[]").lower() in hosts

    def _is_guarded(self, path: str) -> bool:
        """Return whether pages of other sites must not load it."""
        return path.startswith(GUARDED) or any(door.has(path) for door in self.doors)

    def _is_same_site(self, headers: Mapping[str, str]) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            own = origin.partition("://")[2] == headers.get("host")
            return own or origin in self.settings.origins
        # what pages load without a script (an image, a frame) names no origin; a page of another
        # port is of the same site
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")

    async def _check_token(self, request: HTTPConnection) -> Response | None:
        path, parameters = request.scope["path"], QueryParams(request.scope["query_string"])
        ticket = parameters.get("ticket") if STREAMS.fullmatch(path) else None
        if ticket is not None:
            # a caller with a token of its own has no more by it
            self.authenticator.check(request)
            comes_back = "last-event-id" in request.headers
            caller = self._read_ticket(ticket, comes_back=comes_back)
            if caller is None:
                self.authenticator.count_wrong(request)
                raise HttpProblem(401, "ticket: is none of this server's")
            self._let_in(request, caller, None)
            return None
        # where it would count as a token, and none other is shown
        is_of_place = _is_of_place(request, path) and not _shown(request)
        in_address = parameters.get("ticket") if is_of_place else None
        if in_address is not None and self._read_ticket(in_address) is not None:
            text = "ticket: in an address it opens a stream; else show it in Authorization"
            raise HttpProblem(403, text)
        if (caller := self._with_ticket(request, path)) is not None:
            self._let_in(request, caller, None)
            return None
        if not self.authenticator.tokens.are_needed:
            token: Token = self.authenticator.tokens.anonymous
            self._let_in(request, token.caller, token)
            return None
        identity, peer = self.settings.identity, request.scope.get(PEER, "")
        known = identity.caller(request.headers, peer) if identity is not None else None
        if known is not None:
            self._let_in(request, known, None)
            return None
        in_link = parameters.get("token") if path == CONSOLE else None
        shown = in_link or _shown(request)
        found = await self.authenticator.show(shown, request) if shown else None
        if found is not None and in_link:
            return open_session(in_link, is_secure=request.scope["scheme"] == "https")
        if found is not None:
            self._let_in(request, found.caller, found)
            return None
        return self._ask(request.headers, path)

    def _with_ticket(self, request: HTTPConnection, path: str) -> Caller | None:
        """Return who shows a ticket as a token, or None. Raises HttpProblem."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or given.count(".") != 1:
            return None
        caller = self._read_ticket(given.strip(), in_url=False)
        if caller is not None and not _is_of_place(request, path):
            raise HttpProblem(403, "ticket: it opens runs and their conversation, nothing else")
        return caller

    def _read_ticket(self, text: str, **how: bool) -> Caller | None:
        """Return who shows a ticket; see `read_ticket`. Raises HttpProblem for one that is over."""
        try:
            return read_ticket(self.authenticator.tokens, text, **how)
        except TicketOver:
            # no attempt to guess one: a page has been open for long
            raise HttpProblem(401, "ticket: its time is over; make another one") from None

    def _let_in(self, request: HTTPConnection, caller: Caller, token: Token | None) -> None:
        self.limits.take_request(f"token {caller.limited_as}")
        request.state.caller, request.state.token = caller, token

    def _ask(self, headers: Headers, path: str) -> Response:
        if not self._is_guarded(path) and "text/html" in headers.get("accept", ""):
            return ask_for_token(headers, path=path)
        raise HttpProblem(401, UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})


def _is_of_place(request: HTTPConnection, path: str) -> bool:
    """Return whether a page may do this with a ticket, if it shows it as a token."""
    return OF_PLACE.fullmatch(f"{request.scope['method']} {path}") is not None


def _shown(request: HTTPConnection) -> str:
    """Return the token of the header, or of the console's cookie; "" without one."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind:
        return given.strip() if kind.lower() == "bearer" else "-"
    return request.cookies.get(COOKIE, "")
