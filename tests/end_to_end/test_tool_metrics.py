"""What a scrape says of tools that are refused, and answers that come too late for a call."""

from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.processes import client, serving
from tests.support.served_crew import until_status

ACTS = '''
def fail() -> str:
    """Fail as a server does that is away."""
    raise ConnectionError("away")

def pay(to: str) -> str:
    """Pay."""
    open("paid", "a").write(to)
    return "paid"
'''
DENIED = {
    "kind": "http",
    "description": "Ask.",
    "method": "GET",
    "url": "http://127.0.0.1:9/x",
}


def crew(folder: Path, tools: dict[str, Any], rules: list[Any]) -> Path:
    written = write_crew(folder / "crew", {"a": {"tools": list(tools)}}, rules, tools)
    (written / "acts.py").write_text(ACTS)
    return written


def test_refused_calls_are_counted(tmp_path: Path):
    """What must not be reached, and what does not work, each by its tool."""
    fail = {"kind": "python", "function": "acts.py:fail", "retries": 0, "effect": "read"}
    tools = {"ask": DENIED, "fail": {**fail, "breaker": {"failures": 1, "open_seconds": 600}}}
    rules = [
        {"turn": 1, "say": "", "calls": ["ask", "fail"]},
        {"turn": 2, "say": "", "calls": ["fail"]},
        {"say": "done"},
    ]
    with serving(crew(tmp_path, tools, rules)) as server, client(server) as http:
        assert http.post("/api/crew/run", json={"query": "x"}).json()["status"] == "completed"
        metrics = http.get("/metrics").text
    for line in (
        'crew_tool_denied_total{tool="ask",why="private-address"} 1.0',
        'crew_breaker_open{tool="fail"} 1.0',
        'crew_tool_calls_total{outcome="refused",tool="fail"} 1.0',
        'crew_tool_calls_total{outcome="error",tool="fail"} 1.0',
    ):
        assert line in metrics


def test_a_decision_that_comes_too_late(tmp_path: Path):
    """After the run was cancelled, or its deadline has refused the call: 409, and nothing acts."""
    asks = {"kind": "python", "function": "acts.py:pay"}
    rules = [
        {"after": "pay", "say": "well then"},
        {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
    ]
    for deadline, ends_as in ((None, "cancelled"), (0.5, "completed")):
        rule: Any = True if deadline is None else {"deadline_seconds": deadline}
        folder = crew(tmp_path / ends_as, {"pay": {**asks, "requires_approval": rule}}, rules)
        with serving(folder) as server, client(server) as http:
            run_id = http.post("/api/crew/runs", json={"query": "x"}).json()["run_id"]
            address = f"/api/crew/runs/{run_id}"
            if deadline is None:
                until_status(server, run_id, "paused")
                assert http.post(f"{address}/cancel").status_code == 202
            until_status(server, run_id, ends_as)
            late = http.post(f"{address}/resume", json={"decision": "approve"})
            assert late.status_code == 409, late.text
        assert not list(tmp_path.rglob("paid"))
