"""A database that comes back without its last commits: no hole is written, and the run goes on."""

import sqlite3
from pathlib import Path

import psycopg

from tests.support.fleet import Fleet, begin, events, records, slow_crew, status
from tests.support.postgres import needs_postgres
from tests.support.processes import client, serving, until

LOST = "DELETE FROM {} WHERE seq = (SELECT max(seq) FROM {})"


def check(received: list[dict[str, object]], log: str) -> None:
    """Events 1 to n, the loss among them, and one end."""
    numbers = [event["metadata"]["seq"] for event in received]  # type: ignore[index]
    assert numbers == list(range(1, len(received) + 1))
    (warning,) = [event for event in received if event["type"] == "warning"]
    assert warning["content"] == (
        "the database came back without its last commits: of this run it has lost "
        "events 2 to 2; the run goes on after event 1"
    )
    assert received[-1]["type"] == "done"
    assert "event 2 of run" in log


def test_a_file_without_its_last_commits(tmp_path: Path):
    """As after a backup was put in its place; the model answers after a second."""
    slow_crew(tmp_path)
    with serving(tmp_path) as server, client(server) as http:
        run_id = begin(http)
        with sqlite3.connect(tmp_path / ".crew" / "crew.db", timeout=60) as connection:
            until(lambda: connection.execute("SELECT max(seq) FROM events").fetchone()[0] == 2)
            connection.execute(LOST.format("events", "events"))
        connection.close()
        until(lambda: status(http, run_id) == "completed")
        check(events(http, run_id), server.log.read_text())


@needs_postgres
def test_a_server_without_its_last_commits(fleet: Fleet):
    """As after a failover to a standby that lags behind; the same worker goes on."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    worker = fleet.worker()
    # connected before: the model answers after a second
    with psycopg.connect(fleet.database) as connection:
        run_id = begin(http)
        until(lambda: len(records(fleet, run_id)) == 2)
        connection.execute(LOST.format("crew_events", "crew_events"))
    until(lambda: status(http, run_id) == "completed")
    check(events(http, run_id), worker.log.read_text())


@needs_postgres
def test_a_queue_without_its_last_commits(fleet: Fleet):
    """Its commits do not wait for the disk: what a crash loses of it is made again."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    run_ids = [begin(http) for _ in range(3)]
    with psycopg.connect(fleet.database) as connection:
        assert connection.execute("DELETE FROM procrastinate_jobs").rowcount == 3
    fleet.worker()
    until(lambda: {status(http, run_id) for run_id in run_ids} == {"completed"})
