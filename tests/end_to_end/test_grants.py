"""Approvals that outlive their run, over HTTP and on the command line."""

import json
from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.forked import crew
from tests.support.processes import client, serving

ANN, BOT = "secret-of-ann-0123456789", "secret-of-bot-0123456789"
EVE = "secret-of-eve-0123456789"
TOKENS = f"ann+read+run+answer:{ANN},bot+read+run+answer:{BOT},eve+read+run:{EVE}"
RULES: list[dict[str, Any]] = [
    {"after": "pay", "say": "{{result.pay}}"},
    {"say": "", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
]


def paying(folder: Path) -> Path:
    rule = {"remember": ["run", "always"]}
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": rule}}
    (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return f'paid {to}'\n")
    return write_crew(folder, {"a": {"tools": ["pay"]}}, RULES, tools)


def test_over_http(tmp_path: Path):
    """Given by who may answer, for its own runs, seen and ended by it; the audit says who did."""
    with serving(paying(tmp_path), CREW_API_TOKENS=TOKENS) as server:
        ann = client(server, headers={"Authorization": f"Bearer {ANN}"})
        bot = client(server, headers={"Authorization": f"Bearer {BOT}"})
        eve = client(server, headers={"Authorization": f"Bearer {EVE}"})
        with ann, bot, eve:
            assert ann.get("/api/crew/grants").json() == {"grants": []}
            run_id = ann.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
            decision = {"call_id": "call_1_1", "decision": "approve", "remember": "always"}
            body = {"query": "so", "run_id": run_id, "decisions": [decision]}
            wrong = {**body, "decisions": [{**decision, "patterns": {"to": ""}}]}
            assert ann.post("/api/crew/run", json=wrong).status_code == 400
            assert ann.post("/api/crew/run", json=body).json()["status"] == "completed"
            later = ann.post("/api/crew/run", json={"query": "go"}).json()
            assert (later["status"], later["answer"]) == ("completed", "paid bob")
            # of another owner's runs nothing was said
            assert bot.post("/api/crew/run", json={"query": "go"}).json()["status"] == "paused"
            (grant,) = ann.get("/api/crew/grants").json()["grants"]
            assert (grant["tool"], grant["by"], grant["run_id"]) == ("pay", "ann", run_id)
            (started,) = [e for e in events(ann, later["run_id"]) if e["type"] == "tool_start"]
            assert started["metadata"]["grant"] == grant["id"]
            address = f"/api/crew/grants/{grant['id']}"
            assert bot.get("/api/crew/grants").json() == {"grants": []}
            assert bot.delete(address).status_code == 404
            assert eve.get("/api/crew/grants").status_code == 403
            assert eve.delete(address).status_code == 403
            assert ann.delete("/api/crew/grants/none").status_code == 404
            assert ann.delete("/api/crew/grants/%00").status_code == 404
            assert ann.delete(address).status_code == 204
            assert ann.delete(address).status_code == 404
            again = ann.post("/api/crew/run", json={"query": "go"}).json()
            assert again["status"] == "paused"
    entries = [json.loads(line) for line in crew("audit", tmp_path, "--json").stdout.splitlines()]
    told = {one["action"]: one for one in entries}
    assert (told["revoke"]["name"], told["revoke"]["detail"]) == ("ann", grant["id"])
    assert told["answer"]["detail"] == "call_1_1=approve always"


def test_on_the_command_line(tmp_path: Path):
    """`--call ID=always` gives one, `crew grants` shows and ends it."""
    folder = paying(tmp_path)
    assert crew("grants", folder).stdout == ""
    none = crew("grants", folder, "--revoke", "x")
    assert (none.returncode, "there is no grant 'x'" in none.stderr) == (2, True)
    paused = crew("run", folder, "go")
    assert paused.returncode == 3
    run_id = json.loads(crew("runs", folder, "--json").stdout.splitlines()[0])["run_id"]
    answered = crew("run", folder, "--answer", run_id, "--call", "call_1_1=always")
    assert answered.returncode == 0, answered
    assert crew("run", folder, "go").returncode == 0
    (shown,) = crew("grants", folder).stdout.splitlines()
    assert 'pay(to="bob")  of a, by os:' in shown
    (document,) = [json.loads(one) for one in crew("grants", folder, "--json").stdout.splitlines()]
    assert document["id"] in shown
    ended = crew("grants", folder, "--revoke", document["id"])
    assert (ended.returncode, ended.stdout) == (0, "")
    assert crew("run", folder, "go").returncode == 3
