"""Two calls of one pause, decided by one answer: over HTTP and on the command line."""

from pathlib import Path
from typing import Any

from tests.support.crews import write_crew
from tests.support.fleet import events
from tests.support.forked import crew
from tests.support.processes import client, serving

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


def test_a_decision_is_on_what_was_shown(tmp_path: Path):
    """The hash of another call, or of other arguments, is refused; the run waits on."""
    with serving(paying(tmp_path)) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
        (pause,) = [e for e in events(http, run_id) if e["type"] == "pause"]
        bob, eve = pause["metadata"]["calls"]
        assert bob["hash"] != eve["hash"]
        assert len(bob["hash"]) == 64
        address = f"/api/crew/runs/{run_id}/resume"

        def decide(**hashes: str) -> int:
            decisions = [
                {"call_id": call["call_id"], "decision": "approve", "hash": hashes[name]}
                for name, call in (("bob", bob), ("eve", eve))
            ]
            return http.post(address, json={"decisions": decisions}).status_code

        assert decide(bob=eve["hash"], eve=bob["hash"]) == 409
        assert decide(bob=bob["hash"], eve="0" * 64) == 409
        assert http.get(f"/api/crew/runs/{run_id}").json()["status"] == "paused"
        assert decide(bob=bob["hash"], eve=eve["hash"]) == 202
        assert decide(bob=bob["hash"], eve=eve["hash"]) == 409


def test_other_arguments_and_the_rest_of_the_run(tmp_path: Path):
    """The token's name is in the events, and each decision is counted."""
    with serving(paying(tmp_path), CREW_API_TOKENS="ann:secret-of-ann-0123456789") as server:
        with client(server, headers={"Authorization": "Bearer secret-of-ann-0123456789"}) as http:
            run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
            (pause,) = [e for e in events(http, run_id) if e["type"] == "pause"]
            bob, eve = pause["metadata"]["calls"]
            assert (bob["effect"], bob["source"], bob["may"]) == (
                "idempotent",
                "python",
                ["approve", "edit", "deny"],
            )
            decisions: list[dict[str, Any]] = [
                {"call_id": bob["call_id"], "decision": "approve", "arguments": {"to": "joe"}},
                {"call_id": eve["call_id"], "decision": "approve", "remember": "run"},
            ]
            address = f"/api/crew/runs/{run_id}/resume"
            wrong = [{**decisions[0], "arguments": {"too": "joe"}}, decisions[1]]
            refused = http.post(address, json={"decisions": wrong})
            assert refused.status_code == 400
            assert "did you mean 'to'?" in refused.json()["detail"]
            body = {"query": "so", "run_id": run_id, "decisions": decisions}
            assert http.post("/api/crew/run", json=body).json()["status"] == "completed"
            told = events(http, run_id)
            (answered,) = [e for e in told if e["type"] == "answered"]
            assert answered["metadata"]["by"] == "ann"
            assert answered["metadata"]["decisions"][0]["arguments"] == {"to": "joe"}
            begun = [e["metadata"] for e in told if e["type"] == "tool_start"]
            assert [
                (one["arguments"]["to"], one["approved_by"], one["edited"]) for one in begun
            ] == [
                ("joe", "ann", True),
                ("eve", "ann", False),
            ]
            numbers = http.get("/metrics").text
            assert 'crew_approvals_total{decision="approve",tool="pay"} 2.0' in numbers


def test_on_the_command_line(tmp_path: Path):
    """`--call` once for each."""
    paying(tmp_path)
    paused = crew("run", str(tmp_path), "go", COLUMNS="200")
    run_id = paused.stderr.split("--answer ")[1].split()[0]
    assert '? pay {"to": "bob"} needs your approval (call_1_1)' in paused.stdout
    calls = ["--call", "call_1_1=deny=too dear", "--call", "a/call_1_2=approve"]
    done = crew("run", str(tmp_path), "--answer", run_id, *calls, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert "Denied by a person: too dear" in done.stdout
    assert "paid eve" in done.stdout
    paused = crew("run", str(tmp_path), "go", COLUMNS="200")
    run_id = paused.stderr.split("--answer ")[1].split()[0]
    calls = ["--call", 'call_1_1=approve={"to": "joe"}', "--call", "call_1_2=deny"]
    done = crew("run", str(tmp_path), "--answer", run_id, *calls, COLUMNS="200")
    assert '[A person changed the arguments to {"to": "joe"}]' in done.stdout
    assert "(os:" in done.stdout
    nothing = crew(
        "run", str(tmp_path), "--answer", run_id, "--call", "call_1_1=approve={to}", COLUMNS="200"
    )
    assert (nothing.returncode, "other arguments, as JSON" in nothing.stderr) == (2, True)
    wrong = crew(
        "run", str(tmp_path), "--answer", run_id, "--call", "call_1_1=perhaps", COLUMNS="200"
    )
    assert wrong.returncode == 2
    assert "write CALL=DECISION" in wrong.stderr


def test_words_decide_nothing(tmp_path: Path):
    """Neither a yes nor a no over HTTP: the answer says that a decision is missing."""
    with serving(paying(tmp_path)) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
        for words in ("yes", "approve", "no"):
            for address, body in (
                (f"/api/crew/runs/{run_id}/resume", {"query": words}),
                ("/api/crew/run", {"query": words, "run_id": run_id}),
            ):
                refused = http.post(address, json=body)
                assert refused.status_code == 400
                assert "decision" in refused.json()["detail"]
        by_link = http.get("/api/crew/stream", params={"run_id": run_id, "q": "yes"})
        assert by_link.status_code == 400
        assert http.get(f"/api/crew/runs/{run_id}").json()["status"] == "paused"
        denied = http.post("/api/crew/run", json={"run_id": run_id, "decision": "deny"})
        assert denied.json()["status"] == "completed"
