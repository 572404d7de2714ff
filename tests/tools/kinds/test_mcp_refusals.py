"""What a server of streamable HTTP says in place of a result: a lost session, a refused token."""

import asyncio
import json
from typing import Any

import pytest

from tests.support.raw_server import answer, raw_server
from tests.tools.kinds.test_mcp_http import initialized, json_answer, of_request, tools_at
from tools.errors import ToolDefinitionError

SESSIONS: dict[str, Any] = {
    "400-rpc": (
        "400 Bad Request",
        {
            "jsonrpc": "2.0",
            "id": "server-error",
            "error": {"code": -32600, "message": "Bad Request: No valid session ID provided"},
        },
    ),
    "400-text": ("400 Bad Request", "Invalid or missing session ID"),
    "200-rpc": ("200 OK", {"error": {"code": -32001, "message": "Session not found"}}),
}


def said(status: str, body: Any, number: int | None) -> bytes:
    if isinstance(body, str):
        return answer(body.encode(), status, **{"Content-Type": "text/plain"})
    document = {"jsonrpc": "2.0", "id": number, **body}
    return answer(json.dumps(document).encode(), status, **{"Content-Type": "application/json"})


@pytest.mark.parametrize("name", SESSIONS)
async def test_a_session_that_is_lost_is_begun_anew(name: str):
    """Whatever the server says of it: one call fails at most, and nothing was sent by it."""
    status, body = SESSIONS[name]
    sessions: list[str] = []
    known: set[str] = set()

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        number, method = of_request(request)
        if method == "initialize":
            sessions.append(f"s{len(sessions)}.")
            known.add(sessions[-1])
            head, _, rest = (initialized(number, method) or b"").partition(b"\r\n")
            writer.write(head + f"\r\nMcp-Session-Id: {sessions[-1]}\r\n".encode() + rest)
        elif (reply := initialized(number, method)) is not None:
            writer.write(reply)
        elif not any(one.encode() in request for one in known):
            writer.write(said(status, body, number))
        else:
            writer.write(json_answer(number, {"content": [{"type": "text", "text": "ok"}]}))

    async with raw_server(speak) as server, tools_at(server.port, protocol="2025-11-25") as tools:
        assert (await tools["T_t"](n=1)).output == "ok"
        # the server is started anew
        known.clear()
        lost = await tools["T_t"](n=1)
        assert (lost.status, lost.facts["sent"]) == ("error", False), lost
        assert (await tools["T_t"](n=1)).output == "ok"


WORDS = {
    401: {"error": "invalid_token", "error_description": "the token has expired"},
    403: {"error": "insufficient_scope", "error_description": "write is needed"},
}


@pytest.mark.parametrize("status", WORDS)
@pytest.mark.parametrize("when", ["at the start", "in a call"])
async def test_a_refused_token_says_so(status: int, when: str):
    """Status and words of the server, in the result and in the problem."""
    body = answer(
        json.dumps(WORDS[status]).encode(), f"{status} X", **{"Content-Type": "application/json"}
    )

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        number, method = of_request(request)
        reply = initialized(number, method) if when == "in a call" else None
        writer.write(reply or body)

    told = f"answered {status}: {WORDS[status]['error']}: {WORDS[status]['error_description']}"
    async with raw_server(speak) as server:
        entry: dict[str, Any] = {"protocol": "2025-11-25", "startup_seconds": 5}
        if when == "in a call":
            async with tools_at(server.port, **entry) as tools:
                result = await tools["T_t"](n=1)
            assert (result.status, told in result.output) == ("error", True), result
        else:
            with pytest.raises(ToolDefinitionError, match=told):
                async with tools_at(server.port, **entry):
                    pass
