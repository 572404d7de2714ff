"""`/mcp`: the crew as an MCP server over HTTP, on any replica, without sessions.

The SDK is imported with the first request: it takes half a second, and most servers get none.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from crew.runs.runs import Runs
from server.http.callers.rights import caller_of, require
from server.http.door import Door
from server.http.errors import HttpProblem
from server.http.reading import read_bounded
from server.http.responses import JsonResponse
from server.http.services import services_of

PATH = "/mcp"
SENT = ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name")
# what each tool needs is looked at when it is called
WHO_MAY = frozenset({"run", "read", "answer"})
SDK = "mcp.server.streamable_http_manager"


def open_mcp() -> Door:
    """Return the door of MCP."""
    transport = Transport()
    # without sessions nothing ever comes on a stream that a client opens
    routes = [Route(PATH, transport, methods=["POST"])]
    return Door("mcp", routes, (PATH,), refuse_mcp, headers=SENT, run=transport.run)


def refuse_mcp(problem: HttpProblem, path: str) -> Response:
    """Return a problem that came before the request was read, as JSON-RPC has it."""
    code = -32600 if problem.status < 500 else -32603
    if any(field == "body" for field, _ in problem.errors):
        # it is no JSON, or none within its bounds
        code = -32700
    error = {"code": code, "message": problem.detail}
    document = {"jsonrpc": "2.0", "id": None, "error": error}
    return JsonResponse(document, problem.status, headers=dict(problem.headers or {}))


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read, and then what comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


class Transport:
    """An ASGI application with the SDK's transport, from the first request on."""

    def __init__(self) -> None:
        self._serving: asyncio.Task[None] | None = None
        self._manager: asyncio.Future[Any] | None = None
        self._over = asyncio.Event()

    @asynccontextmanager
    async def run(self, app: Starlette) -> AsyncIterator[None]:
        """Serve, for as long as the application does."""
        try:
            yield
        finally:
            self._over.set()
            if self._serving is not None:
                await asyncio.wait({self._serving})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the transport."""
        request = Request(scope, receive)
        try:
            if not WHO_MAY & caller_of(request).scopes:
                require(request, "read")
            body = await read_bounded(request, services_of(request).settings)
        except HttpProblem as problem:
            await refuse_mcp(problem, PATH)(scope, receive, send)
            return
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            # its own task: what the SDK enters must be left by the same one
            self._serving = asyncio.create_task(self._serve(services_of(request).runs))
        manager = await asyncio.shield(self._manager)
        # white space around a value is none of it (RFC 9110, 5.5); the HTTP parser leaves it there
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await manager.handle_request({**scope, "headers": headers}, _again(body, receive), send)

    async def _serve(self, runs: Runs) -> None:
        assert self._manager is not None, "a request waits for it"
        try:
            sdk = await asyncio.to_thread(importlib.import_module, SDK)
            access = await asyncio.to_thread(importlib.import_module, "server.protocols.mcp.access")
            # who may call from where is checked before
            manager = sdk.StreamableHTTPSessionManager(access.http_server(runs), stateless=True)
            async with manager.run():
                self._manager.set_result(manager)
                await self._over.wait()
        except BaseException as error:
            if not self._manager.done():
                self._manager.set_exception(error)
                # the next request tries again
                self._manager = None
            raise
