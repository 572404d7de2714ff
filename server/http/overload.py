"""Overload: new runs are refused while the event loop is late, so that accepted ones end in time.

A task wants to wake every few milliseconds, and adds up how late it does. A loop that is late for
much of its time has more to do than it can. The least lateness is no sign: also a loop with
thousands of tasks that wait has short turns between long ones.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Sequence

from prometheus_client import Counter
from starlette.types import ASGIApp, Receive, Scope, Send

from server.http.access import POLICY, request_id_of
from server.http.door import Door
from server.http.errors import HttpProblem, ProblemResponse

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.05
# this late is on time: other programs may have the machine for a moment
SLACK_SECONDS = 0.03
# the part of its time that the loop may be late, and over how long that is averaged
MOST_LATE = 0.3
MEAN_SECONDS = 0.5
# runs that may start in a second: while all is well, and at least
MOST_STARTS, LEAST_STARTS = 10_000.0, 100.0
MOST_AT_ONCE = MOST_STARTS * LOOK_SECONDS
# so many runs, and requests that start some, are never too much: it is the machine that is busy
FEW = 8
# by any method, or by POST alone
STARTS = frozenset({"/api/crew/run", "/api/crew/stream"})
POSTS = re.compile(r"/api/crew/(?:runs|hooks/[^/]+|runs/[^/]+/(?:fork|retry)|schedules/[^/]+/run)")
RETRY_AFTER = {"Retry-After": "1"}
DETAIL = "this server has as many runs as it can carry; try again in a moment"
# what was refused is told once for so many seconds of quiet
QUIET_SECONDS = 5.0


class Overload:
    """How late the event loop of this process is, and how many runs may start for it.

    As TCP does: fewer by half when there is too much to do, a few more when there is not.
    While there are fewer than FEW, none is refused, however late the loop is.
    """

    def __init__(self, refused: Counter, active: Callable[[], int]) -> None:
        """What is refused, and what is not.

        Args:
            refused: counts, by its label `reason`.
            active: how many runs this process plays.
        """
        self._refused, self._active = refused.labels("overload"), active
        # admitted requests that have no answer yet
        self._admitted = 0
        # the part of the newest time that the loop was late
        self._late = 0.0
        # in a second; and until the next look
        self._rate, self._left = MOST_STARTS, MOST_AT_ONCE
        self._started = 0
        self._told = 0
        self._last_refusal = 0.0

    async def watch(self) -> None:
        """Look, until this is cancelled."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            passed = now - before
            late = max(0.0, passed - LOOK_SECONDS - SLACK_SECONDS)
            self._late += min(1.0, passed / MEAN_SECONDS) * (late / passed - self._late)
            if self._late > MOST_LATE:
                seen = self._started / LOOK_SECONDS if self._started else self._rate
                self._rate = max(LEAST_STARTS, min(self._rate, seen) / 2)
            else:
                self._rate = min(MOST_STARTS, self._rate * 1.1 + LEAST_STARTS / 5)
            # who asks for little is not refused, however late a look comes
            self._left = max(self._rate * LOOK_SECONDS, LEAST_STARTS * passed)
            self._started = 0
            if self._told and now - self._last_refusal > QUIET_SECONDS:
                log.info("overload is over: %d requests were refused", self._told)
                self._told = 0

    def may_start(self) -> bool:
        """Return whether there is room for one more run; it is taken, until `answered`."""
        if self._left >= 1 or max(self._admitted, self._active()) < FEW:
            self._left -= 1
            self._started += 1
            self._admitted += 1
            return True
        if not self._told:
            log.warning("overload: requests that start runs are refused (503)")
        self._told += 1
        self._last_refusal = time.monotonic()
        self._refused.inc()
        return False

    def answered(self) -> None:
        """Note that a request that might start a run has its whole answer."""
        self._admitted -= 1


class Admission:
    """Refuses what would start a run while there is too much to do; pure ASGI, and cheap."""

    def __init__(self, app: ASGIApp, overload: Overload, doors: Sequence[Door] = ()) -> None:
        self.app, self.overload, self.doors = app, overload, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] != "http" or not self._starts(scope):
            await self.app(scope, receive, send)
        elif self.overload.may_start():
            try:
                await self.app(scope, receive, send)
            finally:
                self.overload.answered()
        else:
            headers = {**POLICY, **RETRY_AFTER, "X-Request-ID": request_id_of(scope)}
            problem = HttpProblem(503, DETAIL, headers=headers)
            await ProblemResponse(problem)(scope, receive, send)

    def _starts(self, scope: Scope) -> bool:
        """Return whether a request may start a run."""
        path = scope["path"]
        if path in STARTS:
            return not _comes_back(scope)
        if scope["method"] != "POST":
            return False
        if POSTS.fullmatch(path) is not None:
            return True
        starts = (door.starts for door in self.doors if door.starts is not None)
        return any(one.fullmatch(path) for one in starts)


def _comes_back(scope: Scope) -> bool:
    """Return whether it continues a stream: an EventSource gives up at a 503."""
    return any(name == b"last-event-id" for name, _ in scope["headers"])
