"""Requests to an application of this process; what it answers comes in pieces, as it is sent."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from starlette.applications import Starlette


class InProcessTransport(httpx2.AsyncBaseTransport):
    """Sends requests to an application.

    httpx2's own transport gives an answer only when it is whole, which a stream of a run is not
    before the run has ended.
    """

    def __init__(self, app: Starlette, client: tuple[str, int]) -> None:
        """Send nothing yet.

        Args:
            app: answers.
            client: the address from which requests come, and its port.
        """
        self._app, self._client = app, client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises what the application raises before its answer begins."""
        exchange = _Exchange(await request.aread())
        url = request.url
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(key.lower(), value) for key, value in request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port),
            "client": self._client,
            "root_path": "",
        }
        exchange.task = asyncio.create_task(
            self._app(scope, exchange.receive, exchange.send)  # type: ignore[arg-type]
        )
        beginning = asyncio.ensure_future(exchange.begun.wait())
        try:
            await asyncio.wait({beginning, exchange.task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            exchange.task.cancel()
            raise
        finally:
            beginning.cancel()
        if not exchange.begun.is_set():
            await exchange.task
        return httpx2.Response(exchange.status, headers=exchange.headers, stream=exchange)


class _Exchange(httpx2.AsyncByteStream):
    """One request, and the answer to it."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._has_left, self.begun = asyncio.Event(), asyncio.Event()
        self.status, self.headers = 500, list[tuple[bytes, bytes]]()
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> dict[str, Any]:
        """Return the body, and then that the client has left, when it has."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Take what the application answers."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], message.get("headers", [])
            self.begun.set()
            return
        self._pieces.put_nowait(message.get("body", b""))
        if not message.get("more_body"):
            self._pieces.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the answer."""
        assert self.task is not None, "it was begun"
        self.task.add_done_callback(lambda _: self._pieces.put_nowait(None))
        while (piece := await self._pieces.get()) is not None:
            yield piece
        # raises what the application has raised behind the beginning of its answer
        await self.task

    async def aclose(self) -> None:
        """End the exchange: the client has what it wants."""
        self._has_left.set()
        if self.task is not None:
            await asyncio.gather(self.task, return_exceptions=True)
