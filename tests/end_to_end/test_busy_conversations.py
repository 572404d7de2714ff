"""One run of a conversation at a time: on any machine, from any process, after a kill -9."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.end_to_end.test_conversations import API, RULES, ask, crew
from tests.support.fleet import Fleet
from tests.support.postgres import needs_postgres
from tests.support.processes import BIN, admitted, clean_environment, client, serving, sse, until


@pytest.mark.parametrize("on_busy", ["reject", "queue"])
def test_fifty_at_once(tmp_path: Path, on_busy: str):
    """One runs and the others are refused; or ten wait, and go on in their order."""
    # it goes on until all have asked
    rules = [{"hears": "slow", "say": "at last", "delay_seconds": 5}, *RULES]
    folder = crew(tmp_path, rules, conversations={"on_busy": on_busy, "title_after": 0})
    with serving(folder) as server, client(server) as http, ThreadPoolExecutor(50) as pool:
        first = http.post("/api/crew/runs", json={"query": "slow 0", "conversation_id": "c1"})
        assert first.status_code == 202
        started = [first]

        def start(number: int) -> httpx2.Response:
            body = {"query": f"more {number}", "conversation_id": "c1"}
            return admitted(lambda: http.post("/api/crew/runs", json=body))

        started += pool.map(start, range(1, 50))
        statuses = [one.status_code for one in started]
        refused = next(one for one in started if one.status_code != 202)
        expected = {"reject": (1, 49, 409), "queue": (11, 39, 429)}[on_busy]
        assert (statuses.count(202), statuses.count(expected[2])) == expected[:2], statuses
        assert refused.headers["retry-after"]
        if on_busy == "reject":
            assert refused.json()["url"] == first.headers["location"]
        accepted = expected[0]
        until(
            lambda: http.get(f"{API}/c1", params={"limit": 60}).json()["exchange_count"] == accepted
        )
        found = http.get(f"{API}/c1", params={"limit": 60}).json()["exchanges"]
        ids = [one.json()["run_id"] for one in started if one.status_code == 202]
        assert sorted(one["run_id"] for one in found) == sorted(ids)
        assert [one["exchange"] for one in found] == list(range(1, accepted + 1))
        ends = [(one["started_at"], one["ended_at"]) for one in found]
        assert ends == sorted(ends, key=lambda pair: pair[1])
        metrics = http.get("/metrics").text
        reason = {"reject": "busy", "queue": "waiting"}[on_busy]
        count = f'crew_conversation_refusals_total{{reason="{reason}"}} {expected[1]}.0'
        assert count in metrics


def test_a_waiting_run_is_followed_and_ended(tmp_path: Path):
    """Its stream shows it from its start on; one that is cancelled while it waits does not run."""
    folder = crew(tmp_path, conversations={"on_busy": "queue", "title_after": 0})
    with serving(folder) as server, client(server) as http, ThreadPoolExecutor(2) as pool:
        http.post("/api/crew/runs", json={"query": "slow", "conversation_id": "c1"})
        params = {"q": "I own FPT", "conversation_id": "c1"}
        streamed = pool.submit(lambda: sse(http.get("/api/crew/stream", params=params).text))
        until(lambda: len(http.get("/api/crew/runs").json()["runs"]) == 2)
        third = http.post("/api/crew/runs", json={"query": "never", "conversation_id": "c1"})
        assert http.post(f"{third.headers['location']}/cancel").status_code == 202
        events = streamed.result(60)
        assert [event["type"] for event in events][-1] == "done"
        assert events[0]["metadata"]["exchange"] == 2
        until(lambda: http.get(f"{API}/c1").json()["exchange_count"] == 3)
        found = http.get(f"{API}/c1").json()["exchanges"]
        assert [one["status"] for one in found] == ["completed", "completed", "cancelled"]


def test_a_killed_server_leaves_no_conversation_busy(tmp_path: Path):
    """The run is resumed, the exchange written once, and what waited goes on."""
    rules: list[dict[str, Any]] = [
        {"hears": "first", "say": "one", "delay_seconds": 1.5},
        {"seen": "first", "say": "I know the first"},
        {"say": "I know nothing"},
    ]
    folder = crew(tmp_path, rules, conversations={"on_busy": "queue", "title_after": 0})
    with serving(folder) as server, client(server) as http:
        for text in ("first", "second"):
            http.post("/api/crew/runs", json={"query": text, "conversation_id": "c1"})
        server.kill()
    with serving(folder) as server, client(server) as http:
        until(lambda: http.get(f"{API}/c1").json()["exchange_count"] == 2)
        found = http.get(f"{API}/c1").json()["exchanges"]
        assert [one["answer"] for one in found] == ["one", "I know the first"]
        assert ask(http, "third").json()["answer"] == "I know the first"


@needs_postgres
def test_on_several_machines(fleet: Fleet):
    """Two servers and two workers: one run at a time, in order, and chores are done by workers."""
    crew(fleet.folder, conversations={"on_busy": "queue", "title_after": 2})
    one, two = fleet.replica(), fleet.replica()
    first, second = fleet.worker(), fleet.worker()
    with ThreadPoolExecutor(8) as pool:

        def start(number: int) -> httpx2.Response:
            body = {"query": f"I own {number}", "conversation_id": "c1"}
            return (one, two)[number % 2].post("/api/crew/runs", json=body)

        started = list(pool.map(start, range(8)))
    assert [answer.status_code for answer in started] == [202] * 8
    # one of them dies in the middle
    first.kill()
    until(lambda: one.get(f"{API}/c1").json()["exchange_count"] == 8, 90)
    found = two.get(f"{API}/c1").json()["exchanges"]
    assert [exchange["exchange"] for exchange in found] == list(range(1, 9))
    assert {exchange["status"] for exchange in found} == {"completed"}
    until(lambda: one.get(f"{API}/c1").json()["title"] == "Shares of FPT", 90)
    assert second.process.poll() is None
    assert one.delete(f"{API}/c1").status_code == 204
    assert two.get(f"{API}/c1").status_code == 404


def test_two_commands_take_their_turns(tmp_path: Path):
    """Without a server: the one that waits looks for its turn by itself."""
    folder = crew(tmp_path, conversations={"on_busy": "queue", "title_after": 0})
    command: list[str | Path] = [BIN / "crew", "run", folder, "slow", "--conversation", "c1"]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment())
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert all("at last" in text for text in said)
    listed = subprocess.run(
        [BIN / "crew", "conversations", folder, "c1"],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert listed.stdout.count("at last") == 2
