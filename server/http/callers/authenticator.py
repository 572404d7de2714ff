"""Tokens that are shown: found, or refused, logged, counted and slowed down."""

import logging

from prometheus_client import Counter
from starlette.requests import HTTPConnection

from server.http.callers.auditor import Auditor, address_of, operation_of
from server.http.callers.pace import Pace
from server.http.errors import HttpProblem
from server.identity import Oidc
from server.tokens import Token, Tokens

log = logging.getLogger(__name__)

# an address may show so many wrong tokens, and one more after each so many seconds
BURST = 10
HOOKS = "/api/crew/hooks/"
SECONDS = 6.0


class Authenticator:
    """Where tokens are shown."""

    def __init__(
        self, tokens: Tokens, oidc: Oidc | None, refused: Counter, auditor: Auditor
    ) -> None:
        """`refused`: by its label `reason`."""
        self.tokens, self.oidc = tokens, oidc
        self.refused, self.auditor = refused, auditor
        self._wrong = Pace(BURST, SECONDS)

    async def show(self, secret: str, request: HTTPConnection) -> Token | None:
        """Return what is known of a token; None for a wrong one.

        Raises:
            HttpProblem: too many wrong ones came from this address.
        """
        self.check(request)
        token = self.tokens.find(secret)
        if token is None and self.oidc is not None:
            token = await self.oidc.find(secret)
        if token is None:
            self.count_wrong(request)
        return token

    def check(self, request: HTTPConnection) -> None:
        """Raise HttpProblem if too many wrong tokens came from an address."""
        late = self._wrong.wait(address_of(request))
        if late > 0:
            self.refused.labels("slowed").inc()
            headers = {"Retry-After": str(int(late) + 1)}
            raise HttpProblem(429, "too many wrong tokens came from this address", headers=headers)

    def count_wrong(self, request: HTTPConnection) -> None:
        """Count a wrong token, or ticket."""
        address = address_of(request)
        self._wrong.count(address)
        # the page of a hook lists its own; other paths may hold what no one would find to erase
        is_of_hook = request.url.path.startswith(HOOKS)
        detail = operation_of(request) if is_of_hook else ""
        self.auditor.record_soon(request, "wrong_token", detail)
        self.refused.labels("token").inc()
        log.warning("a wrong token came from %s", address)
