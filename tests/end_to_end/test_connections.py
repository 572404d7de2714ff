"""Clients that send too much, too slowly, or nothing, while others are served."""

import contextlib
import json
import re
import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.processes import ServerProcess, admitted, client, serving, until
from tests.support.served_crew import crew


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


def test_clients_that_drip_hold_up_nobody(tmp_path: Path):
    """500 that send nothing, 500 that send a byte at a time of a head or a body: none keeps its place."""
    limits = {"CREW_MAX_CONNECTIONS_PER_ADDRESS": "2000"}
    with serving(crew(tmp_path), **limits) as server, client(server) as http, ExitStack() as stack:
        host = urlsplit(server.url).netloc
        body = f"POST /api/crew/run HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5000\r\n\r\n{{"
        heads = [stack.enter_context(connect(server, b"GET /x")) for _ in range(400)]
        bodies = [stack.enter_context(connect(server, body.encode())) for _ in range(100)]
        idle = [stack.enter_context(connect(server)) for _ in range(500)]
        dripping = {*heads, *bodies}
        while dripping:
            # the sending is what keeps a connection whose time begins anew with each byte; a busy
            # machine may refuse a run beside a hundred that are about to begin
            ask = partial(http.post, "/api/crew/run", json={"query": "more"})
            assert admitted(ask).status_code == 200
            for one in list(dripping):
                try:
                    one.sendall(b"x")
                except (BrokenPipeError, ConnectionResetError):
                    dripping.discard(one)
        assert {one.recv(1000) for one in idle} == {b""}


def test_a_client_that_leaves_is_no_mistake_of_ours(tmp_path: Path):
    """In the middle of its body: one line in the access log, no traceback."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        host = urlsplit(server.url).netloc
        head = f"POST /api/crew/run HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{"
        connect(server, head.encode()).close()
        until(lambda: "/api/crew/run 408" in server.log.read_text())
        connect(server, head.replace("/api/crew/run", "/session").encode()).close()
        until(lambda: "/session 408" in server.log.read_text())
        assert http.get("/health").status_code == 200
        assert "Traceback" not in server.log.read_text()
        assert "mistake" not in server.log.read_text()


def test_few_open_files(tmp_path: Path):
    """A process that may open few says so, takes fewer connections, and answers the probe beyond."""
    with serving(crew(tmp_path), under=("prlimit", "--nofile=160:160")) as server:
        with ExitStack() as stack:
            assert "this process may have 160 open files" in server.log.read_text()
            found = re.search(r"so it takes (\d+) connections", server.log.read_text())
            assert found is not None
            for _ in range(int(found[1])):
                stack.enter_context(connect(server))
            assert answer(server, request(server)).startswith("HTTP/1.1 503")
            assert answer(server, request(server, "/health")).startswith("HTTP/1.1 200")
        until(lambda: answer(server, request(server)).startswith("HTTP/1.1 200"))


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


REFUSED = {
    "garbage": (b"GARBAGE\r\n\r\n", 400),
    "length": (b"POST /api/crew/run HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", 400),
    "url": (b"GET /" + b"x" * 80_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "empty-lines": (b"\r\n" * 75_000, 431),
}


def test_every_refusal_has_an_id_and_says_why(tmp_path: Path):
    """Of the log's line, too; the client's own where it has come."""
    with serving(crew(tmp_path)) as server:
        ids = []
        for data, status in REFUSED.values():
            head, _, body = answer(server, data).partition("\r\n\r\n")
            assert head.startswith(f"HTTP/1.1 {status}")
            problem = json.loads(body)
            assert problem["status"] == status
            assert len(problem["detail"]) > 20
            found = re.search(r"x-request-id: (\S+)", head)
            assert found is not None
            ids.append(found[1])
        own = request(server, "/" + "x" * 70_000, b"X-Request-ID: my-own\r\n")
        assert "x-request-id: my-own" in answer(server, own)
        log = server.log.read_text()
        assert [one for one in [*ids, "my-own"] if one not in log] == []
        with client(server) as http:
            assert 'reason="malformed"} 5.0' in http.get("/metrics").text


def test_a_client_of_http_1_0_gets_no_chunks(tmp_path: Path):
    """An answer without a length ends with its connection; RFC 9112, 6.1."""
    with serving(crew(tmp_path)) as server:
        host = urlsplit(server.url).netloc
        for target in ("/api/crew/stream?q=hi", "/health", "/console/page.js"):
            data = f"GET {target} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()
            head, _, body = answer(server, data).partition("\r\n\r\n")
            assert head.startswith("HTTP/1.1 200")
            assert "transfer-encoding" not in head.lower()
            assert "connection: close" in head.lower()
            if "stream" in target:
                assert body.startswith("retry: 3000\n\nid: ")
                assert '"type":"done"' in body.rstrip().splitlines()[-1]


def test_an_address_with_too_many_connections_is_logged_and_counted(tmp_path: Path):
    """Once a minute: an operator behind a proxy that is not listed sees why."""
    limit = {"CREW_MAX_CONNECTIONS_PER_ADDRESS": "3"}
    with serving(crew(tmp_path), **limit) as server, ExitStack() as stack:
        kept = [stack.enter_context(connect(server)) for _ in range(3)]
        for _ in range(5):
            with connect(server) as one:
                assert one.recv(1) == b""
        until(lambda: "CREW_TRUSTED_PROXIES" in server.log.read_text())
        assert server.log.read_text().count("CREW_TRUSTED_PROXIES") == 1
        kept.pop().close()

        def is_counted() -> bool:
            # the place of the closed one may not be free yet
            with contextlib.suppress(httpx2.TransportError), client(server) as http:
                return bool(re.search(r'reason="connections"} [5-9]', http.get("/metrics").text))
            return False

        until(is_counted)
