"""Programs that are told by HTTP and by SMTP."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Told:
    """One request that a receiver had."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """An HTTP server in threads; answers with `statuses` in turn, then with 200."""

    port: int = 0
    told: list[Told] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def at(self, path: str) -> list[Told]:
        return [one for one in self.told if one.path == path]


@contextmanager
def receiver(port: int = 0, *statuses: int) -> Iterator[Receiver]:
    made = Receiver(statuses=list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.told.append(Told(self.path, headers, body))
            status = made.statuses.pop(0) if made.statuses else 200
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        made.port = server.server_port
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


@dataclass
class Mailbox:
    """An SMTP server; of each email who sends, to whom, and its text."""

    port: int = 0
    emails: list[tuple[str, list[str], str]] = field(default_factory=list)


@asynccontextmanager
async def smtp_server(
    user: str = "", password: str = "", **listening: Any
) -> AsyncIterator[Mailbox]:
    """Takes what is sent, from this user alone where one is given; `listening`: of start_server."""
    mailbox = Mailbox()
    wanted = base64.b64encode(f"\0{user}\0{password}".encode()).decode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sender, to, known = "", [], not user
        writer.write(b"220 here\r\n")
        while line := (await reader.readline()).decode().strip():
            verb = line.upper()
            if verb.startswith("EHLO"):
                writer.write(b"250-here\r\n250 AUTH PLAIN\r\n")
            elif verb.startswith("AUTH PLAIN"):
                known = line.split()[2] == wanted
                writer.write(b"235 ok\r\n" if known else b"535 no\r\n")
            elif verb == "QUIT":
                writer.write(b"221 bye\r\n")
            elif not known:
                writer.write(b"530 who are you\r\n")
            elif verb.startswith("MAIL FROM:"):
                sender = line[10:].split(">")[0].strip("<")
                writer.write(b"250 ok\r\n")
            elif verb.startswith("RCPT TO:"):
                to.append(line[8:].strip("<>"))
                writer.write(b"250 ok\r\n")
            elif verb == "DATA":
                writer.write(b"354 go on\r\n")
                text = (await reader.readuntil(b"\r\n.\r\n")).decode()
                mailbox.emails.append((sender, to, text))
                writer.write(b"250 ok\r\n")
            else:
                writer.write(b"250 ok\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **listening)
    mailbox.port = server.sockets[0].getsockname()[1]
    async with server:
        yield mailbox
