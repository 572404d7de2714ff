"""Several machines: replicas that accept and stream, workers that play, one PostgreSQL database between them."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.postgres import Postgres, needs_postgres
from tests.stage import BIN, ServerProcess, clean_environment, client, serving, sse, write_crew

pytestmark = [needs_postgres, pytest.mark.timeout(120)]


@dataclass
class Fleet:
    """Processes that share a database."""

    folder: Path
    database: str
    stack: ExitStack
    processes: list[ServerProcess] = field(default_factory=list)

    def start(self, command: str, *options: str, **environment: str) -> ServerProcess:
        made: ServerProcess = self.stack.enter_context(
            serving(
                self.folder,
                *options,
                command=command,
                CREW_DATABASE_URL=self.database,
                **environment,
            )
        )
        self.processes.append(made)
        return made

    def replica(self, **environment: str) -> httpx2.Client:
        """A client of a new `crew serve`."""
        return self.stack.enter_context(client(self.start("serve", **environment)))

    def worker(self, *options: str, **environment: str) -> ServerProcess:
        return self.start("worker", *options, **environment)


@pytest.fixture
def fleet(postgres: Postgres, tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, postgres.database(), stack)


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come"


def begin(http: httpx2.Client, query: str = "x") -> str:
    """Start a run and leave."""
    with http.stream("POST", "/api/crew/stream", json={"query": query}) as stream:
        begun = next(line for line in stream.iter_lines() if line.startswith("id: "))
    return begun.removeprefix("id: ").partition(":")[0]


def status(http: httpx2.Client, run_id: str) -> Any:
    return http.get(f"/api/crew/runs/{run_id}").json()["status"]


def events(http: httpx2.Client, run_id: str) -> list[dict[str, Any]]:
    return sse(http.get(f"/api/crew/runs/{run_id}/events").text)


SLOW = [{"turn": 3, "say": "there"}, {"say": "", "calls": ["GetSystemInfo"], "delay_seconds": 1}]


def slow_crew(folder: Path) -> None:
    write_crew(
        folder, {"a": {"tools": ["GetSystemInfo"]}}, SLOW, settings={"disconnect_grace_seconds": -1}
    )


def pausing_crew(folder: Path) -> None:
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    }
    rules = [
        {"agent": "a", "hears": "go on", "say": "on [B]"},
        {"agent": "a", "say": "what now?"},
        {"agent": "b", "say": "done"},
    ]
    write_crew(folder, {"a": {}, "b": {"is_terminal": True}}, rules, routing=routing)


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
    told = [line for line in beside[0].splitlines() if line.startswith("data: ")]
    assert told == here
    assert (
        beside[0]
        == two.get(f"/api/crew/runs/{run_id}/events").text
        == one.get(f"/api/crew/runs/{run_id}/events").text
    )
    assert [e["metadata"]["seq"] for e in sse(beside[0])] == list(range(1, len(told) + 1))
    answered = one.post("/api/crew/run", json={"query": "y"}).json()
    assert (answered["status"], answered["answer"]) == ("completed", "there")


def test_words_cross_machines(fleet: Fleet):
    """Deltas are told at the replica as the worker's model writes them, from the first one on."""
    write_crew(fleet.folder, {"a": {"is_terminal": True}}, [{"say": "one two three four"}])
    http = fleet.replica()
    fleet.worker()
    for _ in range(20):
        told = sse(http.post("/api/crew/stream", json={"query": "x", "deltas": True}).text)
        words = "".join(event["content"] for event in told if event["type"] == "agent_delta")
        assert words == "one two three four"
        assert [event["type"] for event in told if event["id"]] == [
            "start",
            "agent_start",
            "agent_response",
            "done",
        ]


