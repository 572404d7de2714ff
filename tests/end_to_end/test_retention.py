"""What a server keeps and for how long: keys of requests, pauses that nobody answers, events of runs that have ended."""

import sqlite3
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.processes import BIN, clean_environment, client, serving, sse, until

ASKING = {
    "agent_behaviors": {"a": {"wait_for_signal": True}},
    "signals": {"a": [{"signal": "[E]"}]},
}
RULES: list[dict[str, Any]] = [
    {"hears": "slow", "say": "at last [E]", "delay_seconds": 0.5},
    {"hears": "end", "say": "bye [E]"},
    {"say": "what?"},
]


def crew(folder: Path, **behavior: Any) -> Path:
    routing = {**ASKING, "agent_behaviors": {"a": {"wait_for_signal": True, **behavior}}}
    return write_crew(
        folder / "crew",
        {"a": {}, "b": {"is_terminal": True}},
        [{"agent": "b", "say": "b ends"}, *RULES],
        routing=routing,
    )


def runs(http: httpx2.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/api/crew/runs").json()["runs"]
    return found


def test_a_request_with_a_key_begins_one_run(tmp_path: Path):
    """As a document, as a stream, many at once, after a restart; another request under the same key is refused."""
    folder = crew(tmp_path)
    key = {"Idempotency-Key": "order-7"}
    with serving(folder) as server, client(server) as http:
        answers: list[httpx2.Response] = []
        asks = [
            threading.Thread(
                target=lambda: answers.append(
                    http.post("/api/crew/run", json={"query": "slow"}, headers=key)
                )
            )
            for _ in range(8)
        ]
        for ask in asks:
            ask.start()
        for ask in asks:
            ask.join()
        assert {answer.json()["answer"] for answer in answers} == {"at last [E]"}
        assert (
            sorted("idempotency-replayed" in answer.headers for answer in answers)
            == [False] + [True] * 7
        )
        assert len(runs(http)) == 1
        # an EventSource cannot send headers
        given = {"q": "slow", "idempotency_key": "order-7"}
        got = http.get("/api/crew/stream", params=given)
        assert got.headers["idempotency-replayed"] == "true"
        assert len(runs(http)) == 1
        wrong = http.get("/api/crew/stream", params={**given, "idempotency_key": ""})
        assert wrong.status_code == 400
        assert "idempotency_key: is 1 to 255" in wrong.json()["detail"]
        streamed = http.post(
            "/api/crew/stream",
            json={"query": "slow", "deltas": True},
            headers={"Idempotency-Key": '"order-7"'},
        )
        assert [event["type"] for event in sse(streamed.text)] == [
            "start",
            "agent_start",
            "agent_response",
            "done",
        ]
        assert streamed.headers["idempotency-replayed"] == "true"
        other = http.post("/api/crew/run", json={"query": "end"}, headers=key)
        assert (other.status_code, "another request" in other.json()["detail"]) == (422, True)
        server.kill()
    with serving(folder) as server, client(server) as http:
        again = http.post("/api/crew/run", json={"query": "slow"}, headers=key)
        assert (again.json()["answer"], again.headers["idempotency-replayed"]) == (
            "at last [E]",
            "true",
        )
        assert len(runs(http)) == 1
        assert (
            "idempotency-replayed" not in http.post("/api/crew/run", json={"query": "end"}).headers
        )


def test_an_answer_with_a_key_is_given_once(tmp_path: Path):
    """The same answer again is accepted again; its stream is that of its own segment."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "hello"}).json()["run_id"]
        address, first, second = (
            f"/api/crew/runs/{run_id}/resume",
            {"Idempotency-Key": "a1"},
            {"Idempotency-Key": "a2"},
        )
        assert http.post(address, json={"query": "more"}, headers=first).status_code == 202
        segment = http.post(
            "/api/crew/stream", json={"query": "more", "run_id": run_id}, headers=first
        )
        shown = [event["metadata"].get("seq") for event in sse(segment.text)]
        assert shown == [6, 7, 8, 9, 10, 11]
        again = http.post(address, json={"query": "more"}, headers=first)
        assert (
            again.status_code,
            again.headers["idempotency-replayed"],
            again.json()["run_id"],
        ) == (202, "true", run_id)
        assert http.post(address, json={"query": "end"}, headers=first).status_code == 422
        ended = http.post("/api/crew/run", json={"query": "end", "run_id": run_id}, headers=second)
        assert ended.json()["answer"] == "bye [E]"
        assert [
            event["metadata"].get("seq")
            for event in sse(
                http.post(
                    "/api/crew/stream", json={"query": "more", "run_id": run_id}, headers=first
                ).text
            )
        ] == shown
        assert http.post(address, json={"query": "end"}).status_code == 409


def test_a_replay_is_of_its_own_segment(tmp_path: Path):
    """Though the run has gone on since, and has ended."""
    key = {"Idempotency-Key": "first"}
    with serving(crew(tmp_path)) as server, client(server) as http:
        first = http.post("/api/crew/run", json={"query": "hello"}, headers=key).json()
        http.post("/api/crew/run", json={"query": "end", "run_id": first["run_id"]})
        again = http.post("/api/crew/run", json={"query": "hello"}, headers=key).json()
        assert again == first | {"duration_seconds": again["duration_seconds"]}
        assert (again["status"], again["answer"]) == ("paused", "what?")


def test_pauses_that_nobody_answers_are_bounded(tmp_path: Path):
    """Only a person's answer lets the limits count anew."""
    behaviors = {
        "a": {"wait_for_signal": True, "wait_timeout_seconds": 0.1, "on_wait_timeout": "b"}
    }
    routing = {
        "agent_behaviors": behaviors,
        "signals": {"a": [{"signal": "[E]"}]},
        "defaults": {"b": "a"},
    }
    folder = write_crew(
        tmp_path / "crew",
        {"a": {}, "b": {}},
        [{"say": "x"}],
        routing=routing,
        settings={"max_handoffs": 3},
    )
    with serving(folder) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "hello"}).json()["run_id"]
        row = ended(http, f"/api/crew/runs/{run_id}")
        assert (row["reason"], row["handoffs"]) == ("max_handoffs", 3)


