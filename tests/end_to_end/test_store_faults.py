"""The database fails under a server: runs wait for it or stop where they are, the process lives, health and metrics show it."""

import asyncio
import json
import resource
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crew import Query, Runs, SqliteStore, load_crew
from crew.journal.errors import StoreError
from crew.runs.upkeep.maintenance import Maintenance, Retention, recover_left
from tests.support.crews import write_crew
from tests.support.forked import crew as command
from tests.support.processes import (
    BIN,
    ServerProcess,
    clean_environment,
    client,
    serving,
    sse,
    until,
)


def crew(folder: Path) -> Path:
    rules = [
        {"turn": 3, "say": "there"},
        {"say": "", "calls": ["GetSystemInfo"], "delay_seconds": 1},
    ]
    return write_crew(
        folder / "crew",
        {"a": {"tools": ["GetSystemInfo"]}},
        rules,
        settings={"disconnect_grace_seconds": -1},
    )


def begin(http: httpx2.Client) -> str:
    with http.stream("POST", "/api/crew/stream", json={"query": "x"}) as stream:
        begun = next(line for line in stream.iter_lines() if line.startswith("id: "))
    return begun.removeprefix("id: ").partition(":")[0]


def fill_disk(server: ServerProcess, folder: Path) -> None:
    """No file of the process may grow any more, as on a full disk."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))


def free_disk(server: ServerProcess) -> None:
    resource.prlimit(
        server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )


def metric(http: httpx2.Client) -> str:
    return next(
        line
        for line in http.get("/metrics").text.splitlines()
        if line.startswith("crew_store_writable ")
    )


def whole(http: httpx2.Client, run_id: str) -> None:
    """The run has ended well, with every event once."""
    row: dict[str, Any] = http.get(f"/api/crew/runs/{run_id}").json()
    assert (row["status"], row["answer"]) == ("completed", "there")
    events = sse(http.get(f"/api/crew/runs/{run_id}/events").text)
    assert [event["metadata"]["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count("tool_result") == 2


def test_a_full_disk(tmp_path: Path):
    """A run under way waits and goes on; a new one is refused; all is well again by itself."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        assert metric(http).endswith(" 1.0")
        run_id = begin(http)
        fill_disk(server, folder)
        until(lambda: http.get("/ready").status_code == 503)
        assert http.get("/ready").json()["status"] == "store failing"
        assert metric(http).endswith(" 0.0")
        assert http.get("/health").status_code == 200
        refused = http.post("/api/crew/run", json={"query": "y"})
        assert (refused.status_code, refused.headers["content-type"]) == (
            503,
            "application/problem+json",
        )
        assert http.get(f"/api/crew/runs/{run_id}").json()["status"] == "running"
        # it is said at once: the command waits for nothing
        found = command("doctor", "--server", server.url)
        assert (found.returncode, found.stderr.strip()) == (1, server.url)
        assert "it starts no runs: runs cannot be stored" in found.stdout
        free_disk(server)
        until(lambda: http.get(f"/api/crew/runs/{run_id}").json()["status"] != "running")
        whole(http, run_id)
        until(lambda: http.get("/ready").status_code == 200)
        assert len(http.get("/api/crew/runs").json()["runs"]) == 1


def test_a_database_that_others_hold(tmp_path: Path):
    """A backup that locks it for longer than SQLite waits."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        run_id = begin(http)
        other = sqlite3.connect(folder / ".crew" / "crew.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        until(lambda: http.get("/ready").status_code == 503)
        other.execute("ROLLBACK")
        until(lambda: http.get(f"/api/crew/runs/{run_id}").json()["status"] != "running")
        whole(http, run_id)
        other.close()


def test_going_down_does_not_wait_for_the_disk(tmp_path: Path):
    """The run is left as it was stored last, and the next process ends it."""
    folder = crew(tmp_path)
    with serving(folder, CREW_DRAIN_SECONDS="1") as server, client(server) as http:
        run_id = begin(http)
        fill_disk(server, folder)
        until(lambda: http.get("/ready").status_code == 503)
        # writes would be tried for a minute; Python ends with 120 if a last line of its log,
        # on the same full disk, could not be written either
        assert server.stop(30) in {0, 120}
    with serving(folder) as server, client(server) as http:
        until(lambda: http.get(f"/api/crew/runs/{run_id}").json()["status"] != "running")
        whole(http, run_id)


def test_many_runs_and_readers_do_not_wait_in_line(tmp_path: Path):
    """While others hold the file, reading goes on, requests are refused soon, and going down keeps its time."""
    folder = crew(tmp_path)
    with serving(folder, CREW_DRAIN_SECONDS="1") as server, client(server) as http:
        for _ in range(8):
            begin(http)
        other = sqlite3.connect(folder / ".crew" / "crew.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        until(lambda: http.get("/ready").status_code == 503)
        assert len(http.get("/api/crew/runs").json()["runs"]) == 8
        assert http.post("/api/crew/run", json={"query": "y"}).status_code == 503
        # writes would be tried for a minute
        assert server.stop(30) == 0
        other.execute("ROLLBACK")
        other.close()


def test_runs_of_another_process_are_left_to_it(tmp_path: Path):
    """`crew run` beside a server: the server does not take its runs up, and has that process end them."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        beside = subprocess.Popen(
            [BIN / "crew", "run", folder, "x", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        assert beside.stdout is not None
        run_id = json.loads(beside.stdout.readline())["metadata"]["run_id"]
        until(lambda: http.get(f"/api/crew/runs/{run_id}").status_code == 200)
        assert http.post(f"/api/crew/runs/{run_id}/cancel").status_code == 202
        received, _ = beside.communicate(timeout=30)
        assert json.loads(received.splitlines()[-1])["metadata"]["reason"] == "cancelled"
        assert beside.returncode == 4
        assert http.get(f"/api/crew/runs/{run_id}").json()["status"] == "cancelled"


def test_a_run_that_waited_too_long_goes_on(tmp_path: Path):
    """Once the store can be written, whoever notices first; with the patience of a moment."""

    async def play() -> None:
        loaded = load_crew(crew(tmp_path))
        store = SqliteStore(tmp_path / "x.db")
        store.claim_process(serves=True)
        async with Runs(loaded, store) as runs:
            maintaining = asyncio.gather(Maintenance(runs, Retention()).run(), recover_left(runs))
            run = await runs.start(Query("x"))
            run.journal.patience_seconds = 0.1
            other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError):
                await run.outcome()
            other.execute("ROLLBACK")
            other.close()
            row = await (await runs.start(Query("another"))).outcome()
            assert row.status == "completed"
            while (await runs.row(run.id)).status == "running":
                await runs.store.probe()
            assert (await runs.row(run.id)).answer == "there"
            maintaining.cancel()

    asyncio.run(play())
