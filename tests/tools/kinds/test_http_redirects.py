"""Redirects: refused, or followed without what the other host must not get."""

import asyncio
from typing import Any

from tests.support.http_tools import GOOD, HOME, called
from tests.support.made_tools import tool_of
from tests.support.raw_server import answer, raw_server


async def test_no_redirect_is_followed_unless_it_is_listed():
    """The error names the host."""
    away = answer("", "302 Found", Location="http://127.0.0.2:1/x")
    result, _ = await called(away)
    assert result.status == "error"
    assert "redirects to http://127.0.0.2; `redirects: [127.0.0.2]` can allow it" in result.output
    for place in (
        "file:///etc/passwd",
        "http://a:b@127.0.0.1/",
        "http://[",
        "gopher://127.0.0.1/",
        "//127.0.0.1:99999/",
    ):
        result, server = await called(
            answer("", "302 Found", Location=place), redirects=["127.0.0.1"]
        )
        assert (result.status, len(server.requests)) == ("error", 1), place


async def test_a_redirect_to_another_host_takes_no_secret_along():
    """A POST becomes a GET unless the status says otherwise."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        status = "307 Again" if b"/keep" in request else "303 See"
        writer.write(answer("", status, Location=f"http://127.0.0.2:{first.port}/end#x"))

    headers = {"Authorization": "Bearer k", "Cookie": "c=1", "X-Api-Key": "k", "X-Plain": "p"}
    entry: dict[str, Any] = {"method": "POST", "body": {"a": 1}, "headers": headers, **HOME}
    async with raw_server(speak) as first, raw_server(GOOD, "127.0.0.2", first.port) as second:
        for path, line in (("/keep", "POST /end HTTP/1.1"), ("/see", "GET /end HTTP/1.1")):
            entry |= {"url": first.url + path, "redirects": ["127.0.0.2"]}
            async with tool_of("http", **entry) as tool:
                result = await tool()
            assert result.status == "success", result.output
            assert second.heads()[-1].startswith(line)
            names = [name for name in headers if second.header(name) is not None]
            assert names == ["X-Plain"]
            assert second.header("Idempotency-Key") == "run1-call1"
        async with tool_of("http", **entry | {"redirects": ["localhost"]}) as tool:
            assert (await tool()).status == "error"
        assert len(second.requests) == 2


async def test_a_redirect_to_another_port_is_refused():
    """A listed host is not all that runs on it."""
    async with raw_server(GOOD) as other:
        away = answer("", "302 Found", Location=other.url)
        result, _ = await called(away, redirects=["127.0.0.1"])
    assert "is neither 80, 443 nor that of the tool's url" in result.output
    assert other.requests == []


async def test_each_hop_is_checked():
    """A listed host whose address the entry does not allow is not connected to."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer("", "302 Found", Location=f"http://127.0.0.2:{first.port}/"))

    async with raw_server(speak) as first, raw_server(GOOD, "127.0.0.2", first.port) as second:
        entry: dict[str, Any] = {
            "url": first.url,
            "redirects": ["127.0.0.2"],
            "allow_private": ["127.0.0.1/32"],
        }
        async with tool_of("http", **entry) as tool:
            result = await tool()
        assert (result.status, result.facts.get("denied")) == ("error", "private-address")
        assert second.connections == 0


async def test_redirects_within_a_server_end():
    """After three."""
    result, server = await called(
        answer("", "302 Found", Location="/again"), redirects=["127.0.0.1"]
    )
    assert "redirects more than 3 times" in result.output
    assert len(server.requests) == 4


async def test_a_redirect_within_a_server():
    """The method follows the status, and headers stay."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        if b" /end" in request:
            writer.write(GOOD)
        else:
            status = "307 Again" if b"/keep" in request else "303 See"
            writer.write(answer("", status, Location="/end#x"))

    entry: dict[str, Any] = {
        "method": "POST",
        "body": {"a": 1},
        "redirects": ["127.0.0.1"],
        "headers": {"X-Api-Key": "k"},
    }
    kept, server = await called(speak, path="/keep", **entry)
    assert kept.status == "success", kept.output
    assert server.requests[-1].startswith(b"POST /end HTTP/1.1\r\n")
    assert server.requests[-1].endswith(b'{"a": 1}')
    seen, server = await called(speak, path="/see", **entry)
    assert seen.status == "success", seen.output
    assert server.requests[-1].startswith(b"GET /end HTTP/1.1\r\n")
    assert server.requests[-1].endswith(b"\r\n\r\n")
    assert server.header("X-Api-Key") == "k"
