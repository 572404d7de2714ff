"""The life of a server: listeners that leave, draining, kill -9, wrong settings, its log."""

import contextlib
import json
import signal
import socket
import sqlite3
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.processes import (
    BIN,
    PROCESS_SECONDS,
    ServerProcess,
    clean_environment,
    client,
    serving,
    sse,
    start_server,
    until,
)
from tests.support.served_crew import ROUTING, WHOLE, crew, lines, until_status


def test_a_silent_stream_pings(tmp_path: Path):
    """Without an id, after so long without an event."""
    with (
        serving(crew(tmp_path, sse_keep_alive_seconds=0.1)) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream,
    ):
        live = lines(stream)
        kinds = [next(live) for _ in range(4)]
    assert [event["type"] for event in kinds] == ["start", "agent_start", "ping", "ping"]
    assert kinds[2]["id"] is None


def test_who_leaves_has_a_grace(tmp_path: Path):
    """A run goes on for a while without listeners, then it is cancelled; one who comes back in time keeps it alive."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0.3)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        assert until_status(server, run_id, "cancelled")["reason"] == "abandoned"
        with http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream:
            kept = next(lines(stream))["metadata"]["run_id"]
        assert [e["type"] for e in sse(http.get(f"/api/crew/runs/{kept}/events").text)][
            -1
        ] == "done"
        # who posts and leaves is a listener too
        with contextlib.suppress(httpx2.TimeoutException):
            http.post("/api/crew/run", json={"query": "forever and a day"}, timeout=0.5)
        posted = http.get("/api/crew/runs", params={"limit": 1}).json()["runs"][0]["run_id"]
        assert until_status(server, posted, "cancelled")["query"] == "forever and a day"


def test_the_grace_of_one_segment_is_not_that_of_the_next(tmp_path: Path):
    """Who left before the pause has no say in what another one's answer began."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0.6)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "ask slowly"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        until_status(server, run_id, "paused")
        http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "slow"})
        assert until_status(server, run_id, "completed", "cancelled")["status"] == "completed"


def test_who_only_looks_is_not_needed(tmp_path: Path):
    """A run that was started without a listener goes on when somebody has looked at it."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0)) as server, client(server) as http:
        run_id = http.post("/api/crew/runs", json={"query": "slow"}).json()["run_id"]
        with http.stream("GET", f"/api/crew/runs/{run_id}/events") as stream:
            next(lines(stream))
        assert until_status(server, run_id, "completed", "cancelled")["status"] == "completed"


def test_who_looks_on_is_not_needed_by_the_next_segment(tmp_path: Path):
    """The one who started it has seen its segment's end."""
    with serving(crew(tmp_path, disconnect_grace_seconds=0)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "ask slowly"}) as stream:
            live = lines(stream)
            run_id = next(live)["metadata"]["run_id"]
            with http.stream("GET", f"/api/crew/runs/{run_id}/events") as looking:
                looked = lines(looking)
                next(looked)
                list(live)
                http.post(f"/api/crew/runs/{run_id}/resume", json={"query": "slow"})
        assert until_status(server, run_id, "completed", "cancelled")["status"] == "completed"


def test_without_grace_a_run_goes_on(tmp_path: Path):
    """-1: to its end."""
    with serving(crew(tmp_path, disconnect_grace_seconds=-1)) as server, client(server) as http:
        with http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream:
            run_id = next(lines(stream))["metadata"]["run_id"]
        assert until_status(server, run_id, "completed")


def test_draining(tmp_path: Path):
    """SIGTERM: no new runs, but a run that can end does, and its stream with it; then the process goes, with 0."""
    with (
        serving(crew(tmp_path)) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream,
    ):
        live = lines(stream)
        next(live)
        server.process.send_signal(signal.SIGTERM)
        with client(server) as other:
            until(lambda: other.get("/ready").status_code != 200)
            ready = other.get("/ready")
            assert (ready.status_code, ready.headers["retry-after"]) == (503, "5")
            refused = other.post("/api/crew/run", json={"query": "late"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert other.get("/health").status_code == 200
        assert [event["type"] for event in live][-1] == "done"
        assert server.process.wait(5) == 0


def test_what_cannot_end_is_left_for_the_next_process(tmp_path: Path):
    """Its stream gets a closing comment and no `done`; the next start takes it up, and the reader comes back by its id."""
    folder = crew(tmp_path)
    with (
        serving(folder, CREW_DRAIN_SECONDS="0.2") as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "long"}) as stream,
    ):
        raw = stream.iter_text()
        text = next(raw)
        while "agent_start" not in text:
            text += next(raw)
        server.process.send_signal(signal.SIGTERM)
        text += "".join(raw)
        assert server.process.wait(PROCESS_SECONDS) == 0
    assert text.rstrip().splitlines()[-1].startswith(": this server is going down")
    events = sse(text)
    assert [event["type"] for event in events] == ["start", "agent_start"]
    with serving(folder) as server, client(server) as http:
        rest = sse(http.get("/api/crew/stream", headers={"Last-Event-ID": events[-1]["id"]}).text)
    assert [event["type"] for event in rest] == WHOLE[2:]
    assert rest[0]["id"].endswith(":3")


