"""HTTP below ASGI, bounded: connections, the head of a request, and the time that it takes to come.

uvicorn has no such limits of its own. A client that sends its request byte by byte, or none at
all, takes a connection and nothing else.
"""

import asyncio
import logging
import resource
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from prometheus_client import Counter as Count
from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.http.access import POLICY, REQUEST_ID
from server.http.errors import HttpProblem, problem_document
from server.identity import Proxies
from server.settings import ServerSettings

log = logging.getLogger(__name__)

MAX_HEADERS_BYTES = 16 * 1024
# what httptools can take apart; a query may take up to 12 bytes for each character
MAX_URL_BYTES = 65_535
HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
# after a refusal
CLOSING_SECONDS = 1.0
# beyond the most connections: told that they are too many, or that the server is alive
SPARE_CONNECTIONS = 100
# of the files that a process may open: kept for the database, tools and models
KEPT_FILES, KEPT_PART = 64, 5
HEALTH = b"/health"
REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
}
BUSY = 503
# what is wrong, for who sent it
DETAILS = {
    400: "this is no HTTP/1.1 request that can be read",
    408: "the request did not come in time",
    414: f"the URL has more than {MAX_URL_BYTES:,} bytes; send the query by POST",
    431: f"the headers have more than {MAX_HEADERS_BYTES:,} bytes",
    BUSY: "this server has as many connections as it takes; try again later",
}
# an address that has too many connections is logged once in so many seconds
LOG_SECONDS = 60.0
# of every answer that is given here
HEADERS = "".join(f"{name.lower()}: {value}\r\n" for name, value in POLICY.items())


