"""HTTP tools that call a server of the test."""

from typing import Any

from tests.support.made_tools import tool_of
from tests.support.raw_server import RawServer, Speak, answer, raw_server
from tools import ToolResult

HOME: dict[str, Any] = {"allow_private": ["127.0.0.0/8"]}
GOOD = answer('{"a": {"b": ["x", {"c/d": 7}]}}', Content_Type="application/json")


async def called(
    speak: Speak | bytes, arguments: dict[str, Any] | None = None, path: str = "/", **entry: Any
) -> tuple[ToolResult, RawServer]:
    """The result of one call of a server that speaks so, and the server."""
    async with raw_server(speak) as server:
        async with tool_of("http", url=server.url + path, **{**HOME, "retries": 0} | entry) as tool:
            return await tool(**arguments or {}), server
