"""The tools of MCP servers that speak streamable HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

from tests.support.made_tools import MadeTool, tools_of
from tests.support.raw_server import answer, raw_server, says
from tools.errors import ToolDefinitionError

HOME: dict[str, Any] = {"allow_private": ["127.0.0.0/8"]}


def make_server() -> MCPServer:
    server = MCPServer("test", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool()
    async def wait(seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return "waited"

    @server.tool()
    def long(size: int) -> str:
        """A long text."""
        return "x" * size

    return server


@asynccontextmanager
async def serving(port: int = 0, *, stateless: bool = False) -> AsyncIterator[int]:
    """The port of a server that runs."""
    listener = socket.create_server(("127.0.0.1", port), backlog=100)
    app = make_server().streamable_http_app(stateless_http=stateless)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()


@asynccontextmanager
async def tools_at(port: int, **entry: Any) -> AsyncIterator[dict[str, MadeTool]]:
    url = f"http://127.0.0.1:{port}/mcp"
    entry = {"url": url, "retries": 0, "breaker": False, **HOME, **entry}
    async with tools_of("mcp", **entry) as made:
        yield made


@pytest.mark.parametrize("protocol", ["auto", "2025-11-25"])
@pytest.mark.parametrize("stateless", [True, False])
async def test_calls(protocol: str, stateless: bool):
    """Each has its answer, in both eras of the protocol."""
    async with (
        serving(stateless=stateless) as port,
        tools_at(port, protocol=protocol, tools={"wait": {"timeout_seconds": 1}}) as tools,
    ):
        results = await asyncio.gather(*(tools["T_add"](a=n, b=1) for n in range(20)))
        assert [result.output for result in results] == [str(n + 1) for n in range(20)], results[0]
        large = await tools["T_long"](size=3_000_000)
        assert large.status == "error"
        assert (await tools["T_add"](a=1, b=1)).output == "2"
        late = await tools["T_wait"](seconds=60)
        assert late.status == "timeout"
        assert (await tools["T_add"](a=1, b=1)).output == "2"


async def test_a_server_that_comes_again():
    """Calls meanwhile fail by themselves; it does not know the session, which is made anew."""
    async with AsyncExitStack() as stack:
        async with serving() as port:
            made = tools_at(port, protocol="2025-11-25", timeout_seconds=20)
            tools = await stack.enter_async_context(made)
            assert (await tools["T_add"](a=1, b=1)).output == "2"
        away = await tools["T_add"](a=1, b=1)
        assert away.status == "error"
        async with serving(port):
            unknown = await tools["T_add"](a=1, b=1)
            assert (unknown.status, unknown.facts["sent"]) == ("error", False), unknown
            assert (await tools["T_add"](a=2, b=1)).output == "3"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"HTTP/1.1 302 X\r\nlocation: http://127.0.0.2/\r\ncontent-length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi", "text/html"),
        (b"no http at all\r\n\r\n", ""),
        (b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]", ""),
        (
            b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n"
            b"content-length: 2\r\n\r\nxx",
            "compressed",
        ),
        (b"", ""),
    ],
)
async def test_what_is_no_server(answer: bytes, told: str):
    """Is a mistake that says why."""
    async with raw_server(says(answer)) as server:
        with pytest.raises(ToolDefinitionError) as raised:
            async with tools_at(server.port, startup_seconds=3):
                pass
    assert (raised.value.code, told in str(raised.value)) == ("mcp-unreachable", True), raised.value


def of_request(request: bytes) -> tuple[int | None, str]:
    """The id and the method of a JSON-RPC request."""
    data = json.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
    return data.get("id"), data.get("method", "")


def json_answer(number: int | None, value: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": number, "result": value}).encode()
    return answer(body, **{"Content-Type": "application/json"})


def initialized(number: int | None, method: str) -> bytes | None:
    """What a server says until its tools are known; None: a call."""
    match method:
        case "initialize":
            info = {"name": "raw", "version": "1"}
            about = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            return json_answer(number, about)
        case "tools/list":
            shape = {"type": "object", "properties": {"n": {"type": "integer"}}}
            return json_answer(number, {"tools": [{"name": "t", "inputSchema": shape}]})
        case "tools/call":
            return None
        case _:
            return answer(b"", "202 Accepted")


@pytest.mark.parametrize("when", ["at the start", "in a call"])
async def test_no_redirect_is_followed(when: str):
    """The place that it names is not connected to."""

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        number, method = of_request(request)
        said = initialized(number, method) if when == "in a call" else None
        place = f"http://127.0.0.1:{target.port}/mcp"
        writer.write(said or answer(b"", "307 Temporary Redirect", Location=place))

    async with raw_server() as target, raw_server(speak) as server:
        entry: dict[str, Any] = {"protocol": "2025-11-25", "startup_seconds": 3}
        if when == "in a call":
            async with tools_at(server.port, **entry) as tools:
                assert (await tools["T_t"](n=1)).status == "error"
        else:
            with pytest.raises(ToolDefinitionError):
                async with tools_at(server.port, **entry):
                    pass
        assert target.connections == 0


async def test_a_lost_connection_is_that_of_one_call():
    """Others that are under way have their answers."""
    all_here, asked = asyncio.Event(), set()

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        number, method = of_request(request)
        if (said := initialized(number, method)) is not None:
            writer.write(said)
            return
        n = json.loads(request.partition(b"\r\n\r\n")[2])["params"]["arguments"]["n"]
        asked.add(n)
        if len(asked) == 3:
            all_here.set()
        await all_here.wait()
        if n == 1:
            writer.transport.abort()
        else:
            writer.write(json_answer(number, {"content": [{"type": "text", "text": str(n)}]}))

    async with raw_server(speak) as server, tools_at(server.port, protocol="2025-11-25") as tools:
        results = await asyncio.gather(*(tools["T_t"](n=n) for n in range(3)))
    assert [one.status for one in results] == ["success", "error", "success"]
    assert results[1].facts["sent"] is True


async def test_a_private_address_is_not_connected_to():
    """Unless the entry allows it; and nothing is sent."""
    async with raw_server(says(b"")) as server:
        with pytest.raises(ToolDefinitionError, match="allow_private"):
            async with tools_at(server.port, allow_private=False):
                pass
        assert server.connections == 0


async def test_headers_are_sent_to_the_server_only():
    """With every request."""
    reply = {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "not today"}}
    body = json.dumps(reply).encode()
    head = (
        f"HTTP/1.1 403 X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    async with raw_server(says(head.encode() + body)) as server:
        with pytest.raises(ToolDefinitionError, match="not today"):
            async with tools_at(server.port, headers={"Authorization": "Bearer k"}):
                pass
    assert server.header("authorization", 0) == "Bearer k"
    assert server.header("idempotency-key", 0) is None