def test_an_answer_may_name_its_pause(tmp_path: Path):
    """Then it is none to the next one."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "hello"}).json()["run_id"]
        address = f"/api/crew/runs/{run_id}/resume"
        assert http.post(address, json={"query": "more", "pause": 3}).status_code == 409
        assert (
            http.post("/api/crew/run", json={"query": "more", "run_id": run_id, "pause": 4}).json()[
                "status"
            ]
            == "paused"
        )
        late = http.post(address, json={"query": "end", "pause": 4})
        assert (late.status_code, "is not in the pause of event 4" in late.json()["detail"]) == (
            409,
            True,
        )
        assert http.post(address, json={"query": "end", "pause": 10}).status_code == 202
        assert http.post("/api/crew/run", json={"query": "x", "pause": 4}).status_code == 400


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", '"', "ключ".encode().decode("latin-1")])
def test_a_key_that_is_none_is_refused(key: str, tmp_path: Path):
    """Nothing is begun."""
    with serving(crew(tmp_path)) as server, client(server) as http:
        answer = http.post(
            "/api/crew/run",
            json={"query": "end"},
            headers={b"Idempotency-Key": key.encode("latin-1")},
        )
        assert (answer.status_code, "Idempotency-Key" in answer.json()["detail"]) == (400, True)
        assert runs(http) == []


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize(
    ("target", "answer", "reason"), [("b", "b ends", "terminal"), (None, "what?", "no_answer")]
)
def test_a_pause_that_nobody_answers_goes_on(
    target: str | None, answer: str, reason: str, *, killed: bool, tmp_path: Path
):
    """To where crew.yaml says, or to the end; also where the server was down at the time."""
    folder = crew(tmp_path, wait_timeout_seconds=1, on_wait_timeout=target)
    with serving(folder) as server, client(server) as http:
        paused = http.post("/api/crew/run", json={"query": "hello"}).json()
        assert paused["status"] == "paused"
        address = f"/api/crew/runs/{paused['run_id']}"
        assert http.get(address).json()["paused_until"] > http.get(address).json()["started_at"]
        if killed:
            server.kill()
        else:
            ended(http, address)
    with serving(folder) as server, client(server) as http:
        row = ended(http, address)
        assert (row["status"], row["answer"], row["reason"]) == ("completed", answer, reason)
        events = sse(http.get(f"{address}/events").text)
        assert [event["metadata"]["answer_until"] for event in events if event["type"] == "pause"]
        assert [
            event["metadata"].get("expired") for event in events if event["type"] == "start"
        ] == [None, True]
        assert [event["metadata"]["why"] for event in events if event["type"] == "handoff"] == (
            ["no_answer"] if target else []
        )
        assert http.post(f"{address}/resume", json={"query": "end"}).status_code == 409


def ended(http: httpx2.Client, address: str) -> dict[str, Any]:
    """The test's own time limit ends what never comes."""
    until(lambda: http.get(address).json()["status"] not in ("paused", "running"))
    found: dict[str, Any] = http.get(address).json()
    return found


