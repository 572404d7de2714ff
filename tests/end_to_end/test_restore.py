"""`crew restore`: an old state comes back, and does nothing a second time by itself."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, slow_crew, status
from tests.support.forked import crew
from tests.support.held import HeldModel, at_work, until_ended
from tests.support.postgres import PROGRAMS, needs_postgres
from tests.support.processes import client, serving, start_server, until


@pytest.fixture
def model() -> Iterator[HeldModel]:
    with HeldModel() as server:
        yield server
        server.may.set()
        server.shutdown()


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_run_that_was_at_work_waits_for_a_person(tmp_path: Path, model: HeldModel, decision: str):
    """It says since when; it goes on, or ends, only then; the other one has no deadline any more."""
    folder, ids = at_work(tmp_path, model)
    done = crew("restore", folder, tmp_path / "old.db")
    assert done.returncode == 0, done.stderr
    assert "1 runs were at work" in done.stdout
    assert "1 pauses wait without the deadline that they had" in done.stdout
    (before,) = (folder / ".crew").glob("crew.db.before-*")
    with closing(sqlite3.connect(before)) as database:
        kept = database.execute("SELECT status FROM runs WHERE run_id = ?", [ids["slow"]])
        assert kept.fetchone() == ("completed",)
    with serving(folder) as server, client(server) as http:
        assert until_ended(http, ids["slow"]) == "paused"
        inbox = http.get("/api/crew/inbox").json()["runs"]
        shown = {one["run_id"]: one["waiting"] for one in inbox}
        assert set(shown) == set(ids.values())
        asked = shown[ids["slow"]]
        assert asked["question"] == "restored"
        assert asked["calls"][0]["may"] == ["approve", "deny"]
        assert "what it has done since then is not known" in asked["restored"]["text"]
        assert shown[ids["paused"]].get("answer_until") is None
        path = f"/api/crew/runs/{ids['slow']}/resume"
        # words decide nothing
        assert http.post(path, json={"query": "hm"}).status_code == 400
        http.post(path, json={"decision": decision})
        ended = "completed" if decision == "approve" else "cancelled"
        assert until_ended(http, ids["slow"]) == ended
        kinds = [one["type"] for one in events(http, ids["slow"])]
        assert kinds.count("pause") == 1
        assert kinds.count("done") == 2
        # the other one is answered as ever
        http.post(f"/api/crew/runs/{ids['paused']}/resume", json={"query": "end"})
        assert until_ended(http, ids["paused"]) == "completed"


def test_a_killed_server_asks_once(tmp_path: Path, model: HeldModel):
    """Whatever process has begun to ask: one pause, one question."""
    folder, ids = at_work(tmp_path, model)
    crew("restore", folder, tmp_path / "old.db")
    first = start_server(folder)
    with client(first) as http:
        assert until_ended(http, ids["slow"]) == "paused"
    first.kill()
    with serving(folder) as server, client(server) as http:
        assert [one["type"] for one in events(http, ids["slow"])].count("pause") == 1
        path = f"/api/crew/runs/{ids['slow']}/resume"
        assert http.post(path, json={"decision": "approve"}).is_success
        assert until_ended(http, ids["slow"]) == "completed"


@pytest.mark.parametrize(("held", "ended"), [("go", "completed"), ("end", "cancelled")])
def test_decided_for_all(tmp_path: Path, model: HeldModel, held: str, ended: str):
    """Before a process serves them; what waits for a person goes on to wait."""
    folder, ids = at_work(tmp_path, model)
    done = crew("restore", folder, tmp_path / "old.db", "--held", held)
    assert done.returncode == 0, done.stderr
    with serving(folder) as server, client(server) as http:
        assert until_ended(http, ids["slow"]) == ended
        assert status(http, ids["paused"]) == "paused"


def test_it_is_refused(tmp_path: Path):
    """While a process serves, and for what is no whole backup of this crew: nothing has changed."""
    folder = write_crew(tmp_path / "crew", {"a": {}})
    other = write_crew(tmp_path / "other", {"a": {}}, name="Other")
    for place, name in ((folder, "good.db"), (other, "other.db")):
        crew("run", place, "x" * 3000)
        crew("backup", place, tmp_path / name)
    database = folder / ".crew" / "crew.db"
    whole = (tmp_path / "good.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.db").write_text("no database\n" * 100)
    (tmp_path / "newer.db").write_bytes(whole)
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "newer.db")) as newer:
        newer.execute("PRAGMA user_version = 9999")
    (tmp_path / "fifo.db").symlink_to("/dev/zero")
    before = database.read_bytes()
    refusals = {
        "cut.db": "cannot be restored|damaged",
        "text.db": "not a database",
        "newer.db": "version 9999, newer",
        "empty.db": "no backup",
        "other.db": "has the runs of Other",
        "fifo.db": "no file",
        "none.db": "no file",
        "crew/.crew/crew.db": "the database itself",
    }
    for name, why in refusals.items():
        refused = crew("restore", folder, tmp_path / name)
        assert refused.returncode == 1, name
        assert any(one in refused.stderr for one in why.split("|")), refused.stderr
        assert "Traceback" not in refused.stderr
    assert database.read_bytes() == before
    with serving(folder):
        refused = crew("restore", folder, tmp_path / "good.db")
        assert (refused.returncode, "stop `crew serve`" in refused.stderr) == (1, True)
    assert [one.name for one in database.parent.iterdir() if "before" in one.name] == []
    # into a folder that has none yet
    database.unlink()
    assert crew("restore", folder, tmp_path / "good.db").returncode == 0
    assert "completed" in crew("runs", folder).stdout


@needs_postgres
def test_a_database_that_pg_restore_has_brought_back(fleet: Fleet, tmp_path: Path):
    """A worker is refused to be disturbed; then the run of the dump asks before it goes on."""
    # a package of clients has them, too
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    pg_dump, pg_restore = (shutil.which(name, path=path) for name in ("pg_dump", "pg_restore"))
    assert pg_dump
    assert pg_restore
    slow_crew(fleet.folder)
    http, worker = fleet.replica(), fleet.worker()
    run_id = begin(http)
    dump = tmp_path / "old.dump"
    subprocess.run([pg_dump, "-Fc", f"--file={dump}", fleet.database], check=True)
    refused = crew("restore", fleet.folder, CREW_DATABASE_URL=fleet.database)
    assert (refused.returncode, "workers are at work" in refused.stderr) == (1, True)
    assert until_ended(http, run_id) == "completed"
    worker.stop()
    for process in fleet.processes:
        process.stop()
    told = crew("restore", fleet.folder, dump, CREW_DATABASE_URL=fleet.database)
    assert (told.returncode, "pg_restore --clean" in told.stderr) == (2, True)
    subprocess.run([pg_restore, "--clean", "-d", fleet.database, dump], check=True)
    # the worker of before counts as alive for some seconds
    until(lambda: crew("restore", fleet.folder, CREW_DATABASE_URL=fleet.database).returncode == 0)
    again = fleet.replica()
    fleet.worker()
    assert until_ended(again, run_id) == "paused"
    assert again.get("/api/crew/inbox").json()["runs"][0]["waiting"]["question"] == "restored"
    again.post(f"/api/crew/runs/{run_id}/resume", json={"decision": "approve"})
    assert until_ended(again, run_id) == "completed"
