"""What a browser, or bytes that no browser sends, cannot do: frame, sniff, redirect, forge a host."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.support.processes import ServerProcess, client, serving
from tests.support.served_crew import crew

TOKEN = "boss-0123456789abcdef"
SHOWN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    """One for all; it asks for a token."""
    with serving(crew(tmp_path_factory.mktemp("b")), CREW_API_TOKENS=TOKEN) as started:
        yield started


POLICY = {
    "content-security-policy": "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def test_every_answer_protects_browsers(server: ServerProcess):
    """No page can frame, sniff or read it."""
    with client(server) as http:
        for path, headers in (
            ("/", SHOWN),
            ("/", {"Accept": "text/html"}),
            ("/", {}),
            ("/console/index.html", SHOWN),
            ("/console/console.js", SHOWN),
            ("/health", {}),
            ("/api/crew", SHOWN),
            ("/api/crew/runs/x", SHOWN),
            ("/nothing", SHOWN),
            ("/api/crew/stream?q=x", SHOWN),
            ("/api/crew", {"Host": "evil example"}),
        ):
            answer = http.get(path, headers=headers)
            for name, value in POLICY.items():
                assert value in answer.headers[name], (path, name)


def test_answers_below_and_around_the_application(server: ServerProcess):
    """Have the same headers: what is no HTTP, and a head that is too large."""
    for lines in (("no http at all",), ("GET / HTTP/1.1", f"Host: {'x' * 17_000}")):
        told = exchange(server, *lines).lower()
        assert told.startswith(("http/1.1 400", "http/1.1 431"))
        for name, value in POLICY.items():
            assert f"{name}: " in told
            assert value in told


def exchange(server: ServerProcess, *lines: str) -> str:
    """What a server says to bytes that no client of ours sends."""
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall("\r\n".join((*lines, "Connection: close", "", "")).encode())
        with connection.makefile("rb") as answer:
            return answer.read().decode()


def test_what_is_odd_below_http_is_refused(server: ServerProcess):
    """Two hosts, none, a NUL in a path; a slash too many is no redirect that repeats the query."""
    own = f"Host: {urlsplit(server.url).netloc}"
    bearer = f"Authorization: Bearer {TOKEN}"
    two = exchange(server, "GET /api/crew HTTP/1.1", own, "Host: evil.example", bearer)
    assert two.startswith("HTTP/1.1 400")
    assert exchange(server, "GET /api/crew HTTP/1.1", bearer).startswith("HTTP/1.1 400")
    nul = exchange(server, "GET /console/%00 HTTP/1.1", own, bearer)
    assert nul.startswith("HTTP/1.1 404")
    slash = exchange(server, "GET /api/crew/?q=secret HTTP/1.1", own, bearer)
    assert slash.startswith("HTTP/1.1 404")
    assert "location" not in slash.lower()
