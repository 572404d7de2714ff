"""One endpoint's connections: requests and answers as bytes, over an aiohttp session of our own.

Through the openai package the same request takes three times as much CPU, and half a second more to
import. What it would send of itself is in `Connections`: the key, the content type.
"""

import contextlib
import importlib
import ipaddress
import ssl
import urllib.request
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from agents.dialects.by_name import Dialect
from agents.endpoint import Endpoint
from agents.errors import ModelError, ProviderError
from agents.providers.server_events import refuse_too_large
from tools.connector import KEEP_SECONDS, QuietConnector
from tools.loops import PerLoop
from tools.text.secrets import Secrets

CONNECT_SECONDS = 10.0
# One process may hold many runs; 0 would mean any number of sockets.
MAX_CONNECTIONS = 5000
# of the first line, and of each header
MAX_HEADER_BYTES = 2**16


class ModelConnections:
    """To one endpoint, kept open for all agents and runs."""

    def __init__(self, endpoint: Endpoint, dialect: Dialect, secrets: Secrets) -> None:
        """Nothing is connected yet.

        Args:
            endpoint: where.
            dialect: of its requests.
            secrets: gets the password of a proxy.

        Raises:
            ProviderError: the environment names a proxy of a kind that is not supported.
        """
        self.endpoint = endpoint
        self._url = URL(endpoint.url_of(dialect.path))
        self.proxy = _proxy_of(endpoint.base_url, secrets)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # it would have to be decompressed, which takes time
            "Accept-Encoding": "identity",
            "User-Agent": "crewline",
            **dialect.headers(endpoint.api_key),
        }
        own = {name.lower() for name, _ in endpoint.headers}
        self._headers = {
            **{name: text for name, text in self._headers.items() if name.lower() not in own},
            **dict(endpoint.headers),
        }
        self._session: PerLoop[aiohttp.ClientSession] = PerLoop(self._open)

    async def post(self, body: bytes) -> aiohttp.ClientResponse:
        """Ask for an answer.

        The answer is not read yet; its receiver must `release` it.

        Raises:
            aiohttp.ClientError: there is none.
            ModelError: it is compressed, or too large; or the environment names no certificates.
        """
        # another host must not get the conversation and the headers
        response = await self._session.get().post(
            self._url, data=aiohttp.BytesPayload(body), allow_redirects=False
        )
        try:
            refuse_too_large(response.headers)
        except ModelError:
            response.close()
            raise
        return response

    def certificates(self) -> ssl.SSLContext | None:
        """Return what certificates are checked with; None for http. Takes 20 to 100 ms.

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
        seconds = min(CONNECT_SECONDS, self.endpoint.timeout_seconds)
        return aiohttp.ClientSession(
            connector=QuietConnector(
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

    async def aclose(self) -> None:
        """Close the connections."""
        session = self._session.take()
        if session is not None:
            await session.close()


def _certificates() -> ssl.SSLContext:
    """Load the authorities that the openai package trusts."""
    # takes its time to import, and is not needed for http:
    context: ssl.SSLContext = importlib.import_module("httpx2").create_ssl_context()
    return context


def _is_left_out(host: str | None, names: str) -> bool:
    """Return whether NO_PROXY names a host in a form that urllib does not read.

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
    """Return the proxy that the environment names for an endpoint, as it does now."""
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
