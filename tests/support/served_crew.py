"""The crew that end-to-end tests serve, and how they read its streams."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.support.crews import write_crew
from tests.support.processes import ServerProcess, client, sse, until

AGENTS = {"a": {}, "b": {"is_terminal": True, "tools": ["GetSystemInfo"]}}


RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "ask slowly", "say": "what exactly?", "delay_seconds": 0.3},
    {"agent": "a", "hears": "slow", "say": "slowly [B]", "delay_seconds": 0.6},
    {"agent": "a", "hears": "long", "say": "after all [B]", "delay_seconds": 3},
    {"agent": "a", "hears": "forever", "say": "x", "delay_seconds": 3600},
    {"agent": "a", "hears": "more", "say": "more of it [B]"},
    {"agent": "a", "hears": "ask", "say": "what exactly?"},
    {"agent": "a", "say": "ok [B]"},
    {"agent": "b", "after": "GetSystemInfo", "say": "Xong: kết quả ✅"},
    {"agent": "b", "say": "", "calls": ["GetSystemInfo"]},
]


ROUTING = {
    "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    "agent_behaviors": {"a": {"wait_for_signal": True}},
}


WHOLE = [
    "start",
    "agent_start",
    "agent_response",
    "handoff",
    "agent_start",
    "agent_response",
    "tool_start",
    "tool_result",
    "agent_start",
    "agent_response",
    "done",
]


def crew(folder: Path, **settings: Any) -> Path:
    return write_crew(folder / "crew", AGENTS, RULES, routing=ROUTING, settings=settings)


def lines(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    """The events of a stream as they come."""
    block = ""
    for line in response.iter_lines():
        if line:
            block += line + "\n"
        else:
            yield from sse(block + "\n")
            block = ""


def until_status(server: ServerProcess, run_id: str, *statuses: str) -> dict[str, Any]:
    """Ask for a run until it has one of these states; who followed it instead would be a listener, and keep it alive."""
    found: dict[str, Any] = {}

    def has_come() -> bool:
        found.update(http.get(f"/api/crew/runs/{run_id}").json())
        return found["status"] in statuses

    with client(server) as http:
        until(has_come)
    return found
