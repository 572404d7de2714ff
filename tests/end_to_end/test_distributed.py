"""Several machines: any of them streams, answers and cancels any run."""

import json
import signal
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from tests.support.crews import write_crew
from tests.support.fleet import (
    Fleet,
    begin,
    command,
    events,
    pausing_crew,
    records,
    slow_crew,
    status,
)
from tests.support.postgres import needs_postgres
from tests.support.processes import BIN, ServerProcess, clean_environment, client, sse, until

pytestmark = needs_postgres


def test_any_replica_streams_any_run(fleet: Fleet):
    """Begun at one, played by a worker, read at both: the same bytes, live and afterwards, and as one document."""
    slow_crew(fleet.folder)
    one, two = fleet.replica(), fleet.replica()
    fleet.worker()
    with one.stream("POST", "/api/crew/stream", json={"query": "x"}) as stream:
        lines = stream.iter_lines()
        run_id = (
            next(line for line in lines if line.startswith("id: "))
            .removeprefix("id: ")
            .partition(":")[0]
        )
        beside: list[str] = []
        reading = threading.Thread(
            target=lambda: beside.append(two.get(f"/api/crew/runs/{run_id}/events").text)
        )
        reading.start()
        here = [line for line in lines if line.startswith("data: ")]
        reading.join()
    received = [line for line in beside[0].splitlines() if line.startswith("data: ")]
    assert received == here
    assert (
        beside[0]
        == two.get(f"/api/crew/runs/{run_id}/events").text
        == one.get(f"/api/crew/runs/{run_id}/events").text
    )
    assert [e["metadata"]["seq"] for e in sse(beside[0])] == list(range(1, len(received) + 1))
    answered = one.post("/api/crew/run", json={"query": "y"}).json()
    assert (answered["status"], answered["answer"]) == ("completed", "there")


def test_words_cross_machines(fleet: Fleet):
    """Deltas are published at the replica as the worker's model writes them, from the first one on."""
    write_crew(fleet.folder, {"a": {"is_terminal": True}}, [{"say": "one two three four"}])
    http = fleet.replica()
    fleet.worker()
    whole = 0
    for _ in range(20):
        received = sse(http.post("/api/crew/stream", json={"query": "x", "deltas": True}).text)
        words = "".join(event["content"] for event in received if event["type"] == "agent_delta")
        # where notices come seconds late, the answer is not held back for them
        assert "one two three four".startswith(words)
        whole += words == "one two three four"
        assert [event["type"] for event in received if event["id"]] == [
            "start",
            "agent_start",
            "agent_response",
            "done",
        ]
    assert whole > 0


def test_a_stream_has_one_end(fleet: Fleet):
    """However soon a pause is answered and however many stream at once, each stream is its own segment, to its end."""
    pausing_crew(fleet.folder)
    http, address = fleet.replica(), "/api/crew/stream"
    fleet.worker("--at-once", "50")
    received: list[list[dict[str, Any]]] = []

    def play() -> None:
        with client(
            ServerProcess(fleet.processes[0].process, str(http.base_url), fleet.processes[0].log)
        ) as own:
            for _ in range(5):
                with own.stream("POST", address, json={"query": "x"}) as stream:
                    mine = []
                    for line in stream.iter_lines():
                        if line.startswith("data: "):
                            mine.append(json.loads(line.removeprefix("data: ")))
                            if mine[-1]["type"] == "pause":
                                resume = f"/api/crew/runs/{mine[-1]['metadata']['run_id']}/resume"
                                answered = own.post(resume, json={"query": "go on"}).status_code
                                while answered == 409:
                                    answered = own.post(resume, json={"query": "go on"}).status_code
                    received.append(mine)

    both = [threading.Thread(target=play) for _ in range(8)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    kinds = [[event["type"] for event in mine] for mine in received]
    assert len(kinds) == 40
    assert all(
        mine[0] == "start" and mine[-1] == "done" and mine.count("done") == 1 for mine in kinds
    ), kinds


def test_a_pause_is_answered_anywhere(fleet: Fleet):
    """Nothing is held meanwhile: all processes may be others when the answer comes; the first answer wins."""
    pausing_crew(fleet.folder)
    first = fleet.start("serve")
    worker = fleet.worker()
    with client(first) as http:
        paused = http.post("/api/crew/run", json={"query": "x"}).json()
    assert paused["status"] == "paused"
    assert (first.stop(), worker.stop()) == (0, 0)
    one, two = fleet.replica(), fleet.replica()
    said: list[int] = []
    address = f"/api/crew/runs/{paused['run_id']}/resume"
    both = [
        threading.Thread(
            target=lambda h=h: said.append(h.post(address, json={"query": "go on"}).status_code)
        )
        for h in (one, two)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(said) == [202, 409]
    assert status(one, paused["run_id"]) == "running"
    fleet.worker()
    until(lambda: status(two, paused["run_id"]) == "completed")
    assert one.get(f"/api/crew/runs/{paused['run_id']}").json()["answer"] == "done"


def test_cancel_reaches_the_other_machine(fleet: Fleet):
    """A run that waits for a worker, one that a worker plays, one whose only worker is dead, one that is paused."""
    rules = [{"hears": "ask", "say": "what?"}, {"say": "late", "delay_seconds": 60}]
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[A]", "target": "a"}]},
    }
    write_crew(
        fleet.folder, {"a": {}}, rules, routing=routing, settings={"disconnect_grace_seconds": -1}
    )
    http = fleet.replica()

    def ends(run_id: str, seconds: float) -> None:
        assert http.post(f"/api/crew/runs/{run_id}/cancel").status_code == 202
        until(lambda: status(http, run_id) == "cancelled", seconds)
        assert http.post(f"/api/crew/runs/{run_id}/cancel").status_code == 409
        assert events(http, run_id)[-1]["metadata"]["reason"] == "cancelled"

    ends(begin(http), 5)
    worker = fleet.worker()
    played, orphaned = begin(http), begin(http)
    paused = http.post("/api/crew/run", json={"query": "ask"}).json()["run_id"]
    for run_id in (played, orphaned):
        until(lambda: len(records(fleet, run_id)) > 1)  # noqa: B023 # it is awaited at once
    ends(played, 5)
    worker.kill()
    ends(paused, 5)
    ends(orphaned, 15)


def test_a_run_that_nobody_listens_to_any_more(fleet: Fleet):
    """It ends after its grace, counted over all replicas: one listener anywhere keeps it."""
    rules = [{"say": "late", "delay_seconds": 60}]
    write_crew(
        fleet.folder, {"a": {"is_terminal": True}}, rules, settings={"disconnect_grace_seconds": 2}
    )
    one, two = fleet.replica(), fleet.replica()
    fleet.worker()
    heard, left = begin(one), begin(one)
    with two.stream("GET", f"/api/crew/runs/{heard}/events") as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line.startswith("id: "))
        until(lambda: status(one, left) == "cancelled")
        assert status(one, heard) == "running"
    until(lambda: status(one, heard) == "cancelled")


