"""Tokens that are shown: found, or refused, logged, counted and slowed down."""

import logging
import time
from collections import OrderedDict

from prometheus_client import Counter

from server.http.errors import HttpProblem
from server.tokens import Token, Tokens

log = logging.getLogger(__name__)

# an address may show so many wrong tokens, and one more after each so many seconds
BURST = 10
SECONDS = 6.0
# of which it is known; the oldest is forgotten
MAX_ADDRESSES = 10_000


class Door:
    """Where tokens are shown."""

    def __init__(self, tokens: Tokens, refused: Counter) -> None:
        """`refused`: by its label `reason`."""
        self.tokens, self.refused = tokens, refused
        # by address: until when its wrong tokens count, on the monotonic clock
        self._wrong: OrderedDict[str, float] = OrderedDict()

    def show(self, secret: str, address: str) -> Token | None:
        """What is known of a token; None for a wrong one.

        Raises:
            HttpProblem: too many wrong ones came from this address.
        """
        self.check(address)
        token = self.tokens.find(secret)
        if token is None:
            self.count_wrong(address)
        return token

    def check(self, address: str) -> None:
        """Raise HttpProblem if too many wrong tokens came from an address."""
        late = self._wrong.get(address, 0.0) - time.monotonic() - (BURST - 1) * SECONDS
        if late > 0:
            self.refused.labels("slowed").inc()
            headers = {"Retry-After": str(int(late) + 1)}
            raise HttpProblem(429, "too many wrong tokens came from this address", headers=headers)

    def count_wrong(self, address: str) -> None:
        """A wrong token, or ticket, came."""
        now = time.monotonic()
        self._wrong[address] = max(self._wrong.get(address, now), now) + SECONDS
        self._wrong.move_to_end(address)
        if len(self._wrong) > MAX_ADDRESSES:
            self._wrong.popitem(last=False)
        self.refused.labels("token").inc()
        log.warning("a wrong token came from %s", address)
