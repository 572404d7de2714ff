"""How large a database becomes, what is deleted when it is full, and who is told before."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.test_retention import ASKING, crew
from tests.support.crews import write_crew
from tests.support.processes import BIN, clean_environment, client, serving, sse, until


def test_a_database_that_is_full(tmp_path: Path):
    """Told before; then the oldest events go, then such runs; what waits for a person stays."""
    rules = [{"hears": "end", "say": f"{'a long answer ' * 3000}[E]"}, {"say": "what?"}]
    replay = {"keep": {"runs": 2}}
    folder = write_crew(tmp_path / "crew", {"a": {}}, rules, routing=ASKING, replay=replay)
    with serving(folder, CREW_MAX_DATABASE_GB="0.0000001", CREW_KEEP_EVENTS_DAYS="1") as server:
        with client(server) as http:
            paused = http.post("/api/crew/run", json={"query": "hello"}).json()["run_id"]
            until(lambda: "the database is full, and no run has ended" in server.log.read_text())
            assert "of 1e-07 GB (CREW_MAX_DATABASE_GB)" in http.get("/ready").json()["storage"]
            server.stop()
    with serving(folder, CREW_MAX_DATABASE_GB="0") as server, client(server) as http:
        ids = [
            http.post("/api/crew/run", json={"query": "end"}).json()["run_id"] for _ in range(30)
        ]
        assert "storage" not in http.get("/ready").json()
        server.stop()
    with serving(folder, CREW_MAX_DATABASE_GB="0.0025") as server, client(server) as http:
        assert "; what is kept reaches back: events to " in server.log.read_text()
        until(lambda: "the database was full: what was kept of" in server.log.read_text())
        shown = [sse(http.get(f"/api/crew/runs/{one}/events").text)[0]["type"] for one in ids]
        # of all of them, oldest first, at least one is left whole
        assert shown == sorted(shown)
        assert (shown[0], shown[-1]) == ("gap", "start")
        assert http.get(f"/api/crew/runs/{ids[0]}").json()["status"] == "completed"
        assert http.get(f"/api/crew/runs/{paused}").json()["status"] == "paused"
        assert (
            float(re.findall(r"\ncrew_database_bytes (\S+)", http.get("/metrics").text)[0]) < 2.5e6
        )
    with serving(folder, CREW_MAX_DATABASE_GB="0.0004") as server, client(server) as http:
        until(lambda: http.get(f"/api/crew/runs/{ids[0]}").status_code == 404)
        assert http.get(f"/api/crew/runs/{paused}").json()["status"] == "paused"
        # what replays need stays, however little room there is
        until(
            lambda: "run has ended that could be deleted: what has ended" in server.log.read_text()
        )
        shown = [sse(http.get(f"/api/crew/runs/{one}/events").text)[0]["type"] for one in ids[-2:]]
        assert shown == ["start", "start"]
    doctor = subprocess.run(
        [BIN / "crew", "doctor", folder, "--database"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=True,
    ).stdout
    assert re.search(r"the database has 0\.[0-9] MB; what is kept reaches back: .*who did", doctor)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"CREW_KEEP_EVENTS_HOURS": "1"}, "is of earlier versions; set CREW_KEEP_EVENTS_DAYS"),
        ({"CREW_KEEP_EVENTS_HOURS": "1", "CREW_KEEP_EVENTS_DAYS": "1"}, "say the same"),
        ({"CREW_MAX_DATABASE_GB": "-1"}, "CREW_MAX_DATABASE_GB"),
    ],
)
def test_settings_of_what_is_kept(given: dict[str, str], told: str, tmp_path: Path):
    """Those of earlier versions are read, with a warning; two that say the same are refused."""
    done = subprocess.run(
        [BIN / "crew", "doctor", crew(tmp_path), "--database"],
        capture_output=True,
        text=True,
        env=clean_environment(**given),
    )
    assert told in done.stdout + done.stderr