def test_who_comes_back_has_the_whole_grace_again(fleet: Fleet):
    """Counted from the last one who left, also where a worker plays the run."""
    grace = 4
    settings = {"disconnect_grace_seconds": grace, "sse_keep_alive_seconds": 1}
    rules = [{"say": "late", "delay_seconds": 60}]
    write_crew(fleet.folder, {"a": {"is_terminal": True}}, rules, settings=settings)
    http = fleet.replica()
    fleet.worker()
    run_id = begin(http)
    with http.stream("GET", f"/api/crew/runs/{run_id}/events") as stream:
        # half of the grace passes
        signs = (line for line in stream.iter_lines() if '"ping"' in line)
        for _ in range(3):
            next(signs)
        left = datetime.now(UTC)
    until(lambda: status(http, run_id) == "cancelled")
    ended = datetime.fromisoformat(events(http, run_id)[-1]["timestamp"])
    assert ended - left > timedelta(seconds=grace - 0.5)


def test_the_terminal_is_a_client(fleet: Fleet):
    """`crew run` queues its run and shows what the worker plays; it says when there is none; `crew runs` has it."""
    pausing_crew(fleet.folder)
    http = fleet.replica()
    alone = subprocess.Popen(
        [BIN / "crew", "run", fleet.folder, "x", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(CREW_DATABASE_URL=fleet.database),
    )
    assert alone.stderr is not None
    assert "no worker is at work" in alone.stderr.readline()
    alone.send_signal(signal.SIGINT)
    alone.communicate(timeout=30)
    (left,) = http.get("/api/crew/runs").json()["runs"]
    assert (alone.returncode, left["status"]) == (130, "cancelled")
    fleet.worker()
    played = command(fleet, "run", str(fleet.folder), "x", "--json")
    received = [json.loads(line) for line in played.stdout.splitlines()]
    assert (played.returncode, received[-1]["metadata"]["reason"]) == (3, "paused")
    run_id = received[0]["metadata"]["run_id"]
    answered = command(fleet, "run", str(fleet.folder), "go on", "--answer", run_id)
    assert (answered.returncode, "done" in answered.stdout) == (0, True)
    listed = command(fleet, "runs", str(fleet.folder), "--json").stdout
    assert json.loads(listed.splitlines()[0])["status"] == "completed"


def test_what_was_accepted_is_not_begun_again(fleet: Fleet):
    """A replica that goes down while somebody waits for a run says that it goes on, and where."""
    slow_crew(fleet.folder)
    going, http = fleet.start("serve", CREW_DRAIN_SECONDS="0"), fleet.replica()
    fleet.worker()
    answers: list[httpx2.Response] = []
    with client(going) as leaving:
        waiting = threading.Thread(
            target=lambda: answers.append(leaving.post("/api/crew/run", json={"query": "x"}))
        )
        waiting.start()
        until(lambda: bool(http.get("/api/crew/runs").json()["runs"]))
        assert going.stop() == 0
        waiting.join()
    received = answers[0].json()
    assert (answers[0].status_code, answers[0].headers["Location"]) == (503, received["url"])
    assert "do not start it again" in received["detail"]
    until(lambda: http.get(received["url"]).json()["status"] == "completed")


def test_what_cannot_be_an_id_is_not_asked_for(fleet: Fleet):
    """A NUL, which the database refuses: no run, and no word about the database."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    for path in ("runs/a%00b", "runs/a%00b/events", "runs?after=a%00b", "runs/%20"):
        answer = http.get(f"/api/crew/{path}")
        assert answer.status_code == 404, path
        assert "database" not in answer.text
