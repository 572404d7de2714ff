"""HTTP tools: what is sent, and which connections, cookies and settings are used for it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_tools import GOOD, HOME, called
from tests.support.made_tools import PATIENT, MadeTool, tool_of
from tests.support.raw_server import answer, raw_server
from tools.clock import SYSTEM_CLOCK
from tools.kinds import ToolMaker
from tools.limits.guards import Guards


async def test_a_request_is_what_the_entry_says():
    """Places in path, query, header; defaults beside them."""
    result, server = await called(
        GOOD,
        {"user": "Ann Ö", "tags": ["a&b", "c"], "n": 3, "team": "x y"},
        path="/users/{user}/x?fixed=1",
        query={
            "tag": "{tags}",
            "n": "{n}",
            "both": "{n}-{team}",
            "gone": "{absent}",
            "two": [1, "b"],
        },
        headers={"X-Team": "team {team}", "X-Gone": "{absent}", "Authorization": "Bearer k"},
        parameters={
            "properties": {
                "user": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "n": {"type": "integer"},
                "team": {"type": "string"},
                "absent": {"type": "string"},
            },
            "required": ["user"],
        },
    )
    assert result.status == "success", result.output
    line = server.heads()[0].split("\r\n")[0]
    query = "fixed=1&tag=a%26b&tag=c&n=3&both=3-x%20y&two=1&two=b"
    assert line == f"GET /users/Ann%20%C3%96/x?{query} HTTP/1.1"
    assert server.header("X-Team") == "team x y"
    assert server.header("X-Gone") is None
    assert server.header("Authorization") == "Bearer k"
    assert server.header("Accept-Encoding") == "identity"
    assert server.header("Idempotency-Key") is None
    assert result.facts == {"sent": True, "http_status": 200}


async def test_a_body_keeps_types_and_is_filled_once():
    """What an argument holds is no place itself."""
    result, server = await called(
        GOOD,
        {"a": {"x": [1, "{b}"]}, "b": "{a} ü", "n": 2.5},
        method="POST",
        body={
            "whole": "{a}",
            "text": "b is {b}",
            "n": "{n}",
            "none": "{c}",
            "list": ["{c}", "{b}"],
        },
        parameters={"properties": {"a": {}, "b": {}, "c": {}, "n": {"type": "number"}}},
    )
    assert result.status == "success", result.output
    sent = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert sent == {
        "whole": {"x": [1, "{b}"]},
        "text": "b is {a} ü",
        "n": 2.5,
        "list": ["{a} ü"],
    }
    assert server.header("Content-Type") == "application/json"
    assert server.header("Idempotency-Key") == "run1-call1"


async def test_a_form_is_encoded():
    """A list repeats its key."""
    result, server = await called(
        GOOD, {"a": "x&y=z ü"}, method="PUT", form={"a": "{a}", "b": ["1", "2"]}
    )
    assert result.status == "success", result.output
    assert server.requests[0].endswith(b"\r\n\r\na=x%26y%3Dz%20%C3%BC&b=1&b=2")
    assert server.header("Content-Type") == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("pointer", "output"),
    [
        ("", '{"a": {"b": ["x", {"c/d": 7}]}}'),
        ("/a/b/0", "x"),
        ("/a/b/1", '{"c/d":7}'),
        ("/a/b/1/c~1d", "7"),
        ("/a/b/01", None),
        ("/a/b/٠", None),
        ("/a/b/-1", None),
        ("/a/b/9", None),
        ("/b", None),
    ],
)
async def test_a_part_of_the_answer(pointer: str, output: str | None):
    """RFC 6901."""
    result, _ = await called(GOOD, expect={"pointer": pointer})
    assert result.status == ("success" if output is not None else "error")
    assert result.output == (
        output if output is not None else f"the answer has no part {pointer} (expect.pointer)"
    )


async def test_cookies_are_not_kept():
    """What one answer sets does not go out with the next call."""
    async with raw_server(answer("x", Set_Cookie="a=b; Path=/")) as server:
        async with tool_of("http", url=server.url, **HOME) as tool:
            await tool()
            await tool()
    assert len(server.requests) == 2
    assert server.header("Cookie") is None


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    """No proxy, no .netrc."""
    async with raw_server(answer("proxy")) as proxy, raw_server(answer("real")) as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ann password secret\n")
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        monkeypatch.setenv("HOME", str(tmp_path))
        async with tool_of("http", url=server.url, **HOME) as tool:
            assert (await tool()).output == "real"
    assert proxy.requests == []
    assert server.header("Authorization") is None


async def test_one_connection_serves_the_calls_of_one_allowance():
    """And never those of another, to the same place."""
    maker = ToolMaker(Path(), Guards(SYSTEM_CLOCK))
    async with raw_server(answer("x")) as server:
        same: dict[str, Any] = {"maker": maker, "url": server.url}
        async with (
            tool_of("http", **same, allow_private=True) as one,
            tool_of("http", **same, allow_private=True) as two,
            tool_of("http", **same, allow_private=["127.0.0.0/8"]) as three,
            tool_of("http", **same) as none,
        ):
            for tool in (one, two, one, two):
                assert (await tool()).status == "success"
            assert server.connections == 1
            assert (await three()).status == "success"
            assert server.connections == 2
            refused = await none()
            assert refused.status == "error"
            assert refused.facts == {"sent": False, "denied": "private-address"}
            assert server.connections == 2


async def test_what_comes_late_is_no_answer_to_the_next_call():
    """A second answer on a connection that is kept: it is closed, and another one made."""
    written = asyncio.Event()

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer("ok"))
        if b"/first" in request:

            def add() -> None:
                writer.write(answer("poison"))
                written.set()

            asyncio.get_running_loop().call_later(0.1, add)

    maker = ToolMaker(Path(), Guards(SYSTEM_CLOCK))
    async with raw_server(speak) as server:
        async with (
            tool_of("http", maker=maker, url=f"{server.url}/first", **HOME) as one,
            tool_of("http", maker=maker, url=server.url, method="POST", **HOME) as two,
        ):
            assert (await one()).output == "ok"
            await written.wait()
            assert (await two()).output == "ok"
            assert (await two()).output == "ok"
    assert server.connections == 2


async def test_a_breaker_refuses_at_once_and_tells():
    """After five failures in a row; it is on unless the entry says otherwise."""
    async with raw_server(answer("x", "500 Bad")) as server:
        async with tool_of("http", url=server.url, **HOME) as tool:
            for _ in range(5):
                assert (await tool()).facts["http_status"] == 500
            refused = await tool()
            assert (refused.status, refused.attempts) == ("error", 0)
            assert "failed 5 times in a row; try again in" in refused.output
            assert refused.facts == {"refused": True}
            assert "CallWarned" in [type(event).__name__ for event in tool.events]
        async with tool_of("http", url=server.url, breaker=False, **HOME) as tool:
            for _ in range(6):
                assert (await tool()).attempts == 1
    assert len(server.requests) == 11


async def test_a_slow_head_is_a_timeout():
    """And its connection is no other call's."""
    silent = asyncio.Event()

    async def speak(writer: asyncio.StreamWriter, request: bytes) -> None:
        if not silent.is_set():
            silent.set()
            await asyncio.Event().wait()
        writer.write(answer("second"))

    async with raw_server(speak) as server:
        entry: dict[str, Any] = {"timeout_seconds": 0.2, "retries": 0, **HOME}
        async with tool_of("http", url=server.url, limits=PATIENT, **entry) as tool:
            assert isinstance(tool, MadeTool)
            assert (await tool()).status == "timeout"
            assert (await tool()).output == "second"
    assert server.connections == 2
