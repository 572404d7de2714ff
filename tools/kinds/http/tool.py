"""One call of an HTTP tool: send, follow what may be followed, read the answer."""

import time
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import aiohttp
from aiohttp import http_exceptions
from yarl import URL

from tools.config.http import SAFE_METHODS, HttpTool
from tools.context import ToolContext
from tools.definition import Effect, Reach, Tool
from tools.errors import PermanentError, TemporaryError
from tools.kinds.http.addresses import Allowance, DeniedError, port_of, require_port
from tools.kinds.http.answer import KIB, body_text, part_of, read_body
from tools.kinds.http.connections import Connections
from tools.kinds.http.request import Request, RequestPlan
from tools.limits.waits import wait_in_headers
from tools.schemas.places import names_in, own_parameters, require_places
from tools.schemas.schema import JsonSchema
from tools.text.secrets import SECRET_HEADER

MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEP_METHOD = frozenset({307, 308})
# of an answer that is an error
ERROR_CHARS = 2000


def http_tool(name: str, config: HttpTool, connections: Connections) -> Tool:
    """Return the tool that an entry of kind http describes.

    Args:
        name: the tool's.
        config: its entry.
        connections: of all HTTP tools of a crew.

    Raises:
        ToolDefinitionError: no request can be made from it.
    """
    plan = RequestPlan(config)
    schema = JsonSchema(config.parameters or own_parameters(plan.places))
    require_places(plan.places, names_in(config.url), schema.parameters)
    plan.require_sendable(schema.parameters)
    own_effect: Effect = "read" if config.method in SAFE_METHODS else "once"
    call = _HttpCall(plan, connections)
    return Tool(
        name=name,
        description=config.description or f"{config.method} {config.url}",
        parameters=schema.parameters,
        act=call,
        check=schema.check,
        timeout_seconds=config.timeout_seconds,
        retries=config.retries,
        effect=config.effect or own_effect,
        approval=config.approval,
        reach=Reach("http", hosts=(plan.origin, *config.redirects)),
        show=plan.show,
        close=connections.close,
    )


class _HttpCall:
    """What an HTTP tool does."""

    def __init__(self, plan: RequestPlan, connections: Connections) -> None:
        config = plan.entry
        self.plan, self.entry, self.connections = plan, config, connections
        self.allowance = Allowance.of(config.allow_private)

    async def __call__(self, arguments: dict[str, Any], context: ToolContext) -> str:
        """Make a call.

        Raises:
            ArgumentsError: an argument cannot stand in its place.
            ConnectionError: the server was not reached, or did not answer to the end.
            TemporaryError: it asks for another attempt.
            PermanentError: it may not be reached, or its answer is none of those expected.
        """
        request = self.plan.build(arguments, context.key, context.traceparent)
        context.begin_sending()
        try:
            return await self._follow(request, context)
        except DeniedError as error:
            context.note(denied=error.why)
            raise
        except aiohttp.ClientConnectorCertificateError as error:
            raise PermanentError(f"{self.plan.origin}: {error}") from error
        except (aiohttp.ClientResponseError, http_exceptions.HttpProcessingError) as error:
            reason = " ".join(str(error.message).split())[:200]
            raise PermanentError(f"what {self.plan.origin} sent is no HTTP: {reason}") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise ConnectionError(f"{self.plan.origin}: {reason}") from error

    async def _follow(self, request: Request, context: ToolContext) -> str:
        session: aiohttp.ClientSession = self.connections.session(self.allowance)
        for _ in range(MAX_REDIRECTS + 1):
            target = urlsplit(request.url)
            self._require_target(target)
            async with session.request(
                request.method,
                URL(request.url, encoded=True),
                headers={"Accept-Encoding": "identity", **request.headers},
                data=request.body,
                allow_redirects=False,
                trace_request_ctx=context,
            ) as response:
                context.note(http_status=response.status)
                redirected = self._redirected(request, target, response)
                if redirected is None:
                    return await self._read(response)
            request = redirected
        raise PermanentError(f"{self.plan.origin} redirects more than {MAX_REDIRECTS} times")

    def _require_target(self, target: SplitResult) -> None:
        """Raise DeniedError where a URL must not be requested."""
        host = target.hostname or ""
        require_port(target, self.plan.port)
        self.allowance.require_host(host)

    def _redirected(
        self, request: Request, target: SplitResult, response: aiohttp.ClientResponse
    ) -> Request | None:
        """Return the request that a redirect asks for; None if this is none.

        Raises:
            PermanentError: it is one that may not be followed.
        """
        place = response.headers.get("Location")
        if response.status not in REDIRECTS or place is None:
            return None
        try:
            url = urlsplit(urljoin(request.url, place))
            host, port = url.hostname or "", port_of(url)
        except ValueError:
            raise PermanentError(f"{self.plan.origin} redirects to what is no URL") from None
        if url.scheme not in ("http", "https") or host not in self.entry.redirects:
            text = f"{self.plan.origin} redirects to {url.scheme}://{host}"
            raise PermanentError(f"{text}; `redirects: [{host}]` can allow it")
        if "@" in url.netloc:
            raise PermanentError(f"{self.plan.origin} redirects to a URL with a user")
        headers, method, body = request.headers, request.method, request.body
        if (url.scheme, host, port) != (target.scheme, target.hostname, port_of(target)):
            headers = {k: v for k, v in headers.items() if _is_for_all(k)}
        if response.status not in KEEP_METHOD and method not in SAFE_METHODS:
            method, body = "GET", None
            headers = {k: v for k, v in headers.items() if k.lower() != "content-type"}
        return Request(method, url._replace(fragment="").geturl(), headers, body)

    async def _read(self, response: aiohttp.ClientResponse) -> str:
        """Return an answer as text.

        Raises:
            TemporaryError: it asks for another attempt.
            PermanentError: it is none of those expected, or cannot be read.
        """
        config, status = self.entry, response.status
        coding = ", ".join(response.headers.getall("Content-Encoding", ()))
        chunks = response.content.iter_chunked(64 * KIB)
        body = await read_body(chunks, coding, config.max_response_kb * KIB)
        given = response.headers.get("Content-Type", "")
        text = body_text(body, response.content_type if given else "", response.charset)
        expected = config.expect.status
        if status in expected if expected is not None else 200 <= status < 300:
            if config.expect.pointer:
                return part_of(text, config.expect.pointer)
            return text or f"[HTTP {status} {response.reason}, no content]"
        shown = f"HTTP {status} {response.reason}: {text[:ERROR_CHARS]}".rstrip(": ")
        if status in config.retry_status:
            after = wait_in_headers(response.headers, time.time(), status)
            raise TemporaryError(shown, after_seconds=after or 0.0)
        raise PermanentError(shown)


def _is_for_all(header: str) -> bool:
    """Return whether a header may go to another host too."""
    return header.lower() == "idempotency-key" or SECRET_HEADER.search(header) is None
