"""Two calls of one pause, decided by one answer: over HTTP and on the command line."""

import subprocess
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.processes import BIN, clean_environment, client, serving

RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "{{result.pay}}"},
    {"say": "", "calls": [{"tool": "pay", "arguments": {"to": to}} for to in ("bob", "eve")]},
]


def paying(folder: Path) -> Path:
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return f'paid {to}'\n")
    return write_crew(folder, {"a": {"tools": ["pay"]}}, RULES, tools)


def test_over_http(tmp_path: Path):
    """Each by the call_id that the pause names."""
    with serving(paying(tmp_path)) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
        (pause,) = [e for e in events(http, run_id) if e["type"] == "pause"]
        bob, eve = [call["call_id"] for call in pause["metadata"]["calls"]]
        address = f"/api/crew/runs/{run_id}/resume"
        wrong = http.post(address, json={"decisions": [{"call_id": bob, "decision": "approve"}]})
        assert wrong.status_code == 400
        assert f"no decision on the call {eve} of a; give one" in wrong.json()["detail"]
        both = [
            {"call_id": bob, "decision": "deny", "reason": "too dear"},
            {"call_id": eve, "decision": "approve"},
        ]
        ended = http.post(
            "/api/crew/run", json={"query": "see each", "run_id": run_id, "decisions": both}
        ).json()
        assert ended["status"] == "completed"
        made = [e["metadata"] for e in events(http, run_id) if e["type"] == "tool_result"]
        assert [(one["status"], one["output"]) for one in made] == [
            ("denied", "Denied by a person: too dear"),
            ("success", "paid eve"),
        ]


def test_on_the_command_line(tmp_path: Path):
    """`--call` once for each."""
    paying(tmp_path)
    paused = crew("run", str(tmp_path), "go")
    run_id = paused.stderr.split("--answer ")[1].split()[0]
    assert '? pay {"to": "bob"} needs your approval (call_1_1)' in paused.stdout
    calls = ["--call", "call_1_1=deny=too dear", "--call", "a/call_1_2=approve"]
    done = crew("run", str(tmp_path), "--answer", run_id, *calls)
    assert done.returncode == 0, done.stderr
    assert "Denied by a person: too dear" in done.stdout
    assert "paid eve" in done.stdout
    wrong = crew("run", str(tmp_path), "--answer", run_id, "--call", "call_1_1=perhaps")
    assert wrong.returncode == 2
    assert "write CALL=DECISION" in wrong.stderr


def crew(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BIN / "crew", *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(COLUMNS="200"),
        timeout=60,
    )
