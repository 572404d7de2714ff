"""`POST /api/crew/replays`: many runs are played again beside the server, one job at a time."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.crew.rehearsal.test_replays import edit
from tests.server.http.test_replays import ran
from tests.support.crews import copy_example
from tests.support.processes import ServerProcess, client, serving, until

QUERIES = ("Where is my money?", "The printer is broken", "Where is my money now?")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[ServerProcess, Path]]:
    """A server with some runs."""
    folder = copy_example("routing", tmp_path)
    with serving(folder) as process:
        for query in QUERIES:
            ran(process, query)
        yield process, folder


def frames(http: httpx2.Client, address: str, **headers: str) -> list[tuple[str, str, Any]]:
    """The events of a stream, to its end: id, event, data."""
    found = []
    with http.stream("GET", address, headers=headers, timeout=60) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = "".join(stream.iter_text())
    for one in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in one.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


def test_each_as_it_ends_and_the_summary(server: tuple[ServerProcess, Path]):
    process, folder = server
    with client(process) as http:
        begun = http.post("/api/crew/replays", json={})
        assert begun.status_code == 202
        address = begun.headers["location"]
        assert begun.json()["events_url"] == f"{address}/events"
        events = frames(http, f"{address}/events")
        assert [(number, event) for number, event, _ in events] == [
            ("1", "replay"),
            ("2", "replay"),
            ("3", "replay"),
            ("4", "end"),
        ]
        assert {one["verdict"] for _, _, one in events[:3]} == {"same"}
        found = http.get(address).json()
        assert events[3][2] == found
        assert (found["status"], found["replayed"], found["why"]) == ("done", 3, "")
        assert found["summary"]["verdicts"] == {"same": 3}
        # whoever comes back has the rest
        later = {"last-event-id": "2"}
        assert [number for number, _, _ in frames(http, f"{address}/events", **later)] == ["3", "4"]
        assert 'crew_replays_total{verdict="same"} 3.0' in http.get("/metrics").text
        # of the files that are served, not those of the folder
        edit(folder, "crew.yaml", {"routing.signals.desk.0.target": "technician"})
        again = http.post("/api/crew/replays", json={"sample": 2}).json()
        events = frames(http, again["events_url"])
        assert [one["verdict"] for _, _, one in events[:-1]] == ["same", "same"]
        assert http.post("/api/crew/reload").json()["changed"]
        changed = http.post("/api/crew/replays", json={"since": "1h", "status": "completed"}).json()
        end = frames(http, changed["events_url"])[-1][2]
        assert end["summary"]["verdicts"]["other way"] == 2
        assert http.get(address).json()["status"] == "done", "earlier ones are kept"
        assert len(http.get("/api/crew/runs").json()["runs"]) == 3


def test_one_at_a_time_and_no_longer_than_it_may(server: tuple[ServerProcess, Path]):
    process, folder = server
    edit(folder, "crew.yaml", {"replay": {"seconds": 0.05}})
    with client(process) as http:
        assert http.post("/api/crew/reload").json()["changed"]
        first = http.post("/api/crew/replays", json={}).json()
        second = http.post("/api/crew/replays", json={})
        assert second.status_code == 409
        assert first["id"] in second.json()["detail"]
        end = frames(http, first["events_url"])[-1]
        assert (end[1], end[2]["status"]) == ("end", "stopped")
        assert "replay.seconds = 0.05" in end[2]["why"]
        assert http.post("/api/crew/replays", json={}).status_code == 202


def test_what_is_wrong(server: tuple[ServerProcess, Path]):
    process, _ = server
    with client(process) as http:
        for body, status in (
            ({"since": "yesterday"}, 400),
            ({"sample": 0}, 400),
            ({"on": "0" * 16}, 404),
            ({"of": "x"}, 400),
        ):
            assert http.post("/api/crew/replays", json=body).status_code == status, body
        assert http.get("/api/crew/replays/nix").status_code == 404
        begun = http.post("/api/crew/replays", json={}).json()
        wrong = http.get(begun["events_url"], headers={"last-event-id": "x"})
        assert wrong.status_code == 400


def test_a_server_that_goes_down_ends_them(server: tuple[ServerProcess, Path]):
    """No process is left."""
    process, folder = server
    with client(process) as http:
        assert http.post("/api/crew/replays", json={}).status_code == 202
    assert process.stop() == 0
    until(lambda: not replaying(folder))


def replaying(folder: Path) -> list[psutil.Process]:
    """The processes that play runs of a folder."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = one.cmdline()
            if "replay" in words and str(folder) in words:
                found.append(one)
    return found
