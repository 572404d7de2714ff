"""A TCP server that says exactly what a test gives it, and keeps what it was told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Speak = Callable[[asyncio.StreamWriter, bytes], Awaitable[None]]


@dataclass
class RawServer:
    """A server that runs."""

    port: int = 0
    # each as it came: request line, headers, body
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    # ends it before the test does
    close: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def heads(self) -> list[str]:
        """The request line and headers of each request."""
        return [request.partition(b"\r\n\r\n")[0].decode("latin-1") for request in self.requests]

    def header(self, name: str, request: int = -1) -> str | None:
        """A header of a request."""
        for line in self.heads()[request].split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None


def says(data: bytes) -> Speak:
    """Answers each request with the same bytes."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(data)

    return speak


def answer(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """An answer in good order."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


@asynccontextmanager
async def raw_server(
    speak: Speak | bytes = b"", host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[RawServer]:
    """A server on a port of its own; after bytes without a length it closes the connection."""
    server = RawServer()
    act = says(speak) if isinstance(speak, bytes) else speak

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = b""
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        body = await reader.readexactly(int(line.partition(b":")[2]))
                server.requests.append(head + body)
                await act(writer, head + body)
                await writer.drain()
                if isinstance(speak, bytes) and b"Content-Length" not in speak:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, host, port)
    server.close = listening.close
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
