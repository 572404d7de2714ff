"""Workers that die, freeze, stop or lack a tool, and a database that restarts: runs go on."""

import json
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, command, events, records, slow_crew, status
from tests.support.pooler import behind, needs_pooler, pooled
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import (
    BIN,
    ServerProcess,
    clean_environment,
    client,
    send_to_all,
    serving,
    until,
)

pytestmark = needs_postgres


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_dead_workers_runs_move(fleet: Fleet, end: signal.Signals):
    """Another goes on; a frozen one that wakes can write nothing."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    dying = fleet.worker()
    run_id = begin(http)
    until(lambda: len(records(fleet, run_id)) > 1)
    # with the process that sends its heartbeats; one that is killed takes it along
    send_to_all(dying.process.pid, end)
    fleet.worker()
    until(lambda: status(http, run_id) == "completed")
    if end == signal.SIGSTOP:
        send_to_all(dying.process.pid, signal.SIGCONT)
        until(lambda: "another process has claimed the run" in dying.log.read_text())
        assert dying.stop() == 0
    received = events(http, run_id)
    assert [event["metadata"]["seq"] for event in received] == list(range(1, len(received) + 1))
    assert [event["type"] for event in received].count("done") == 1


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


def test_heartbeats_do_not_wait_behind_writes(fleet: Fleet):
    """Writes that the database holds up do not make a worker look dead."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    fleet.worker()
    until(lambda: http.get("/ready").json()["workers"] == 1)
    run_ids = [begin(http) for _ in range(8)]
    with psycopg.connect(fleet.database) as holding, holding.transaction():
        holding.execute("LOCK TABLE crew_events IN SHARE MODE")
        with psycopg.connect(fleet.database, autocommit=True) as connection:
            waiting = """
                SELECT pid, query_start FROM pg_stat_activity JOIN pg_locks USING (pid)
                WHERE NOT granted ORDER BY pid
            """
            # all connections of the worker's store
            until(lambda: len(connection.execute(waiting).fetchall()) == 5)
            held = connection.execute(waiting).fetchall()
            newest = "SELECT max(last_heartbeat) FROM procrastinate_workers"
            for _ in range(2):
                before = connection.execute(newest).fetchall()
                until(lambda: connection.execute(newest).fetchall() > before)  # noqa: B023
            assert connection.execute(waiting).fetchall() == held
    for run_id in run_ids:
        until(lambda: status(http, run_id) == "completed")  # noqa: B023


def test_workers_that_stop_leave_nothing(fleet: Fleet):
    """No row for each start of a worker."""
    slow_crew(fleet.folder)
    for _ in range(2):
        assert fleet.worker().stop() == 0
    with psycopg.connect(fleet.database) as connection:
        assert connection.execute("SELECT count(*) FROM crew_workers").fetchone() == (0,)


WAITING = [{"after": "wait", "say": "done"}, {"say": "", "calls": ["wait"]}]
# a tool that ends once the test lets it
WAIT = """
import asyncio
from pathlib import Path


async def wait() -> str:
    while not (Path(__file__).parent / "gate").exists():
        await asyncio.sleep(0.01)
    return "open"
"""


def test_a_worker_that_goes_hands_over(fleet: Fleet):
    """SIGTERM: what does not end in its time is put back, and another goes on at once."""
    gate = fleet.folder / "gate"
    tools = {"wait": {"kind": "python", "function": "own.py:wait", "timeout_seconds": 60}}
    write_crew(fleet.folder, {"a": {"tools": ["wait"], "is_terminal": True}}, WAITING, tools)
    (fleet.folder / "own.py").write_text(WAIT)
    http = fleet.replica()
    going = fleet.worker(CREW_DRAIN_SECONDS="0")
    run_id = begin(http)
    until(lambda: len(records(fleet, run_id)) > 3)
    staying = fleet.worker()
    assert going.stop() == 0
    assert "is left to other workers" in going.log.read_text()
    gate.touch()
    until(lambda: status(http, run_id) == "completed", 10)
    assert "has lost its worker" not in staying.log.read_text()


