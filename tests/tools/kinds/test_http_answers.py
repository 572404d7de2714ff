"""HTTP tools against a server that says anything: what is made of the answer."""

import asyncio
import gzip
import zlib
from typing import Any

import pytest

from tests.support.http_tools import GOOD, HOME, called
from tests.support.made_tools import tool_of
from tests.support.raw_server import Speak, answer, raw_server
from tools.calls import CallEvent


@pytest.mark.parametrize(
    ("data", "status", "output"),
    [
        (answer("é", Content_Type="text/plain; charset=latin-1"), "success", "Ã©"),
        (answer(b"\xff\xfeabc", Content_Type="text/plain"), "success", "��abc"),
        (answer(b"x", Content_Type="text/plain; charset=none"), "success", "x"),
        (
            answer(b"%PDF" * 9000, Content_Type="application/pdf"),
            "success",
            "[application/pdf, 36 KB]",
        ),
        (answer(b"a\0b"), "success", "[no content type, 1 KB]"),
        (answer(b"plain"), "success", "plain"),
        (answer(b"", "204 No Content"), "success", "[HTTP 204 No Content, no content]"),
        (answer("no", "404 Not Found"), "error", "HTTP 404 Not Found: no"),
        (answer("z" * 9000, "500 Bad"), "error", "HTTP 500 Bad: " + "z" * 2000),
        (answer("x" * 1100, "200 OK"), "error", "the answer is longer than 1 KB (max_response_kb)"),
        (
            answer(
                gzip.compress(b"hello", mtime=0), Content_Encoding="gzip", Content_Type="text/plain"
            ),
            "success",
            "hello",
        ),
        (
            answer(zlib.compress(b"hello"), Content_Encoding="deflate", Content_Type="text/plain"),
            "success",
            "hello",
        ),
        (
            answer(zlib.compress(b"hello")[2:-4], Content_Encoding="deflate"),
            "success",
            "hello",
        ),
        (
            answer(gzip.compress(bytes(10_000_000), mtime=0), Content_Encoding="gzip"),
            "error",
            "the answer is longer than",
        ),
        (answer(gzip.compress(b"hello", mtime=0)[:-3], Content_Encoding="gzip"), "error", "is cut"),
        (answer(b"junk", Content_Encoding="gzip"), "error", "cannot be decompressed"),
        (answer(b"x", Content_Encoding="br"), "error", "content coding 'br'"),
        (answer(b"x", Content_Encoding="gzip, gzip"), "error", "content coding"),
        (b"hello, I am no HTTP\r\n\r\n", "error", "is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000 + b"\r\n\r\n", "error", "is no HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "error", "is no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "error",
            "no HTTP",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "error", ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nab", "error", "no HTTP"),
        (b"\x16\x03\x01\x02\x00", "error", ""),
        (b"", "error", ""),
    ],
)
async def test_answers_of_any_sort(data: bytes, status: str, output: str):
    """Bounded, and told in words."""
    result, server = await called(data, max_response_kb=1 if b"xxx" in data else 64)
    assert result.status == status, result.output
    assert output in result.output
    assert result.facts["sent"] is True
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal",
    ],
)
async def test_an_answer_that_breaks_off_is_a_network_error(data: bytes):
    """Another attempt is made where the effect allows it, and not for `once`."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    read, server = await called(speak, retries=2)
    assert (read.status, read.attempts, len(server.requests)) == ("error", 3, 3)
    once, server = await called(speak, method="POST", retries=2)
    assert (once.status, once.attempts, len(server.requests)) == ("error", 1, 1)
    assert once.facts["sent"] is True


async def test_endless_answers_end_with_the_deadline_or_the_limit():
    """Of headers, of interim answers, of a body."""

    def endless(start: bytes, piece: bytes) -> Speak:
        async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
            writer.write(start)
            while not writer.is_closing():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)

        return speak

    body, _ = await called(endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1000))
    assert "longer than 1000 KB" in body.output
    heads, _ = await called(endless(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"))
    assert "is no HTTP" in heads.output
    interim, _ = await called(
        endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), timeout_seconds=0.3
    )
    assert interim.status == "timeout"


async def test_nothing_is_sent_where_nobody_listens():
    """So even what acts once is tried again."""
    async with raw_server(GOOD) as server:
        port = server.port
    entry: dict[str, Any] = {
        "url": f"http://127.0.0.1:{port}/",
        "method": "POST",
        "retries": 2,
        **HOME,
    }
    async with tool_of("http", **entry) as tool:
        result = await tool()
    assert (result.status, result.attempts, result.facts["sent"]) == ("error", 3, False)


async def test_the_key_of_a_call_is_the_same_for_all_attempts():
    """A server that knows keys does nothing twice."""
    entry: dict[str, Any] = {"method": "POST", "effect": "idempotent", "retries": 2}
    result, server = await called(answer("busy", "503 Busy"), **entry)
    assert (result.status, result.attempts) == ("error", 3)
    assert [server.header("Idempotency-Key", n) for n in range(3)] == ["run1-call1"] * 3


async def test_retry_after_is_heeded_up_to_the_deadline():
    """A wait that is too long is no wait."""
    busy = answer("busy", "429 Slow", Retry_After="3600")
    result, server = await called(busy, retries=2)
    assert (result.attempts, len(server.requests)) == (1, 1)
    for written in ("soon", "-1", "1e9", "Sun, 06 Nov 1994 08:49:37 GMT", "9" * 400):
        result, _ = await called(answer("busy", "429 Slow", Retry_After=written), retries=1)
        assert result.status == "error"
        assert result.attempts == (1 if written[0] == "9" else 2), written


async def test_what_was_sent_by_one_attempt_was_sent():
    """Even if the next one reaches nobody; and its status is not told as that one's."""
    async with raw_server(answer("busy", "503 Busy", Connection="close")) as server:

        async def close_after(event: CallEvent) -> None:
            if type(event).__name__ == "CallRetried":
                server.close()

        entry: dict[str, Any] = {"url": server.url, "retries": 1, **HOME}
        async with tool_of("http", **entry) as tool:
            tool.on_event = close_after
            result = await tool()
    assert (result.status, result.attempts) == ("error", 2)
    assert result.facts == {"sent": True}
