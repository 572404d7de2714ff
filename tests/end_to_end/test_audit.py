"""Who did what is kept: over HTTP and by the commands, of what was done and what was refused."""

import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_who_may import ENTRIES, as_, crew, start
from tests.support import forked
from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin
from tests.support.postgres import needs_postgres
from tests.support.processes import BIN, client, serving, until


def audit(folder: Path, *options: str, **environment: str) -> list[dict[str, Any]]:
    done = forked.crew("audit", folder, "--json", *options, **environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def acts(entries: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["action"], one["name"], one["detail"]) for one in reversed(entries)]


def test_what_is_done_and_refused(tmp_path: Path):
    """With name, address, run and request; also after the server has been killed."""
    folder = crew(tmp_path)
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as http:
        run_id = start(http, "shop", "pay")
        run = f"/api/crew/runs/{run_id}"
        decision = {"decision": "approve"}
        headers = {**as_("shop"), "X-Request-ID": "mine"}
        assert http.post(f"{run}/resume", json=decision, headers=headers).status_code == 202
        asked = start(http, "shop", "ask")
        assert http.post(f"/api/crew/runs/{asked}/cancel", headers=as_("shop")).status_code == 202
        assert http.post(f"{run}/cancel", headers=as_("reader")).status_code == 403
        assert http.post("/api/crew/reload", headers=as_("admin")).status_code == 200
        assert http.get("/api/crew", headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert http.get(f"{run}/events?ticket=wrong").status_code == 401
        until(lambda: len(audit(folder, "--action", "wrong_token")) == 2)
        server.kill()
    entries = audit(folder)
    revision = entries[2]["detail"]
    assert acts(entries) == [
        ("start", "shop", ""),
        ("answer", "shop", "approve"),
        ("start", "shop", ""),
        ("cancel", "shop", ""),
        ("refused", "reader", f"POST {run}/cancel needs run"),
        ("reload", "admin", revision),
        ("wrong_token", "", ""),
        ("wrong_token", "", ""),
    ]
    assert len(revision) == 16
    answered = audit(folder, "--run", run_id, "--action", "answer")
    assert [one["request_id"] for one in answered] == ["mine"]
    assert {one["address"] for one in entries} == {"127.0.0.1"}
    assert len(audit(folder, "--limit", "2")) == 2


def test_a_refusal_names_no_user_and_no_document(tmp_path: Path):
    """An erasure of the person would not find these entries."""
    folder = crew(tmp_path)
    paths = ("users/ann", "users/ann%2Fsmith/export", "documents/notes/ann.txt")
    with serving(folder, CREW_API_TOKENS=",".join(ENTRIES)) as server, client(server) as http:
        for path in paths:
            wanted = f"/api/crew/{path}"
            assert http.delete(wanted, headers=as_("reader")).status_code in {403, 405}
            assert http.get(wanted, headers={"Authorization": "Bearer no"}).status_code == 401
        until(lambda: len(audit(folder, "--action", "wrong_token")) == len(paths))
    entries = audit(folder)
    refused = {one["detail"].split(" needs ")[0] for one in entries if one["detail"]}
    assert refused == {"DELETE /api/crew/users/…", "DELETE /api/crew/documents/notes/…"}
    assert not [one for one in entries if "ann" in json.dumps(one)]


def test_a_start_that_was_made_before_is_not_told_twice(tmp_path: Path):
    """The same request again under its key."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        for _ in range(3):
            body, headers = {"query": "x"}, {"Idempotency-Key": "k"}
            assert http.post("/api/crew/run", json=body, headers=headers).status_code == 200
        assert [one["action"] for one in audit(folder)] == ["start"]


def test_the_commands_and_a_signal(tmp_path: Path):
    """By the user of the machine."""
    folder = crew(tmp_path)

    command = forked.crew
    command("run", folder, "ask")
    run_id = audit(folder)[0]["run_id"]
    command("run", folder, "--answer", run_id, "ask again")
    command("cancel", run_id, folder)
    with serving(folder) as server:
        os.kill(server.process.pid, signal.SIGHUP)
        until(lambda: audit(folder)[0]["action"] == "reload")
    entries = audit(folder)
    assert [one["action"] for one in reversed(entries)] == ["start", "answer", "cancel", "reload"]
    assert {one["address"] for one in entries} == {"local"}
    assert all(one["name"].startswith("os:") for one in entries[1:])
    assert entries[0]["name"] == "SIGHUP"
    text = subprocess.run([BIN / "crew", "audit", folder], capture_output=True, text=True).stdout
    assert len(text.splitlines()) == 4
    assert f"@local  {run_id}" in text


def test_it_is_only_added_to_and_kept_longer_than_runs(tmp_path: Path):
    """The database refuses a change."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        http.post("/api/crew/run", json={"query": "x"})
    # what is too old is deleted when a server starts, and then each minute
    with serving(folder, CREW_KEEP_RUNS_DAYS="0", CREW_KEEP_EVENTS_HOURS="0") as server:
        until(lambda: not http_runs(server))
    assert [one["action"] for one in audit(folder)] == ["start"]
    database = sqlite3.connect(folder / ".crew" / "crew.db")
    with pytest.raises(sqlite3.IntegrityError, match="only added to"):
        database.execute("UPDATE audit SET name = 'somebody else'")
    database.execute("UPDATE runs SET status = status")
    # a year and a day ago
    database.execute(
        "INSERT INTO audit (at, action, name, address, request_id, detail) "
        "VALUES ('2020-01-01T00:00:00.000Z', 'start', 'old', '-', '', '')"
    )
    database.commit()
    database.close()
    assert len(audit(folder)) == 2
    with serving(folder):
        until(lambda: len(audit(folder)) == 1)


def test_what_cannot_be_kept_is_in_the_log(tmp_path: Path):
    """An act that was done is done, and its client is told so; nothing begins without an entry."""
    folder = crew(tmp_path)
    with serving(folder) as server, client(server) as http:
        asked = http.post("/api/crew/run", json={"query": "ask"}).json()["run_id"]
        database = sqlite3.connect(folder / ".crew" / "crew.db")
        database.execute("DROP TABLE audit")
        database.commit()
        database.close()
        assert http.post(f"/api/crew/runs/{asked}/cancel").status_code == 202
        log = server.log.read_text()
        assert "not in the audit" in log
        assert asked in log.split("not in the audit")[1]
        assert http.post("/api/crew/run", json={"query": "x"}).status_code == 503
        assert [one["status"] for one in http_runs(server)] == ["cancelled"]


def http_runs(server: Any) -> list[Any]:
    with client(server) as http:
        runs: list[Any] = http.get("/api/crew/runs").json()["runs"]
        return runs


def test_nothing_to_show(tmp_path: Path):
    """Looking makes no database; a wrong action is told."""
    folder = crew(tmp_path)
    assert audit(folder) == []
    assert not (folder / ".crew").exists()
    wrong = subprocess.run(
        [BIN / "crew", "audit", folder, "--action", "x"], capture_output=True, text=True
    )
    assert wrong.returncode == 2
    assert "wrong_token" in wrong.stderr


@needs_postgres
def test_on_several_machines(fleet: Fleet):
    """One audit for all; it is only added to there, too."""
    write_crew(fleet.folder, {"a": {}})
    http = fleet.replica()
    other = fleet.replica()
    first, second = begin(http), begin(other)
    entries = audit(fleet.folder, CREW_DATABASE_URL=fleet.database)
    assert {one["run_id"] for one in entries} == {first, second}
