"""Requests to an application of this process: pieces as they come, and nothing that is left behind."""

import asyncio
from typing import Any

import httpx2
import pytest

from server.cli.served.in_process import InProcessTransport


def client_of(app: Any) -> httpx2.AsyncClient:
    transport = InProcessTransport(app, ("local", 0))
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def begin(send: Any, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})


async def test_pieces_come_before_the_answer_is_whole():
    goes_on = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await begin(send)
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await goes_on.wait()
        await send({"type": "http.response.body", "body": b"two"})

    async with client_of(app) as client, client.stream("GET", "/") as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"one"
        goes_on.set()
        assert await anext(pieces) == b"two"


@pytest.mark.parametrize("begins", [False, True])
async def test_an_error_of_the_application_is_raised(begins: bool):
    """It is no whole answer."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if begins:
            await begin(send)
            await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise LookupError("gone")

    async with client_of(app) as client:
        with pytest.raises(LookupError, match="gone"):
            await client.get("/")


async def test_who_leaves_ends_the_request():
    """Before an answer has begun, and in the middle of one."""
    ended: list[str] = []
    waits = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
            if scope["path"] == "/begun":
                await begin(send)
                await send({"type": "http.response.body", "body": b"one", "more_body": True})
                assert (await receive())["type"] == "http.disconnect"
            else:
                waits.set()
                await asyncio.Event().wait()
        finally:
            ended.append(scope["path"])

    async with client_of(app) as client:
        async with client.stream("GET", "/begun") as answer:
            assert await anext(answer.aiter_raw()) == b"one"
        asking = asyncio.ensure_future(client.get("/not"))
        await waits.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert ended == ["/begun", "/not"]
