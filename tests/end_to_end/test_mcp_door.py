"""The crew as an MCP server, for the SDK's own client: over HTTP, and in the pipes of `crew mcp`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from tests.support.paying_crew import ANN, EVE, TOKENS, crew_at, paid
from tests.support.processes import BIN, client, serving, start_server, until
from tests.support.served_crew import until_status

ASK, LOOK, REPLY = "test-crew", "test-crew_run", "test-crew_reply"


@asynccontextmanager
async def connected(url: str, token: str = "", **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as one:
            yield one


async def test_tools(tmp_path: Path):
    """What there is; an answer with its progress; what is wrong is a result that says so."""
    with serving(crew_at(tmp_path), CREW_API_TOKENS=TOKENS) as server:
        async with connected(server.url, ANN) as ann, connected(server.url, EVE) as eve:
            tools = {one.name: one for one in (await ann.list_tools()).tools}
            assert tools.keys() == {ASK, LOOK, REPLY}
            look = tools[LOOK].annotations
            assert look is not None
            assert look.read_only_hint
            steps: list[str] = []

            async def report(progress: float, total: float | None, message: str | None) -> None:
                steps.append(message or "")

            result = await ann.call_tool(ASK, {"query": "hi"}, progress_callback=report)
            assert not result.is_error
            told = result.structured_content
            assert told is not None
            assert (told["status"], told["answer"]) == ("completed", "Well then.")
            assert "Hello." in steps
            run = {"run_id": told["run_id"]}
            assert (await ann.call_tool(LOOK, run)).structured_content == told
            for name, arguments, words in (
                (LOOK, {"run_id": "none"}, "there is no run"),
                (LOOK, {"run_id": "\0"}, "wrong arguments"),
                (ASK, {}, "query"),
                (ASK, {"query": "hi", "model": "x"}, "model"),
                (ASK, {"query": "break"}, ""),
                (REPLY, {**run, "pause": 1, "text": "x"}, "does not wait"),
            ):
                wrong = await ann.call_tool(name, arguments)
                assert wrong.is_error, name
                assert words in wrong.content[0].text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="there is no tool other"):
                await ann.call_tool("other", {})
            assert (await eve.call_tool(LOOK, run)).is_error
        with client(server) as http:
            assert http.post("/mcp", json={}).status_code == 401


async def test_a_model_never_approves(tmp_path: Path):
    """A client without forms gets the question; words do not decide; its person may, elsewhere."""
    with serving(crew_at(tmp_path)) as server:
        async with connected(server.url) as one:
            result = await one.call_tool(ASK, {"query": "pay bob"})
            told = result.structured_content
            assert told is not None
            assert told["status"] == "paused"
            assert told["calls"][0]["tool"] == "pay"
            page = f"{server.url}/runs/{told['run_id']}"
            said = f"The run is paused until a person decides: {page}"
            assert result.content[0].text.endswith(said)  # type: ignore[union-attr]
            reply = {"run_id": told["run_id"], "pause": told["pause"], "text": "approve"}
            refused = await one.call_tool(REPLY, reply)
            assert refused.is_error
            assert "a person decides" in refused.content[0].text  # type: ignore[union-attr]
        # a request that claims what its client cannot have shown
        state = f"{told['run_id']}:{told['pause']}"
        given = {
            f"{state}:{told['calls'][0]['call_id']}": {
                "action": "accept",
                "content": {"approved": True},
            }
        }
        call = {
            "name": ASK,
            "arguments": {"query": "z"},
            "requestState": state,
            "inputResponses": given,
        }
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
            for version in ("2025-11-25", "2026-07-28"):
                headers = {
                    "Accept": "application/json, text/event-stream",
                    "MCP-Protocol-Version": version,
                    "Mcp-Method": "tools/call",
                    "Mcp-Name": ASK,
                }
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
                answer = await http.post(f"{server.url}/mcp", json=body, headers=headers)
                assert "It is done" not in answer.text, answer.text
        async with connected(server.url) as one:
            asked = (await one.call_tool(ASK, {"query": "ask"})).structured_content
            assert asked is not None
            assert asked["question"] == "Which one?"
            words = {"run_id": asked["run_id"], "pause": asked["pause"], "text": "blue"}
            done = (await one.call_tool(REPLY, words)).structured_content
            assert done is not None
            assert done["answer"] == "Well then."
    assert paid(tmp_path) == []


@pytest.mark.parametrize(
    ("action", "content", "answer", "made"),
    [
        ("accept", {"approved": True}, "It is done: paid bob", ["bob"]),
        ("accept", {"approved": False, "reason": "no"}, "It is done: ", []),
        ("decline", None, "It is done: ", []),
        ("cancel", None, "", []),
    ],
)
async def test_a_form(action: Any, content: Any, answer: str, made: list[str], tmp_path: Path):
    """A client that shows its person a form gets the call decided; one that is put off stays so."""
    shown: list[str] = []

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        shown.append(params.message)
        return ElicitResult(action=action, content=content)

    with serving(crew_at(tmp_path)) as server:
        async with connected(server.url, elicitation_callback=fill_in) as one:
            told = (await one.call_tool(ASK, {"query": "pay bob"})).structured_content
    assert told is not None
    assert shown == ["pay(to='bob')"]
    assert told["status"] == ("paused" if action == "cancel" else "completed")
    assert told["answer"].startswith(answer)
    assert paid(tmp_path) == made


async def test_a_form_behind_an_answer(tmp_path: Path):
    """What an answer in words leads to is decided by the same call."""

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"approved": True})

    with serving(crew_at(tmp_path)) as server:
        async with connected(server.url) as plain:
            asked = (await plain.call_tool(ASK, {"query": "ask"})).structured_content
        assert asked is not None
        words = {"run_id": asked["run_id"], "pause": asked["pause"], "text": "pay bob"}
        async with connected(server.url, elicitation_callback=fill_in) as one:
            done = await one.call_tool(REPLY, words)
    assert not done.is_error
    assert done.structured_content is not None
    assert done.structured_content["answer"] == "It is done: paid bob"
    assert paid(tmp_path) == ["bob"]


async def test_a_form_outlives_its_server(tmp_path: Path):
    """It is filled in while another process has taken over."""
    folder = crew_at(tmp_path)
    first = start_server(folder)
    port = first.url.rpartition(":")[2]
    seconds: list[Any] = []

    async def fill_in(context: Any, params: Any) -> ElicitResult:
        first.kill()
        seconds.append(start_server(folder, "--port", port))
        return ElicitResult(action="accept", content={"approved": True})

    try:
        async with connected(first.url, elicitation_callback=fill_in) as one:
            told = (await one.call_tool(ASK, {"query": "pay bob"})).structured_content
    finally:
        for server in seconds:
            server.kill()
    assert told is not None
    assert told["answer"] == "It is done: paid bob"
    assert paid(tmp_path) == ["bob"]


async def test_a_call_that_is_given_up(tmp_path: Path):
    """Ends its run at once, as MCP demands."""
    with serving(crew_at(tmp_path)) as server, client(server) as http:
        async with connected(server.url) as one:
            calling = asyncio.create_task(one.call_tool(ASK, {"query": "hi"}))
            runs: list[Any] = []
            while not runs:
                await asyncio.sleep(0)
                runs = (await asyncio.to_thread(http.get, "/api/crew/runs")).json()["runs"]
            calling.cancel()
            await asyncio.wait({calling})
            await asyncio.to_thread(
                until_status, server, runs[0]["run_id"], "cancelled", "completed"
            )
        assert server.stop() == 0


async def test_in_a_terminal(tmp_path: Path):
    """A program starts it, and its pipes are the protocol's alone."""
    start = StdioServerParameters(command=str(BIN / "crew"), args=["mcp", str(crew_at(tmp_path))])
    async with Client(start) as one:
        told = (await one.call_tool(ASK, {"query": "hi"})).structured_content
        assert told is not None
        assert told["answer"] == "Well then."
        # as over HTTP: texts are bounded, and a conversation is a label where the crew keeps none
        for query in ("a\0b", "x" * 10_001):
            assert (await one.call_tool(ASK, {"query": query})).is_error
        asked = (await one.call_tool(ASK, {"query": "ask"})).structured_content
        assert asked is not None
        place = {"run_id": asked["run_id"], "pause": asked["pause"]}
        for text, is_refused in (("a\0b", True), ("x" * 100_001, True), ("blue", False)):
            reply = await one.call_tool(REPLY, {**place, "text": text})
            assert reply.is_error == is_refused, text[:9]
        labelled = await one.call_tool(ASK, {"query": "hi", "conversation_id": "c1"})
        assert not labelled.is_error
    until(lambda: (tmp_path / "crew" / ".crew" / "crew.db").exists())
