"""Clients that send too much, too slowly, or nothing, while others are served."""

import contextlib
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.processes import ServerProcess, client, serving, until
from tests.support.served_crew import crew

pytestmark = pytest.mark.timeout(120)


def connect(server: ServerProcess, data: bytes = b"") -> socket.socket:
    parts = urlsplit(server.url)
    made = socket.create_connection((parts.hostname, parts.port), timeout=60)
    made.sendall(data)
    return made


def answer(server: ServerProcess, data: bytes) -> str:
    """What comes until the server closes the connection."""
    with connect(server, data) as made, made.makefile("rb") as received:
        return received.read().decode()


def request(server: ServerProcess, target: str = "/api/crew", more: bytes = b"") -> bytes:
    host = urlsplit(server.url).netloc
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
    return head.encode() + more + b"\r\n"


def test_a_head_is_bounded(tmp_path: Path):
    """16 KiB of headers, 64 KiB of URL; also where it never ends."""
    with serving(crew(tmp_path)) as server:
        assert answer(server, request(server, more=b"X: " + b"x" * 15_000 + b"\r\n")).startswith(
            "HTTP/1.1 200"
        )
        for data in (
            request(server, more=b"X: " + b"x" * 17_000 + b"\r\n"),
            request(server, more=b"".join(b"X%d: x\r\n" % n for n in range(3_000))),
            b"GET / HTTP/1.1\r\nX: " + b"x" * 150_000,
            b"\r\n" * 75_000,
        ):
            assert answer(server, data).startswith("HTTP/1.1 431"), data[:50]


def test_a_url_is_bounded(tmp_path: Path):
    """What is longer goes by POST."""
    with serving(crew(tmp_path)) as server:
        long = answer(server, request(server, "/api/crew?x=" + "x" * 65_535))
        assert long.startswith("HTTP/1.1 414")


def test_the_address_of_another_host_is_refused(tmp_path: Path):
    """As a proxy would be asked."""
    with serving(crew(tmp_path)) as server:
        refused = answer(server, request(server, "http://evil.example/api/crew"))
        assert refused.startswith("HTTP/1.1 400")


def test_idle_and_slow_clients_hold_up_nobody(tmp_path: Path):
    """500 that send nothing and 500 that stop in the middle: runs go on, and they are sent away."""
    with serving(crew(tmp_path)) as server, client(server) as http, ExitStack() as stack:
        parts = (b"", b"GET /api/crew HT", b"POST /api/crew/run HTTP/1.1\r\nHost: x\r\nX: ")
        made = [stack.enter_context(connect(server, parts[n % 3])) for n in range(990)]
        for _ in range(20):
            assert http.post("/api/crew/run", json={"query": "more"}).status_code == 200
        # they are closed by the server, not by us
        received = [one.recv(1000) for one in made]
        assert {data[:12] for data in received} == {b"", b"HTTP/1.1 408"}


def test_a_body_that_does_not_come_is_given_up(tmp_path: Path):
    """A connection whose body never ends is closed; others are answered."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        host = urlsplit(server.url).netloc
        head = f"POST /api/crew/run HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{"
        with connect(server, head.encode()) as made:
            assert http.get("/health").status_code == 200
            # else the read times out
            with contextlib.suppress(ConnectionResetError):
                assert made.recv(1000) == b""


def test_too_many_connections_are_refused(tmp_path: Path):
    """With a 503, but for the probe; those of one address are closed; then it goes on."""
    limits = {"CREW_MAX_CONNECTIONS": "50", "CREW_MAX_CONNECTIONS_PER_ADDRESS": "60"}
    with serving(crew(tmp_path), **limits) as server:
        with ExitStack() as stack:
            for _ in range(50):
                stack.enter_context(connect(server))
            assert answer(server, request(server)).startswith("HTTP/1.1 503")
            assert answer(server, request(server, "/health")).startswith("HTTP/1.1 200")
            for _ in range(10):
                stack.enter_context(connect(server))
            with pytest.raises((ConnectionError, AssertionError)):
                assert answer(server, request(server, "/health"))
        until(lambda: answer(server, request(server)).startswith("HTTP/1.1 200"))
        assert "there are 50 connections" in server.log.read_text()