class OpenConnections:
    """How many there are."""

    def __init__(self, settings: ServerSettings, open_files: int, refused: Count) -> None:
        """Count the connections of a server.

        Args:
            settings: how many there may be.
            open_files: that this process may have.
            refused: counts those that are refused.
        """
        self.refused = refused
        # when each address that had too many was logged last
        self._logged_at: dict[str, float] = {}
        room = max(2, open_files - max(KEPT_FILES, open_files // KEPT_PART))
        self.spare = min(SPARE_CONNECTIONS, room // 4)
        self.most = min(settings.max_connections, room - self.spare)
        if self.most < settings.max_connections:
            log.warning(
                "this process may have %d open files, so it takes %d connections, not %d; raise "
                "the limit (ulimit -n, LimitNOFILE) or lower CREW_MAX_CONNECTIONS",
                open_files,
                self.most,
                settings.max_connections,
            )
        self.most_of_address = settings.max_connections_per_address
        self.proxies = Proxies(settings.proxies)
        self.of_address: Counter[str] = Counter()
        self.total = 0
        self.was_full = False

    def add(self, address: str) -> bool | None:
        """Add a connection; return True: it is one too many, None: it is not even answered."""
        self.total += 1
        self.of_address[address] += 1
        if self.of_address[address] > self.most_of_address and address not in self.proxies:
            self.refused.labels("connections").inc()
            self._log_address(address)
            return None
        is_full = self.total > self.most
        if is_full and not self.was_full:
            log.warning("there are %d connections: further ones are refused", self.total - 1)
        self.was_full = is_full
        if is_full:
            self.refused.labels("connections").inc()
        return None if self.total > self.most + self.spare else is_full

    def _log_address(self, address: str) -> None:
        now = time.monotonic()
        if now < self._logged_at.get(address, 0.0) + LOG_SECONDS:
            return
        self._logged_at = {
            one: at for one, at in self._logged_at.items() if now < at + LOG_SECONDS
        } | {address: now}
        log.warning(
            "%s has %d connections: further ones are closed at once. Is it a proxy? Name it in "
            "CREW_TRUSTED_PROXIES; or raise CREW_MAX_CONNECTIONS_PER_ADDRESS",
            address,
            self.most_of_address,
        )

    def remove(self, address: str) -> None:
        """Remove a connection that has gone."""
        self.total -= 1
        self.of_address[address] -= 1
        if self.of_address[address] == 0:
            del self.of_address[address]


def bounded(settings: ServerSettings, refused: Count) -> Callable[..., "BoundedProtocol"]:
    """Return what makes the protocol of each connection; raises the limit of open files.

    Args:
        settings: of the server.
        refused: counts what is refused here, by its reason.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return partial(BoundedProtocol, OpenConnections(settings, hard, refused))


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, all_connections: OpenConnections, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.all_connections = all_connections
        self._address = ""
        self._is_too_many = False
        self._is_refused = False
        # of the request whose head is being received; None: of none
        self._head_bytes: int | None = None
        self._is_in_body = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        too_many = self.all_connections.add(self._address)
        if too_many is None:
            self._is_refused = True
            transport.abort()
            return
        self._is_too_many = too_many
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._stop_timer()
        self.all_connections.remove(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._is_refused:
            return
        is_idle = self.cycle is None or self.cycle.response_complete
        if self._head_bytes is None and is_idle and not self._is_in_body:
            self._begin_head()
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > MAX_URL_BYTES + MAX_HEADERS_BYTES:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """Handle the first byte of a request."""
        super().on_message_begin()
        if self._head_bytes is None:
            self._begin_head()

    def on_headers_complete(self) -> None:
        """Handle a complete head."""
        self._head_bytes = None
        self._stop_timer()
        size = sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) > MAX_URL_BYTES:
            self._refuse(414)
        elif size > MAX_HEADERS_BYTES:
            self._refuse(431)
        elif not self.url.startswith(b"/"):
            # another host's address, which the rest would not see
            self._refuse(400)
        elif self._is_too_many and self.url != HEALTH:
            self._refuse(BUSY)
        if not self._is_refused:
            self._is_in_body = True
            super().on_headers_complete()
            if self.scope["http_version"] == "1.0":
                cycle = self.cycle
                cycle.send = partial(_send_unchunked, cycle.send, cycle)  # type: ignore[method-assign] # of this one
            self._start_timer(BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        """Handle a part of the body."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle a complete request."""
        self._is_in_body = False
        self._stop_timer()
        if not self._is_refused:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read."""
        self._refuse(400)

    def _begin_head(self) -> None:
        self._head_bytes = 0
        self._start_timer(HEAD_SECONDS)

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._refuse, 408)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int) -> None:
        """Answer without the application, and close."""
        self._is_refused = True
        self._stop_timer()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self._is_in_body:
            # an answer has begun, or may
            self.transport.abort()
            return
        if self.transport.is_closing() or (status == 408 and not self._head_bytes):
            self.transport.close()
            return
        request_id = self._request_id()
        if status != BUSY:
            self.all_connections.refused.labels("malformed").inc()
        log.info(
            "refused with %d: %s",
            status,
            DETAILS[status],
            extra={"request_id": request_id, "client": self._address},
        )
        body = to_json(problem_document(HttpProblem(status, DETAILS[status])))
        reason = REASONS.get(status, "Service Unavailable")
        more = "retry-after: 5\r\n" if status == BUSY else ""
        more = f"{more}content-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
        more = f"{more}x-request-id: {request_id}\r\nconnection: close\r\n{HEADERS}"
        head = f"HTTP/1.1 {status} {reason}\r\n{more}\r\n"
        is_head = self.parser.get_method() == b"HEAD"
        self.transport.write(head.encode() + (b"" if is_head else body))
        # what still comes is read first: a reset would take the answer away from the client
        self.transport.write_eof()
        self._timer = self.loop.call_later(CLOSING_SECONDS, self.transport.close)

    def _request_id(self) -> str:
        """Return the refused request's id: the client's own, where that is valid and has come."""
        headers = self.headers or ()
        given = next((value for name, value in headers if name == b"x-request-id"), b"")
        text = given.decode("latin-1")
        return text if REQUEST_ID.fullmatch(text) else secrets.token_hex(8)


async def _send_unchunked(
    send: Callable[[Any], Awaitable[None]], cycle: RequestResponseCycle, message: Any
) -> None:
    """Send a part of an answer to a client of HTTP/1.0, which knows no chunks (RFC 9112, 6.1).

    An answer without a length ends with its connection.
    """
    if message["type"] == "http.response.start":
        names = {name.lower() for name, _ in message.get("headers", ())}
        # as uvicorn marks one that is not chunked
        cycle.chunked_encoding = None if b"content-length" in names else False
    elif cycle.chunked_encoding is False and not cycle.expected_content_length:
        cycle.expected_content_length = len(message.get("body", b""))
    await send(message)
