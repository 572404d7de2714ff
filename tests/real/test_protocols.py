"""The clients of other protocols, as their makers publish them, against a server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real.installed import HOME, NODE, PYTHON_PROGRAMS, needs_real
from tests.support.crews import ROOT, copy_example
from tests.support.paying_crew import crew_at, paid
from tests.support.processes import ServerProcess, client, serving

pytestmark = needs_real
CLIENTS = ROOT / "tests" / "real" / "clients"


def said_to(
    server: ServerProcess, name: str, query: str, folder: Path, *more: str
) -> dict[str, Any]:
    """What a client has at the end of a query."""
    # beside the packages, where Node looks for them
    program = HOME / f"{name}-{folder.name}.mjs"
    program.write_text((CLIENTS / f"{name}.mjs").read_text())
    try:
        ended = subprocess.run(
            [NODE, program, server.url, query, *more], capture_output=True, text=True, timeout=120
        )
    finally:
        program.unlink()
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_ag_ui(tmp_path: Path):
    """Its client verifies the order of events, and folds the messages of both segments."""
    with serving(crew_at(tmp_path)) as server:
        found = said_to(server, "agui", "pay bob", tmp_path)
    assert found["result"] == "It is done: paid bob"
    assert (found["calls"], found["tools"], found["interrupts"]) == (["pay"], ["paid bob"], 1)
    assert len(found["ids"]) == len(set(found["ids"]))
    assert paid(tmp_path) == ["bob"]


def test_the_ai_sdk(tmp_path: Path):
    """Its chat asks for the approval, sends the answer by itself, and goes on in the same message."""
    with serving(crew_at(tmp_path)) as server:
        found = said_to(server, "ai", "pay bob", tmp_path)
    assert found["errors"] == []
    assert found["text"] == "It is done: paid bob"
    assert found["tools"] == [["pay", "output-available", "paid bob"]]
    assert found["anew"] == [["pay", "output-available"]]
    assert (found["messages"], found["asked"], found["status"]) == (2, 1, "ready")
    assert paid(tmp_path) == ["bob"]


def test_the_ai_sdk_goes_back(tmp_path: Path):
    """In a chat that the crew keeps: each time, what was answered before is not shown."""
    folder = crew_at(tmp_path, conversations={"title_after": 0})
    with serving(folder) as server, client(server) as http:
        found = said_to(server, "ai", "hi", tmp_path, "hello", "blue", "good day")
        assert (found["errors"], found["messages"]) == ([], 2)
        queries = []
        for name in ("c1", "c1-fork-1", "c1-fork-2", "c1-fork-3"):
            kept = http.get(f"/api/crew/conversations/{name}").json()["exchanges"]
            queries.append([one["query"] for one in kept])
    assert queries == [["hi", "hello"], ["hi", "hello"], ["hi", "blue"], ["good day"]]


def test_openai(tmp_path: Path):
    """Its client checks each event of a stream against the whole response."""
    with serving(crew_at(tmp_path)) as server:
        found = said_to(server, "openai", "pay bob", tmp_path)
    assert "Waiting for a decision" in found["content"]
    assert (found["text"], found["asked"]) == ("It is done: paid bob", 1)
    assert (found["items"], found["last"]) == (["mcp_call", "message"], "response.completed")
    assert paid(tmp_path) == ["bob"]


BINDINGS = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


@BINDINGS
def test_a2a_in_javascript(binding: str, tmp_path: Path):
    """A task asks, is answered by a decision as data, and ends with its artifact."""
    with serving(crew_at(tmp_path)) as server:
        found = said_to(server, "a2a", "pay bob", tmp_path, binding)
    assert (found["text"], found["begins"]) == ("It is done: paid bob", "task")
    # input required; completed
    assert (found["first"], found["state"]) == (6, 3)
    assert paid(tmp_path) == ["bob"]


@BINDINGS
def test_a2a_in_python(binding: str, tmp_path: Path):
    """The same, with the list of tasks, and a task that can be cancelled no more."""
    with serving(crew_at(tmp_path)) as server:
        program = CLIENTS / "a2a_client.py"
        command = [PYTHON_PROGRAMS / "python", program, server.url, "pay bob", binding]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "text": "It is done: paid bob",
        "first": "TASK_STATE_INPUT_REQUIRED",
        "state": "TASK_STATE_COMPLETED",
        "listed": 1,
        "refused": "TaskNotCancelableError",
    }
    assert paid(tmp_path) == ["bob"]


@pytest.mark.parametrize("name", ["agui", "ai", "openai", "a2a"])
@pytest.mark.parametrize("example", ["it-support", "parallel", "intents", "assistant"])
def test_examples(example: str, name: str, tmp_path: Path):
    """Without an error, to the answer that the crew's own API has."""
    folder = copy_example(example, tmp_path)
    query = "Please look at this machine: how many days may I work from abroad?"
    with serving(folder, "--provider", "scripted") as server, client(server) as http:
        found = said_to(server, name, query, tmp_path)
        run = http.get("/api/crew/runs", params={"limit": 1}).json()["runs"][0]
        assert run["status"] == "completed"
        answer = http.get(f"/api/crew/runs/{run['run_id']}").json()["answer"]
    said = found.get("result") or found.get("text")
    assert said
    assert answer.startswith(said)