def test_the_database_restarts(postgres: Postgres, fleet: Fleet):
    """Runs wait and go on, streams stay open, /ready and the metrics show it; nobody's runs move."""
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
        # a browser that comes back now is asked to come back once more; it would not after a 503
        coming = http.get("/api/crew/stream", headers={"Last-Event-ID": first.removeprefix("id: ")})
        assert (coming.status_code, coming.text.partition("\n")[0]) == (200, "retry: 3000")
        postgres.start()
        received = [
            json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")
        ]
    assert received[-1]["type"] == "done"
    numbers = [event["metadata"]["seq"] for event in received if "seq" in event["metadata"]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert "has lost its worker" not in worker.log.read_text()
    until(lambda: http.get("/ready").status_code == 200)


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
    until(lambda: one.log.read_text().count("cannot be resumed here") >= 2)
    with http.stream("GET", f"/api/crew/runs/{second}/events") as stream:
        assert next(line for line in stream.iter_lines() if '"code":"unplayable"' in line)
    with client(one) as beside:
        assert beside.get("/ready").json()["runs_unplayable"] == 2
        assert "crew_runs_unplayable 2.0" in beside.get("/metrics").text
    assert http.post(f"/api/crew/runs/{first}/cancel").status_code == 202
    until(lambda: status(http, first) == "cancelled", 5)
    # beside the other it would have to be the quicker one, each time
    one.kill()
    fleet.worker()
    until(lambda: status(http, second) == "completed")


def test_it_is_reported_how_many_wait(fleet: Fleet):
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
        received = http.get("/metrics").text
        assert "crew_workers 0.0" in received
        assert "crew_runs_waiting 1.0" in received
        # a probe asks by whatever address it has
        assert http.get("/ready", headers={"Host": "10.0.0.7"}).status_code == 200
        assert http.get("/metrics", headers={"Host": "10.0.0.7"}).status_code == 421


@pytest.mark.parametrize("at_once", ["1", "200"])
def test_ended_jobs_leave_the_queue(fleet: Fleet, at_once: str):
    """With the next one, without a next one, and when their worker stops."""
    slow_crew(fleet.folder)
    http = fleet.replica()
    worker = fleet.worker("--at-once", at_once)
    begun = [begin(http) for _ in range(3)]
    until(lambda: all(status(http, run_id) == "completed" for run_id in begun))
    with psycopg.connect(fleet.database, autocommit=True) as connection:

        def jobs() -> list[str]:
            sql = "SELECT status::text FROM procrastinate_jobs"
            return [status for (status,) in connection.execute(sql)]

        until(lambda: not jobs())
        begin(http)
        until(lambda: jobs() == ["doing"])
        assert worker.stop() == 0
        # it is left to another worker
        assert jobs() in (["todo"], [])


def test_a_database_in_stricter_isolation(fleet: Fleet):
    """Runs that are written at the same time do not fail each other."""
    with psycopg.connect(fleet.database, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(
            f"ALTER DATABASE {name} SET default_transaction_isolation = serializable"
        )
    slow_crew(fleet.folder)
    http = fleet.replica()
    workers = [fleet.worker(), fleet.worker()]
    begun = [begin(http) for _ in range(12)]
    until(lambda: all(status(http, run_id) == "completed" for run_id in begun))
    assert not any("serialize" in worker.log.read_text() for worker in workers)


@needs_pooler
def test_behind_a_pooler_of_transactions(postgres: Postgres, tmp_path: Path):
    """Nobody listens there; runs, pauses and take-overs go on all the same."""
    with pooled(postgres) as address, ExitStack() as stack:
        fleet = Fleet(tmp_path, behind(address, postgres.database()), stack)
        slow_crew(fleet.folder)
        http = fleet.replica()
        worker = fleet.worker()
        run_id = begin(http)
        until(lambda: len(records(fleet, run_id)) > 2)
        worker.kill()
        fleet.worker()
        until(lambda: status(http, run_id) == "completed")
        numbers = [event["metadata"]["seq"] for event in events(http, run_id)]
        assert numbers == list(range(1, len(numbers) + 1))
        doctor = command(fleet, "doctor", str(fleet.folder), "--database")
        assert "prepared_statements=off: nobody listens" in doctor.stdout


def test_a_reload_refuses_what_a_start_refuses(fleet: Fleet):
    """The database is another crew's then."""
    write_crew(fleet.folder, {"a": {"is_terminal": True}}, [{"say": "x"}], name="old")
    http = fleet.replica()
    write_crew(fleet.folder, {"a": {"is_terminal": True}}, [{"say": "x"}], name="new")
    refused = http.post("/api/crew/reload")
    assert refused.status_code == 422
    (problem,) = refused.json()["problems"]
    assert (problem["file"], problem["code"]) == ("crew.yaml", "bad-value")
    assert "has the runs of the crew 'old'" in problem["message"]
    assert http.get("/api/crew").json()["name"] == "old"
