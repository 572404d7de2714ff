"""Endpoints that answer as real ones do, and a crew of one agent with tools at such an endpoint."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crew import MemoryStore, Query, Runs, load_crew
from tests.support.crews import Played, write_crew
from tests.support.model_server import chunks, completion, http

CODE = '''
def add(a: int, b: int = 2) -> str:
    """Add."""
    return f"sum {a + b}"


def note(text: str) -> str:
    """Note."""
    return "noted " + text


def ping() -> str:
    """Ping."""
    return "pong"


def get_weather(city: str) -> str:
    """Tell."""
    return "sunny in " + city
'''
TOOLS = ("add", "note", "ping", "get_weather")
both = pytest.mark.parametrize("deltas", [False, True], ids=["whole", "stream"])


def crew_at(folder: Path, url: str, agent: dict[str, Any] | None = None, **crew: Any) -> Path:
    """A crew of one agent with tools at an endpoint."""
    keys = {
        "model": "m-1",
        "provider": "gw",
        "is_terminal": True,
        "tools": list(TOOLS),
        **(agent or {}),
    }
    providers = {"gw": {"base_url": url, "max_retries": 2}, **crew.pop("providers", {})}
    settings = {"retry_backoff_min_millis": 1, **crew.pop("settings", {})}
    written = write_crew(
        folder,
        {"a": keys},
        tools={name: {"kind": "python", "function": f"t.py:{name}"} for name in TOOLS},
        providers=providers,
        settings=settings,
        **crew,
    )
    (written / "t.py").write_text(CODE)
    return written


async def played(folder: Path, *, deltas: bool = False, query: str = "go") -> Played:
    """A run of a crew."""
    async with Runs(load_crew(folder), MemoryStore()) as runs:
        run = await runs.start(Query(query, deltas=deltas))
        row = await run.outcome()
        events = [json.loads(one.encoded) async for one in runs.stored(run.id)]
    return Played(row, events)


def warnings(run: Played) -> list[str]:
    return [event["metadata"]["code"] for event in run.of("warning")]


def answering(message: dict[str, Any], finish: str = "stop") -> Callable[[dict[str, Any]], bytes]:
    """Answer with a message, whole or as one piece of a stream; "done" behind a tool's result."""

    def reply(request: dict[str, Any]) -> bytes:
        shown = request["messages"][-1]
        if shown["role"] == "tool" or "TOOL EXECUTION RESULTS" in str(shown["content"]):
            said: dict[str, Any] = {"content": "done"}
            return answer_as(request, said, "stop")
        return answer_as(request, message, finish)

    return reply


def answer_as(request: dict[str, Any], message: dict[str, Any], finish: str) -> bytes:
    if request.get("stream"):
        delta = dict(message)
        if "tool_calls" in delta:
            delta["tool_calls"] = [
                {"index": place, **call} for place, call in enumerate(delta["tool_calls"])
            ]
        return chunks(delta, finish=finish)
    document = completion()
    document["choices"][0] |= {"message": {"role": "assistant", **message}, "finish_reason": finish}
    return http(200, document)


def refusing(
    refusal: dict[str, Any] | bytes,
    refuses: Callable[[dict[str, Any]], bool],
    message: dict[str, Any] | None = None,
    status: int = 400,
) -> Callable[[dict[str, Any]], bytes]:
    """Refuse the requests that a rule names, else answer."""
    answer = answering(message or {"content": "done"})

    def reply(request: dict[str, Any]) -> bytes:
        return http(status, refusal) if refuses(request) else answer(request)

    return reply


def call(name: str = "add", arguments: str = '{"a": 40}', **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": "c1", "type": "function", "function": function, **more}


def error(text: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": text, **more}}


def roles(request: dict[str, Any]) -> list[str]:
    return [message["role"] for message in request["messages"]]
