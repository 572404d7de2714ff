"""An HTTP client: each of its connections leads to an address that its tools may reach."""

import asyncio
import socket
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from tools.connector import KEEP_SECONDS, QuietConnector
from tools.context import ToolContext
from tools.kinds.http.addresses import Allowance

# RFC 9112 names no limits
MAX_LINE_BYTES = 8192
MAX_HEADERS = 128
MAX_CONNECTIONS = 100


class CheckingResolver(AbstractResolver):
    """The system's resolver; a name is refused if one of its addresses is."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Resolve the addresses of a name.

        Raises:
            OSError: it has none.
            DeniedError: one of them must not be connected to.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
        results = [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]
        addresses = [ip_address(result["host"]) for result in results]
        self._allowance.require_resolved(host, addresses)
        return results

    async def close(self) -> None:
        """Do nothing: nothing is held."""


def make_session(allowance: Allowance) -> aiohttp.ClientSession:
    """Make a pool of connections."""

    def make_socket(address: Any) -> socket.socket:
        # the last word: what is connected to, wherever the address came from
        kind, type_, protocol, _, place = address
        allowance.require_address(ip_address(place[0]), place[0])
        made = socket.socket(kind, type_, protocol)
        made.setblocking(False)
        return made

    connector = QuietConnector(
        resolver=CheckingResolver(allowance),
        # what a name stands for now counts
        use_dns_cache=False,
        socket_factory=make_socket,
        keepalive_timeout=KEEP_SECONDS,
        limit=MAX_CONNECTIONS,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        # what one answer sets must not go out with another call
        cookie_jar=aiohttp.DummyCookieJar(),
        # the deadline of the call counts
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        # bounded by the one who reads
        auto_decompress=False,
        # no proxies, no .netrc
        trust_env=False,
        skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
        requote_redirect_url=False,
        max_line_size=MAX_LINE_BYTES,
        max_field_size=MAX_LINE_BYTES,
        max_headers=MAX_HEADERS,
        trace_configs=[_tracing()],
    )
    # a request that may have arrived is never sent again by the client
    session._retry_connection = False  # noqa: SLF001 # it has no other door
    return session


def _tracing() -> aiohttp.TraceConfig:
    async def tell_sent(
        session: aiohttp.ClientSession,
        place: SimpleNamespace,
        params: aiohttp.TraceRequestHeadersSentParams,
    ) -> None:
        context = place.trace_request_ctx
        assert isinstance(context, ToolContext), "each request is given one"
        context.note(sent=True)

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(tell_sent)
    return tracing