def test_calls_that_nobody_approves_are_denied(tmp_path: Path):
    """In time, with the reason; the agent reads it."""
    tools = {"pay": {"kind": "python", "function": "acts.py:pay", "requires_approval": True}}
    rules = [{"after": "pay", "say": "{{result.pay}}"}, {"say": "", "calls": ["pay"]}]
    routing = {"agent_behaviors": {"a": {"wait_timeout_seconds": 1}}}
    folder = write_crew(tmp_path / "crew", {"a": {"tools": ["pay"]}}, rules, tools, routing=routing)
    (folder / "acts.py").write_text("def pay() -> str:\n    return 'paid'\n")
    with serving(folder) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "go"}).json()["run_id"]
        row = ended(http, f"/api/crew/runs/{run_id}")
        assert "Denied without an answer: nobody answered until 20" in row["answer"]


def test_events_are_kept_for_a_while(tmp_path: Path):
    """Then a stream begins with a gap that says how the run came out, the same on every connection."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        run_id = http.post("/api/crew/run", json={"query": "end"}).json()["run_id"]
        paused = http.post("/api/crew/run", json={"query": "hello"}).json()["run_id"]
    with serving(folder, CREW_KEEP_EVENTS="2") as server, client(server) as http:
        address = f"/api/crew/runs/{run_id}/events"
        until(lambda: sse(http.get(address).text)[0]["type"] == "gap")
        events = sse(http.get(address).text)
        gap, *rest = events
        assert (gap["id"], gap["metadata"]["from"], gap["metadata"]["to"]) == (f"{run_id}:2", 1, 2)
        assert gap["metadata"]["snapshot"]["answer"] == "bye [E]"
        assert [event["type"] for event in rest] == ["agent_response", "done"]
        assert http.get(address).text == http.get(address).text
        # a cursor in the middle of it, one behind it, one at the end, one ahead
        behind = [sse(http.get(address, params={"after": n}).text) for n in (1, 2, 3)]
        assert [[event["type"] for event in one] for one in behind] == [
            ["gap", "agent_response", "done"],
            ["agent_response", "done"],
            ["done"],
        ]
        assert behind[0][0]["metadata"]["from"] == 2
        assert [http.get(address, params={"after": n}).status_code for n in (4, 5)] == [204, 400]
        assert len(sse(http.get(f"/api/crew/runs/{paused}/events").text)) == 5
    path = folder / "crew.yaml"
    path.write_text(path.read_text() + "replay: { keep: { runs: 0 } }\n")
    with serving(folder, CREW_KEEP_EVENTS_DAYS="0") as server, client(server) as http:
        until(lambda: len(sse(http.get(address).text)) == 1)
        events = sse(http.get(address).text)
        assert (events[0]["type"], events[0]["id"]) == ("gap", f"{run_id}:4")
        assert http.get(address, headers={"Last-Event-ID": f"{run_id}:4"}).status_code == 204
        assert http.get(f"/api/crew/runs/{run_id}").json()["answer"] == "bye [E]"
    received = subprocess.run(
        [BIN / "crew", "runs", folder, run_id],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    ).stdout
    assert "Events 1 to 4 are no longer kept" in received
    assert "bye [E]" in received
    with serving(folder, CREW_KEEP_RUNS_DAYS="0") as server, client(server) as http:
        until(lambda: http.get(f"/api/crew/runs/{run_id}").status_code == 404)
        assert [run["run_id"] for run in runs(http)] == [paused]
    assert sqlite3.connect(folder / ".crew" / "crew.db").execute(
        "SELECT count(*) FROM events"
    ).fetchone() == (5,)
