"""A crew that pays if a person agrees, and clients that speak other protocols with it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai

from tests.support.crews import write_crew
from tests.support.processes import ServerProcess

ANN, EVE = "a" * 24, "e" * 24
TOKENS = f"ann:{ANN},eve:{EVE}"
PAY = {"kind": "python", "function": "acts.py:pay", "requires_approval": True}
ACTS = '''
from pathlib import Path

def pay(to: str) -> str:
    """Pay."""
    with (Path(__file__).parent / "paid").open("a") as file:
        file.write(f"{to}\\n")
    return f"paid {to}"
'''
RULES: list[dict[str, Any]] = [
    {"agent": "a", "hears": "break", "say": "", "fail": "refused"},
    {"agent": "a", "hears": "ask", "say": "Which one?"},
    {"agent": "a", "hears": "slowly", "say": "At last.", "delay_seconds": 30},
    {"agent": "a", "hears": "blue", "say": "Blue it is. [B]"},
    {"agent": "a", "hears": "pay", "say": "They pay. [B]"},
    {"agent": "a", "say": "Hello. [B]", "delay_seconds": 0.2},
    {"agent": "b", "after": "pay", "say": "It is done: {{result.pay}}"},
    {"agent": "b", "hears": "pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    {"agent": "b", "say": "Well then.", "delay_seconds": 0.2},
]


def crew_at(folder: Path, **keys: Any) -> Path:
    routing = {
        "signals": {"a": [{"signal": "[B]", "target": "b"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    agents = {"a": {}, "b": {"tools": ["pay"], "is_terminal": True}}
    written = write_crew(folder / "crew", agents, RULES, {"pay": PAY}, routing=routing, **keys)
    (written / "acts.py").write_text(ACTS)
    return written


def paid(folder: Path) -> list[str]:
    path = folder / "crew" / "paid"
    return path.read_text().split() if path.exists() else []


def openai_of(server: ServerProcess, token: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=token, max_retries=0)


def data_of(lines: Iterator[str]) -> Iterator[tuple[str | None, Any]]:
    """The frames of a stream, each with its id."""
    id_ = None
    for line in lines:
        if line.startswith("id: "):
            id_ = line.removeprefix("id: ")
        elif line.startswith("data: "):
            text = line.removeprefix("data: ")
            yield id_, text if text == "[DONE]" else json.loads(text)
        elif not line:
            id_ = None


def agui(http: httpx2.Client, text: str, run: str, thread: str = "t1", **more: Any) -> list[Any]:
    body = {
        "threadId": thread,
        "runId": run,
        "messages": [{"id": run, "role": "user", "content": text}],
    }
    answer = http.post("/agui", json=body | more)
    assert answer.status_code == 200, answer.text
    return [frame for _, frame in data_of(iter(answer.text.split("\n")))]
