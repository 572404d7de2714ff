"""Runs that are started without a stream, found again, and answered from the inbox."""

import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.processes import BIN, ServerProcess, clean_environment, client, serving
from tests.support.served_crew import until_status

ACTS = '''
def restart(host: str) -> str:
    """Restart a host."""
    return "restarted " + host
'''
CALL = {"tool": "restart", "arguments": {"host": "web-1"}}


@pytest.fixture
def server(tmp_path: Path):
    """Asks in words for some, about a call for others."""
    (tmp_path / "acts.py").write_text(ACTS)
    tools = {
        "restart": {"kind": "python", "function": "acts.py:restart", "requires_approval": True}
    }
    rules = [
        {"agent": "a", "after": "restart", "say": "it is up"},
        {"agent": "a", "hears": "restart", "say": "I will", "calls": [CALL]},
        {"agent": "a", "hears": "which", "say": "which host?"},
        {"agent": "a", "say": "all is well [END]"},
    ]
    routing = {
        "signals": {"a": [{"signal": "[END]"}]},
        "agent_behaviors": {"a": {"wait_for_signal": True}},
    }
    write_crew(tmp_path, {"a": {"tools": ["restart"]}}, rules, tools, routing=routing)
    with serving(tmp_path) as started:
        yield started


def begun(http: httpx2.Client, query: str, **headers: str) -> str:
    answer = http.post("/api/crew/runs", json={"query": query}, headers=headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == answer.json()["url"]
    return str(answer.json()["run_id"])


def test_a_run_without_a_stream(server: ServerProcess):
    """It is accepted at once, once for each key, and goes on without anyone who listens."""
    with client(server) as http:
        run_id = begun(http, "look", **{"Idempotency-Key": "k"})
        assert begun(http, "look", **{"Idempotency-Key": "k"}) == run_id
        found = until_status(server, run_id, "completed")
        assert found["answer"] == "all is well [END]"
        assert found["waiting"] is None
        wrong = http.post("/api/crew/runs", json={"query": "x", "run_id": run_id})
        assert wrong.status_code == 400
        assert "run_id: is unknown" in wrong.json()["detail"]


def test_the_inbox_has_what_each_run_asks(server: ServerProcess):
    """Oldest first, in pages, with every argument; what was answered is there no more."""
    with client(server) as http:
        first, second = begun(http, "which"), begun(http, "restart it")
        for run_id in (first, second):
            until_status(server, run_id, "paused")
        page = http.get("/api/crew/inbox", params={"limit": 1}).json()
        assert [run["run_id"] for run in page["runs"]] == [first]
        assert page["runs"][0]["answer"] == "which host?"
        assert "question" not in page["runs"][0]["waiting"]
        rest = http.get("/api/crew/inbox", params={"after": page["next"]}).json()
        (run,) = rest["runs"]
        assert rest["next"] is None
        (asked,) = run["waiting"]["calls"]
        assert asked["arguments"] == {"host": "web-1"}
        assert http.get(f"/api/crew/runs/{second}").json()["waiting"] == run["waiting"]
        decision = {key: asked[key] for key in ("call_id", "agent_id", "hash")}
        answer = {
            "decisions": [decision | {"decision": "approve"}],
            "pause": run["waiting"]["seq"],
        }
        assert http.post(f"/api/crew/runs/{second}/resume", json=answer).status_code == 202
        # it asks what else, in words
        until_status(server, second, "paused")
        waiting = http.get("/api/crew/inbox").json()["runs"]
        assert [run["run_id"] for run in waiting] == [first, second]
        assert "calls" not in waiting[1]["waiting"]


def test_runs_are_found_again(server: ServerProcess):
    """By a part of the query, by agent, status and time; a wrong filter is told."""
    with client(server) as http:
        first, second = begun(http, "look at WEB-1"), begun(http, "which disk is đầy")
        until_status(server, first, "completed")
        until_status(server, second, "paused")

        def found(**filters: str) -> list[str]:
            listed = http.get("/api/crew/runs", params=filters).json()["runs"]
            return [run["run_id"] for run in listed]

        assert found(text="web-1") == [first]
        assert found(text="ĐẦY", status="paused") == [second]
        assert found(agent_id="a", since="2020-01-01T00:00:00Z") == [second, first]
        assert found(until="2020-01-01") == []
        listed = http.get("/api/crew/runs", params={"text": "web"}).json()["runs"][0]
        assert listed["usage"]["total_tokens"] > 0
        assert listed["duration_seconds"] >= 0
        for wrong in (
            {"since": "yesterday"},
            {"since": "2026-02-30"},
            {"agent_id": "../x"},
            {"text": "x" * 201},
        ):
            answer = http.get("/api/crew/runs", params=wrong)
            assert answer.status_code == 400
            assert next(iter(wrong)) in answer.json()["detail"]


def test_what_has_started_a_run(tmp_path: Path):
    """An API, the console, a hook, a copy, a terminal: kept with the run, listed, and filtered by."""
    hooks = {"alert": {"kind": "json", "query": "{/text}"}}
    folder = write_crew(tmp_path / "crew", {"a": {"is_terminal": True}}, hooks=hooks)
    subprocess.run(
        [BIN / "crew", "run", folder, "from a terminal"],
        check=True,
        capture_output=True,
        env=clean_environment(),
    )
    with serving(folder) as server, client(server) as http:
        first = begun(http, "from an API")
        until_status(server, first, "completed")
        begun(http, "from the console", **{"X-Crew-Source": "console"})
        http.post("/api/crew/hooks/alert", json={"text": "from a hook"}).raise_for_status()
        fork = http.post(f"/api/crew/runs/{first}/fork", json={"after": 1})
        until_status(server, fork.json()["run_id"], "completed")
        listed = http.get("/api/crew/runs").json()["runs"]
        expected = [
            ("fork", first),
            ("hook", "alert"),
            ("console", ""),
            ("api", ""),
            ("user", ""),
        ]
        assert [(run["source"], run["source_name"]) for run in listed] == expected
        for kind, name in expected:
            (run,) = http.get("/api/crew/runs", params={"source": kind}).json()["runs"]
            assert (run["source"], run["source_name"]) == (kind, name)
        wrong = http.get("/api/crew/runs", params={"source": "cron"})
        assert wrong.status_code == 400
        assert "source: is one of user, console, api" in wrong.json()["detail"]
    shown = subprocess.run(
        [BIN / "crew", "runs", folder], capture_output=True, text=True, env=clean_environment()
    ).stdout.splitlines()
    assert shown[0].endswith(f"[fork {first}]")
    assert shown[1].endswith("from a hook  [hook alert]")
    assert shown[3].endswith("from an API")
