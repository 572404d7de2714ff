"""The SDK's HTTP client over ours, which checks each address that it connects to.

A failure is an answer here: an exception would end all calls of the connection, not only its own.
"""

import json
import re
from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp
import httpx2
from yarl import URL

from tools.context import ToolContext
from tools.errors import PermanentError
from tools.kinds.http.client import make_session
from tools.kinds.mcp.plan import Address
from tools.text.server_words import MAX_WORDS, words_of

# of our own, above those that JSON-RPC and MCP use
NOT_REACHED = -31001
SESSION_GONE = -31002
REFUSED = -31003
UNKNOWN_SESSION = "the server does not know the session"
# how servers say it that were started anew, beside the 404 of the protocol
ABOUT_SESSION = re.compile(
    r"(?:no valid|invalid|missing|unknown|expired|not found|terminated|does not exist)[^.]{0,40}"
    r"session|session[^.]{0,40}(?:not found|invalid|missing|unknown|expired|terminated"
    r"|does not exist|not exist|not initialized)",
    re.IGNORECASE,
)
FORBIDDEN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
# of an answer that is an error
MAX_ERROR_BYTES = 2**16
SESSION = "mcp-session-id"
# a POST's whole answer is JSON, or a stream of events
JSON_TYPE = "application/json"


class AddressTransport(httpx2.AsyncBaseTransport):
    """Requests to one address."""

    def __init__(self, plan: Address, max_bytes: int) -> None:
        self._plan, self._max_bytes = plan, max_bytes
        self._session = make_session(plan.allowance)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; where it fails, the answer says so."""
        # whether anything has gone out
        context = ToolContext()
        context.begin_sending()
        try:
            return await self._send(request, context)
        except (aiohttp.ClientError, OSError, PermanentError) as error:
            reason = str(error) or type(error).__name__
            text = f"{self._plan.host}: {reason}"
            return _failure(NOT_REACHED, text, sent=context.facts["sent"] is True)

    async def _send(self, request: httpx2.Request, context: ToolContext) -> httpx2.Response:
        target = request.url
        self._plan.allowance.require_host(target.host)
        response = await self._session.request(
            request.method,
            URL(str(target), encoded=True),
            headers={**dict(request.headers), "Accept-Encoding": "identity"},
            data=await request.aread(),
            allow_redirects=False,
            trace_request_ctx=context,
        )
        has_session = SESSION in request.headers
        if response.status == HTTPStatus.NOT_FOUND and has_session:
            response.close()
            return _failure(SESSION_GONE, UNKNOWN_SESSION, sent=False)
        is_call = b'"tools/call"' in await request.aread()
        if response.status in FORBIDDEN or (response.status >= HTTPStatus.BAD_REQUEST and is_call):
            return await self._refused(response, has_session=has_session)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            # which it was not asked for; how much it is would not be known
            response.close()
            raise PermanentError("the answer is compressed")
        headers = [(key.encode(), value.encode()) for key, value in response.headers.items()]
        is_whole = response.content_type == JSON_TYPE
        stream = _Answer(response, self._max_bytes if is_whole else None)
        return httpx2.Response(response.status, headers=headers, stream=stream)

    async def _refused(
        self, response: aiohttp.ClientResponse, *, has_session: bool
    ) -> httpx2.Response:
        """Return what an answer says that is an error: its status and its words."""
        body = (await response.content.read(MAX_ERROR_BYTES)).decode(errors="replace")
        status, reason = response.status, response.reason or ""
        response.close()
        words = words_of(body, reason)
        if has_session and status == HTTPStatus.BAD_REQUEST and is_about_session(words):
            return _failure(SESSION_GONE, UNKNOWN_SESSION, sent=False)
        text = f"{self._plan.host} answered {status}: {words[:MAX_WORDS]}"
        return _failure(REFUSED, text, sent=status not in FORBIDDEN)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


def is_about_session(words: str) -> bool:
    """Return whether an error says that the server does not know the session."""
    return ABOUT_SESSION.search(words) is not None


def _failure(code: int, message: str, *, sent: bool) -> httpx2.Response:
    """Return an answer that says that there is none."""
    told = {"code": code, "message": message, "data": {"sent": sent}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": told}).encode()
    return httpx2.Response(502, headers={"Content-Type": JSON_TYPE}, content=body)


class _Answer(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, response: aiohttp.ClientResponse, max_bytes: int | None) -> None:
        self._response, self._max_bytes = response, max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Its parts as they come; raises StreamError."""
        count = 0
        try:
            async for chunk in self._response.content.iter_any():
                count += len(chunk)
                if self._max_bytes is not None and count > self._max_bytes:
                    raise httpx2.StreamError(f"more than {self._max_bytes >> 10} KB")
                yield chunk
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise httpx2.StreamError(str(error) or type(error).__name__) from error

    async def aclose(self) -> None:
        """Let go of the connection."""
        self._response.close()