def test_a_stream_has_one_end(fleet: Fleet):
    """However soon a pause is answered and however many stream at once, each stream is its own stretch, to its end."""
    pausing_crew(fleet.folder)
    http, address = fleet.replica(), "/api/crew/stream"
    fleet.worker("--at-once", "50")
    told: list[list[dict[str, Any]]] = []

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
                    told.append(mine)

    both = [threading.Thread(target=play) for _ in range(8)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    kinds = [[event["type"] for event in mine] for mine in told]
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


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_dead_workers_runs_move(fleet: Fleet, end: signal.Signals):
    """Another goes on within 15 s; a frozen one that wakes can write nothing."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    dying = fleet.worker()
    run_id = begin(http)
    until(lambda: len(records(fleet, run_id)) > 1)
    os.kill(dying.process.pid, end)
    stopped = time.monotonic()
    fleet.worker()
    until(lambda: status(http, run_id) == "completed")
    # two steps of a second are left to it
    assert time.monotonic() - stopped < 15 + 2
    if end == signal.SIGSTOP:
        os.kill(dying.process.pid, signal.SIGCONT)
        until(lambda: "another process has taken the run over" in dying.log.read_text())
        assert dying.stop() == 0
    told = events(http, run_id)
    assert [event["metadata"]["seq"] for event in told] == list(range(1, len(told) + 1))
    assert [event["type"] for event in told].count("done") == 1


def records(fleet: Fleet, run_id: str) -> list[Any]:
    with psycopg.connect(fleet.database) as connection:
        return connection.execute(
            "SELECT seq FROM crew_events WHERE run_id = %s", (run_id,)
        ).fetchall()


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


def test_a_worker_whose_registration_is_gone(fleet: Fleet):
    """As after the restoring of a backup: it registers again, and works."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    worker = fleet.worker()
    until(lambda: http.get("/ready").json()["workers"] == 1)
    with psycopg.connect(fleet.database, autocommit=True) as connection:
        connection.execute("DELETE FROM procrastinate_workers")
    assert http.post("/api/crew/run", json={"query": "x"}).json()["status"] == "completed"
    assert "registers again" in worker.log.read_text()


def test_a_worker_that_goes_hands_over(fleet: Fleet):
    """SIGTERM: what does not end in its time is put back, and another goes on at once."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    going = fleet.worker(CREW_DRAIN_SECONDS="0")
    run_id = begin(http)
    until(lambda: len(records(fleet, run_id)) > 1)
    staying = fleet.worker()
    assert going.stop() == 0
    assert "is handed over" in going.log.read_text()
    until(lambda: status(http, run_id) == "completed", 10)
    assert "has lost its worker" not in staying.log.read_text()


def test_the_database_restarts(postgres: Postgres, fleet: Fleet):
    """Runs wait and go on, streams stay open, /ready and the metrics tell; nobody's runs move."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    worker = fleet.worker()
    with http.stream("POST", "/api/crew/stream", json={"query": "x"}) as stream:
        lines = stream.iter_lines()
        first = next(line for line in lines if line.startswith("id: "))
        postgres.stop()
        with client(ServerProcess(worker.process, worker.url, worker.log)) as beside:
            until(lambda: beside.get("/ready").status_code == 503)
            assert beside.get("/health").status_code == 200
            until(lambda: "crew_store_writable 0.0" in beside.get("/metrics").text)
        assert http.post("/api/crew/run", json={"query": "y"}).status_code == 503
        # a browser that comes back now is told to come back once more; it would not after a 503
        coming = http.get("/api/crew/stream", headers={"Last-Event-ID": first.removeprefix("id: ")})
        assert (coming.status_code, coming.text.partition("\n")[0]) == (200, "retry: 3000")
        postgres.start()
        told = [
            json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")
        ]
    assert told[-1]["type"] == "done"
    numbers = [event["metadata"]["seq"] for event in told if "seq" in event["metadata"]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert "has lost its worker" not in worker.log.read_text()
    until(lambda: http.get("/ready").status_code == 200)


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


def command(fleet: Fleet, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment(CREW_DATABASE_URL=fleet.database)
    return subprocess.run(
        [BIN / "crew", *arguments], capture_output=True, text=True, env=environment, timeout=60
    )


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
    told = [json.loads(line) for line in played.stdout.splitlines()]
    assert (played.returncode, told[-1]["metadata"]["reason"]) == (0, "paused")
    run_id = told[0]["metadata"]["run_id"]
    answered = command(fleet, "run", str(fleet.folder), "go on", "--answer", run_id)
    assert (answered.returncode, "done" in answered.stdout) == (0, True)
    listed = command(fleet, "runs", str(fleet.folder), "--json").stdout
    assert json.loads(listed.splitlines()[0])["status"] == "completed"


def test_a_worker_needs_a_database_that_is_shared(fleet: Fleet):
    """It says which, and that one machine needs none."""
    slow_crew(fleet.folder)
    ended = subprocess.run(
        [BIN / "crew", "worker", fleet.folder],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=60,
    )
    assert ended.returncode == 2
    assert "set CREW_DATABASE_URL=postgresql://" in ended.stderr


def test_a_run_that_cannot_go_on_here_waits(fleet: Fleet):
    """A worker that lacks a tool leaves the run to others; meanwhile it can be cancelled."""
    tools = {"shout": {"kind": "python", "function": "own.py:shout"}}
    source = 'def shout(text: str) -> str:\n    """Shout."""\n    return text.upper()\n'
    rules = [{"after": "shout", "say": "{{heard}}"}, {"say": 'shout("hey")'}]
    write_crew(fleet.folder, {"a": {"tools": ["shout"], "is_terminal": True}}, rules, tools)
    (fleet.folder / "own.py").write_text(source)
    http = fleet.replica()
    lacking = fleet.folder.parent / "lacking"
    write_crew(lacking, {"a": {"is_terminal": True}}, rules)
    one = fleet.stack.enter_context(
        serving(lacking, command="worker", CREW_DATABASE_URL=fleet.database)
    )
    first, second = begin(http), begin(http)
    until(lambda: one.log.read_text().count("cannot go on here") >= 2)
    assert http.post(f"/api/crew/runs/{first}/cancel").status_code == 202
    until(lambda: status(http, first) == "cancelled", 5)
    # beside the other it would have to be the quicker one, each time
    one.kill()
    fleet.worker()
    until(lambda: status(http, second) == "completed")


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
    told = answers[0].json()
    assert (answers[0].status_code, answers[0].headers["Location"]) == (503, told["url"])
    assert "do not begin it again" in told["detail"]
    until(lambda: http.get(told["url"]).json()["status"] == "completed")


def test_it_is_told_how_many_wait(fleet: Fleet):
    """What no living worker has, whatever became of its job; the log says when nobody is at work."""
    rules = [{"say": "late", "delay_seconds": 60}]
    write_crew(
        fleet.folder, {"a": {"is_terminal": True}}, rules, settings={"disconnect_grace_seconds": -1}
    )
    replica = fleet.start("serve")
    with client(replica) as http:

        def waiting() -> tuple[int, int]:
            ready = http.get("/ready").json()
            return ready["workers"], ready["runs_waiting"]

        first = begin(http)
        assert waiting() == (0, 1)
        http.post(f"/api/crew/runs/{first}/cancel")
        until(lambda: waiting() == (0, 0))
        until(lambda: "0 workers are at work" in replica.log.read_text())
        worker = fleet.worker()
        second = begin(http)
        until(lambda: waiting() == (1, 0))
        until(lambda: "1 workers are at work" in replica.log.read_text())
        until(lambda: len(records(fleet, second)) > 1)
        worker.kill()
        until(lambda: waiting() == (0, 1))
        told = http.get("/metrics").text
        assert "crew_workers 0.0" in told
        assert "crew_runs_waiting 1.0" in told
        # a probe asks by whatever address it has
        assert http.get("/ready", headers={"Host": "10.0.0.7"}).status_code == 200
        assert http.get("/metrics", headers={"Host": "10.0.0.7"}).status_code == 421