def test_kill_9_loses_nothing(tmp_path: Path):
    """An accepted run goes on at the next start, from its last recorded step, with the same ids and bytes."""
    folder = crew(tmp_path)
    with (
        serving(folder) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "slow"}) as stream,
    ):
        live = lines(stream)
        seen = [next(live), next(live)]
        server.kill()
    with serving(folder) as server, client(server) as http:
        run_id = seen[0]["metadata"]["run_id"]
        whole = sse(http.get(f"/api/crew/runs/{run_id}/events").text)
    assert whole[:2] == seen
    assert [event["type"] for event in whole] == WHOLE
    assert [event["metadata"]["seq"] for event in whole] == list(range(1, len(WHOLE) + 1))


def test_a_second_signal_ends_at_once(tmp_path: Path):
    """And the run is still in the store."""
    folder = crew(tmp_path)
    with (
        serving(folder) as server,
        client(server) as http,
        http.stream("GET", "/api/crew/stream", params={"q": "forever"}) as stream,
    ):
        next(lines(stream))
        server.process.send_signal(signal.SIGTERM)
        with client(server) as other:
            until(lambda: other.get("/ready").status_code != 200)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(5)
    with serving(folder) as server, client(server) as http:
        assert http.get("/api/crew/runs").json()["runs"][0]["status"] == "running"


def test_a_reader_that_never_reads_is_cut_off_and_slows_nobody(tmp_path: Path):
    """Past 1,000 waiting events; the run ends all the same."""
    rules = [{"agent": "a", "say": "word " * 60_000 + "[B]"}, {"agent": "b", "say": "end"}]
    folder = write_crew(
        tmp_path / "crew", {"a": {}, "b": {"is_terminal": True}}, rules, routing=ROUTING
    )
    with serving(folder) as server, client(server) as http:
        host, port = server.url.removeprefix("http://").split(":")
        deaf = socket.create_connection((host, int(port)))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(
            f"GET /api/crew/stream?q=hi&deltas=1 HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        )
        deaf.recv(1)
        run = http.get("/api/crew/runs").json()["runs"][0]
        assert until_status(server, run["run_id"], "completed")["answer"] == "end"
        until(lambda: "crew_stream_subscribers 1.0" not in http.get("/metrics").text)
        deaf.close()


def test_log_lines_belong_to_their_request_and_run(tmp_path: Path):
    """JSON lines with request_id and run_id."""
    with serving(crew(tmp_path), CREW_LOG_LEVEL="info") as server, client(server) as http:
        events = sse(
            http.get(
                "/api/crew/stream", params={"q": "hi"}, headers={"X-Request-ID": "trace-me"}
            ).text
        )
        server.stop()
    received = [
        json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")
    ]
    mine = [
        line
        for line in received
        if line.get("request_id") == "trace-me" and "run" in line["message"]
    ]
    assert {line.get("run_id") for line in mine if line["logger"] == "crew.events"} == {
        events[0]["metadata"]["run_id"]
    }
    assert (
        next(line["message"] for line in mine if line["logger"] == "crew.events") == "run started"
    )


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        (["--host", "0.0.0.0"], {}, "CREW_API_TOKENS"),
        ([], {"CREW_API_TOKENS": "short"}, "16 characters"),
        ([], {"CREW_API_TOKEN": "x"}, "did you mean CREW_API_TOKENS?"),
        ([], {"CREW_DATABASE_URL": "mysql://x"}, "mysql:…"),
        ([], {"CREW_DRAIN_SECONDS": "soon"}, "CREW_DRAIN_SECONDS"),
        ([], {"CREW_LOG_FORMAT": "xml"}, "text or json"),
        ([], {"CREW_CORS_ORIGINS": "*"}, "is no origin"),
        (["--provider", "openai"], {}, "OPENAI_API_KEY"),
    ],
)
def test_it_does_not_start_with_wrong_settings(
    tmp_path: Path, options: list[str], environment: dict[str, str], said: str
):
    """But says in one sentence what to do, and exits with 1."""
    ended = subprocess.run(
        [BIN / "crew", "serve", crew(tmp_path), "--port", "0", *options],
        capture_output=True,
        text=True,
        env=clean_environment(**environment),
        timeout=30,
    )
    assert ended.returncode == 2 - ("OPENAI" in said or "mysql" in said)
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken(tmp_path: Path, server: ServerProcess):
    """One sentence, before any run is taken up."""
    port = server.url.rpartition(":")[2]
    ended = subprocess.run(
        [BIN / "crew", "serve", crew(tmp_path), "--port", port],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=30,
    )
    assert (ended.returncode, "already in use" in ended.stderr) == (2, True)


def test_a_server_that_cannot_start_says_why(tmp_path: Path):
    """A row that nobody can read: one line in the log, and no exit code that means a paused run."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        http.post("/api/crew/run", json={"query": "hello"})
        assert server.stop() == 0
    with sqlite3.connect(folder / ".crew" / "crew.db") as connection:
        connection.execute("UPDATE runs SET status = 'running', row = '{}'")
    connection.close()
    ended = subprocess.run(
        [BIN / "crew", "serve", folder, "--port", "0"],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        env=clean_environment(),
    )
    assert ended.returncode == 1
    assert "the server failed while it started or stopped" in ended.stderr


def test_one_server_a_database(tmp_path: Path):
    """A second one says so."""
    folder = crew(tmp_path)
    server = start_server(folder)
    try:
        ended = subprocess.run(
            [BIN / "crew", "serve", folder, "--port", "0"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=30,
        )
    finally:
        server.kill()
    assert ended.returncode == 2
    assert "SQLite is for one" in ended.stderr
