"""A tool that ends its process: bounded, told, and no harm to other runs."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, status
from tests.support.forked import crew
from tests.support.postgres import needs_postgres
from tests.support.processes import ServerProcess, client, serving, until

ACTS = '''
import os, signal
from pathlib import Path

HERE = Path(__file__).parent


def restart(about: str) -> str:
    """Restart something."""
    with (HERE / "calls").open("a") as calls:
        calls.write("x")
    if not (HERE / "harmless").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return "restarted"
'''
RULES = [
    {"agent": "a", "after": "restart", "say": "it is up again"},
    {"agent": "a", "hears": "poison", "say": 'restart("db")'},
    {"agent": "a", "say": "", "calls": ["GetSystemInfo"], "delay_seconds": 1, "turn": 1},
    {"agent": "a", "say": "all is well"},
]


def poison_crew(folder: Path, **settings: Any) -> Path:
    tools = {"restart": {"kind": "python", "function": "acts.py:restart"}}
    (folder / "acts.py").write_text(ACTS)
    agents = {"a": {"tools": ["restart", "GetSystemInfo"]}}
    return write_crew(folder, agents, RULES, tools, settings=settings)


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text())


def runs_of(http: httpx2.Client) -> dict[str, str]:
    listed = http.get("/api/crew/runs").json()["runs"]
    return {run["query"]: run["run_id"] for run in listed}


def begin_poison(http: httpx2.Client) -> None:
    """Start one, which ends the server before it answers."""
    with pytest.raises(httpx2.HTTPError):
        http.post("/api/crew/run", json={"query": "poison"})


def test_a_tool_that_ends_its_process(tmp_path: Path):
    """Made again three times, each start serves; then the run fails, says where, and can be retried."""
    poison_crew(tmp_path)
    with serving(tmp_path) as server, client(server) as http:
        innocent = begin(http, "look")
        begin_poison(http)
        server.process.wait()
    ended = 1
    while ended_too(tmp_path, innocent):
        ended += 1
    assert (ended, calls(tmp_path)) == (4, 4)
    (tmp_path / "harmless").touch()
    with serving(tmp_path) as server, client(server) as http:
        check_retried(http, runs_of(http)["poison"])


def ended_too(folder: Path, innocent: str) -> bool:
    """Start the server; whether it ended. If not, the run has failed."""
    with serving(folder) as server, client(server) as http:
        until(lambda: is_over(server, http))
        if server.process.poll() is not None:
            return True
        check_crashed(http, runs_of(http)["poison"], innocent)
        return False


def check_retried(http: httpx2.Client, run_id: str) -> None:
    """It goes on where it was, once."""
    assert http.post(f"/api/crew/runs/{run_id}/retry").status_code == 202
    until(lambda: status(http, run_id) == "completed")
    received = events(http, run_id)
    assert [event["metadata"]["seq"] for event in received] == list(range(1, len(received) + 1))
    assert received[-1]["metadata"]["answer"] == "it is up again"
    again = http.post(f"/api/crew/runs/{run_id}/retry")
    assert again.status_code == 409
    assert "only a failed run can be retried" in again.json()["detail"]


def is_over(server: ServerProcess, http: httpx2.Client) -> bool:
    """The server is gone, or no run goes on any more."""
    try:
        listed = http.get("/api/crew/runs").json()["runs"]
    except httpx2.HTTPError:
        server.process.wait()
        return True
    return all(run["status"] != "running" for run in listed)


def check_crashed(http: httpx2.Client, poison: str, innocent: str) -> None:
    row = http.get(f"/api/crew/runs/{poison}").json()
    assert (row["status"], row["reason"]) == ("failed", "crashed")
    error = events(http, poison)[-1]
    assert error["metadata"]["code"] == "crashed"
    assert error["content"] == (
        "the process of this run ended 3 times while A called restart; settings.max_recoveries = 3"
    )
    assert status(http, innocent) == "completed"


def test_the_bound_is_the_crews(tmp_path: Path):
    """With `settings.max_recoveries` of 1 it is made once more."""
    poison_crew(tmp_path, max_recoveries=1)
    for _ in range(2):
        with serving(tmp_path) as server, client(server) as http:
            if not (tmp_path / "calls").exists():
                begin_poison(http)
            server.process.wait()
    with serving(tmp_path) as server, client(server) as http:
        until(lambda: is_over(server, http))
        assert http.get(f"/api/crew/runs/{runs_of(http)['poison']}").json()["reason"] == "crashed"
    assert calls(tmp_path) == 2


def test_a_run_is_cancelled_without_a_server(tmp_path: Path):
    """`crew cancel`: it is not resumed by the next start, and a second cancel is told so."""
    poison_crew(tmp_path)
    with serving(tmp_path) as server, client(server) as http:
        begin_poison(http)
        server.process.wait()
    listed = crew("runs", tmp_path, "--json").stdout
    run_id = listed.partition('"run_id": "')[2].partition('"')[0]
    done = crew("cancel", run_id, str(tmp_path), COLUMNS="100")
    assert (done.returncode, done.stdout) == (0, f"Cancelled {run_id}.\n")
    again = crew("cancel", run_id, str(tmp_path), COLUMNS="100")
    assert (again.returncode, again.stderr) == (1, f"crew: run {run_id} is cancelled\n")
    unknown = crew("cancel", "none", str(tmp_path), COLUMNS="100")
    assert (unknown.returncode, unknown.stderr) == (1, "crew: there is no run none\n")
    with serving(tmp_path) as server, client(server) as http:
        assert status(http, run_id) == "cancelled"
    assert calls(tmp_path) == 1


def test_a_served_run_is_cancelled_from_the_terminal(tmp_path: Path):
    """The server ends it."""
    rules = [{"say": "there", "delay_seconds": 60}]
    write_crew(tmp_path, {"a": {}}, rules)
    with serving(tmp_path) as server, client(server) as http:
        run_id = begin(http)
        done = crew("cancel", run_id, str(tmp_path), COLUMNS="100")
        assert (done.returncode, done.stdout) == (0, f"Cancelled {run_id}.\n")
        assert status(http, run_id) == "cancelled"


@needs_postgres
def test_a_tool_that_ends_its_workers(fleet: Fleet):
    """One run costs four workers at most, and runs beside it end."""
    poison_crew(fleet.folder)
    http = fleet.replica()
    workers = [fleet.worker(), fleet.worker()]
    innocent = [begin(http, f"look {number}") for number in range(4)]
    poison = begin(http, "poison")
    ended = 0

    def is_over() -> bool:
        nonlocal ended
        for place, worker in enumerate(workers):
            if worker.process.poll() is not None:
                ended += 1
                workers[place] = fleet.worker()
        return all(status(http, run_id) != "running" for run_id in (poison, *innocent))

    until(is_over, 120)
    assert http.get(f"/api/crew/runs/{poison}").json()["reason"] == "crashed"
    assert (ended, calls(fleet.folder)) == (4, 4)
    assert {status(http, run_id) for run_id in innocent} == {"completed"}
