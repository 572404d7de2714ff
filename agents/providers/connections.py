"""One endpoint's connections: requests and answers as bytes, over an aiohttp session of our own.

Through the openai package the same request takes three times as much CPU, and half a second more to
import. What it would send of itself is in `Connections`: the key, the content type.
"""

import asyncio
import contextlib
import importlib
import ipaddress
import ssl
import urllib.request
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from agents.endpoint import Endpoint
from agents.errors import ModelError, ProviderError
from tools.clock import Clock
from tools.secrets import Secrets

PATH = "/chat/completions"
CONNECT_SECONDS = 10.0
# servers close an idle connection after 5 s and more; a request must not meet that
KEEP_SECONDS = 4.0
# One process may hold many runs; 0 would mean any number of sockets.
MAX_CONNECTIONS = 5000
# of an answer that comes at once
MAX_ANSWER_BYTES = 8 * 2**20
# of all events of a streamed one: a few characters come in some hundred bytes
MAX_STREAM_BYTES = 512 * 2**20
MAX_EVENT_BYTES = 4 * 2**20
# of the first line, and of each header
MAX_HEADER_BYTES = 2**16
# how long the end of a stream may come behind its last event: its connection is used again then
END_SECONDS = 0.05


class Connections:
    """To one endpoint, kept open for all agents and runs."""

    def __init__(self, endpoint: Endpoint, secrets: Secrets) -> None:
        """Nothing is connected yet.

        Args:
            endpoint: where.
            secrets: gets the password of a proxy.

        Raises:
            ProviderError: the environment names a proxy of a kind that is not spoken.
        """
        self.endpoint = endpoint
        self._url = URL(endpoint.base_url.rstrip("/") + PATH)
        self.proxy = _proxy_of(endpoint.base_url, secrets)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # a small compressed answer may be a very large one
            "Accept-Encoding": "identity",
            "User-Agent": "crewline",
        }
        if endpoint.api_key:
            self._headers["Authorization"] = f"Bearer {endpoint.api_key}"
        own = {name.lower() for name, _ in endpoint.headers}
        self._headers = {
            **{name: text for name, text in self._headers.items() if name.lower() not in own},
            **dict(endpoint.headers),
        }
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, body: bytes) -> aiohttp.ClientResponse:
        """Ask for a chat completion.

        The answer is not read yet; whoever takes it must `release` it.

        Raises:
            aiohttp.ClientError: there is none.
            ModelError: it is compressed, or too large; or the environment names no certificates.
        """
        # another host must not get the conversation and the headers
        response = await self._open().post(
            self._url, data=aiohttp.BytesPayload(body), allow_redirects=False
        )
        try:
            refuse_too_large(response.headers)
        except ModelError:
            response.close()
            raise
        return response

    def certificates(self) -> ssl.SSLContext | None:
        """What certificates are checked with; None for http. Takes 20 to 100 ms.

        Raises:
            ModelError: the environment names what cannot be read.
        """
        if self._url.scheme != "https":
            return None
        try:
            return _certificates()
        except OSError as error:
            text = f"SSL_CERT_FILE or SSL_CERT_DIR names what cannot be read: {error}"
            raise ModelError("connection", text) from error

    def _open(self) -> aiohttp.ClientSession:
        """The session of this event loop: a program may use a crew in one after the other."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            seconds = min(CONNECT_SECONDS, self.endpoint.timeout_seconds)
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=MAX_CONNECTIONS,
                    keepalive_timeout=KEEP_SECONDS,
                    ssl=self.certificates() or True,
                ),
                headers=self._headers,
                proxy=self.proxy,
                # a whole answer has the time that its request has; a single read has no limit
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                # gateways add long policies and traces
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
                # it would be read for each request, in a thread
                trust_env=False,
            )
        return self._session

    async def aclose(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()


async def read_whole(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer; raises ModelError where it is too large."""
    pieces, size = [], 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise _too_large("the answer", MAX_ANSWER_BYTES)
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def read_end(response: aiohttp.ClientResponse, clock: Clock) -> None:
    """Read what is left of a stream whose last event has come: nothing, as a rule, or its end."""
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with clock.timeout(END_SECONDS):
            while await response.content.readany():
                continue


class EventData:
    """The data of each server-sent event of a stream that comes in pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that a piece completes; raises ModelError where it is too much."""
        self._size += len(piece)
        if self._size > MAX_STREAM_BYTES:
            raise _too_large("the answer", MAX_STREAM_BYTES)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            raise _too_large("an event of the answer", MAX_EVENT_BYTES)
        found = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        return [data for data in found if data]


def _certificates() -> ssl.SSLContext:
    """With the authorities that the openai package trusts."""
    # takes its time to import, and is not needed for http:
    context: ssl.SSLContext = importlib.import_module("httpx2").create_ssl_context()
    return context


def refuse_too_large(headers: Mapping[str, str]) -> None:
    """Also of errors: before any of the body is read. Raises ModelError."""
    coding = headers.get("content-encoding", "")
    if coding.lower() not in ("", "identity"):
        raise ModelError("unreadable", f"the answer is compressed ({coding[:40]}), unasked")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_ANSWER_BYTES:
        raise _too_large("the answer", MAX_ANSWER_BYTES)


def _too_large(what: str, most: int) -> ModelError:
    return ModelError("unreadable", f"{what} is larger than {most >> 20} MiB")


def _is_left_out(host: str | None, names: str) -> bool:
    """Whether NO_PROXY names a host in a form that urllib does not read.

    That is a network (10.0.0.0/8), an IPv6 address, or *.example.com.
    """
    for name in names.lower().replace(" ", "").split(","):
        if name.startswith("*.") and (host or "").endswith(name[1:]):
            return True
        with contextlib.suppress(ValueError):
            network = ipaddress.ip_network(name.strip("[]"), strict=False)
            if ipaddress.ip_address(host or "") in network:
                return True
    return False


def _proxy_of(base_url: str, secrets: Secrets) -> str | None:
    """The proxy that the environment names for an endpoint, as it does now."""
    url = urlsplit(base_url)
    known = urllib.request.getproxies()
    if urllib.request.proxy_bypass(url.netloc) or _is_left_out(url.hostname, known.get("no", "")):
        return None
    found = known.get(url.scheme) or known.get("all")
    if not found:
        return None
    proxy = urlsplit(found if "://" in found else f"http://{found}")
    if proxy.scheme not in ("http", "https"):
        raise ProviderError(
            f"the proxy for {url.scheme}://{url.hostname} is one of {proxy.scheme}, which is not "
            "spoken: set HTTPS_PROXY to one of http, or NO_PROXY to leave it out"
        )
    if proxy.password:
        secrets.add(proxy.password)
    return proxy.geturl()
