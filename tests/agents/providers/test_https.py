"""Addresses with https where no TLS is spoken."""

import asyncio

import pytest

from agents.errors import ModelError
from tests.agents.providers.test_connections import ask, model_at


async def test_https_where_http_is_spoken():
    """Says what to write: it is no matter of certificates."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "localhost", 0)
    async with server:
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
        async with model_at(url) as model:
            with pytest.raises(ModelError, match="write http://"):
                await ask(model)
