"""Who looks at a run that waits: others see it, and no run of others is shown so."""

import asyncio
import json
import subprocess
from pathlib import Path

import httpx2
import pytest

from crew.database import open_store
from crew.journal.records.viewers import Viewer
from tests.support.crews import write_crew
from tests.support.processes import BIN, ServerProcess, clean_environment, client, serving, until

TOKENS = "ann@5:" + "a" * 32 + ",bo+read+answer+admin:" + "b" * 32 + ",eve:" + "e" * 32


@pytest.fixture
def server(tmp_path: Path):
    """Of a crew that asks in words."""
    routing = {"agent_behaviors": {"a": {"wait_for_signal": True}}}
    write_crew(tmp_path, {"a": {}}, [{"say": "which host?"}], routing=routing)
    with serving(tmp_path, CREW_API_TOKENS=TOKENS) as started:
        yield started


def caller(server: ServerProcess, name: str) -> httpx2.Client:
    token = next(one.split(":")[1] for one in TOKENS.split(",") if one.startswith(name))
    return client(server, headers={"Authorization": f"Bearer {token}"})


def test_who_else_looks_at_a_run(server: ServerProcess, tmp_path: Path):
    """By the names of their tokens, since they first said so; another owner's run is not there."""
    with caller(server, "ann") as ann, caller(server, "bo") as bo, caller(server, "eve") as eve:
        run_id = ann.post("/api/crew/runs", json={"query": "hello"}).json()["run_id"]
        until(lambda: ann.get(f"/api/crew/runs/{run_id}").json()["status"] == "paused")
        path = f"/api/crew/runs/{run_id}/viewers"
        (first,) = ann.post(path, json={"viewer": "page-1"}).json()["viewers"]
        assert (first["viewer"], first["name"]) == ("page-1", "ann")
        both = bo.post(path, json={"viewer": "page-2"}).json()["viewers"]
        assert [(one["viewer"], one["name"]) for one in both] == [
            ("page-1", "ann"),
            ("page-2", "bo"),
        ]
        assert ann.post(path, json={"viewer": "page-1"}).json()["viewers"] == both
        (waiting,) = ann.get("/api/crew/inbox").json()["runs"]
        assert waiting["viewers"] == both
        assert eve.post(path, json={"viewer": "page-3"}).status_code == 404
        assert ann.post(f"/api/crew/runs/x{path}", json={"viewer": "p"}).status_code == 404
        wrong = ann.post(path, json={"viewer": "a page"})
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "viewer")


def test_the_commands_show_who_looks(server: ServerProcess, tmp_path: Path):
    """The same bytes in the folder as at the server."""
    with caller(server, "ann") as ann:
        run_id = ann.post("/api/crew/runs", json={"query": "hello"}).json()["run_id"]
        until(lambda: ann.get(f"/api/crew/runs/{run_id}").json()["status"] == "paused")
    asyncio.run(look(tmp_path, run_id))
    assert "ann, bo: looks at it now" in printed("inbox", str(tmp_path))
    document = printed("inbox", "--json", str(tmp_path))
    assert document == printed("inbox", "--json", "--server", server.url)
    assert [one["viewer"] for one in json.loads(document)["viewers"]] == ["p1", "p2"]
    assert "ann, bo: looks at it now" in printed("inbox", "--server", server.url)


async def look(folder: Path, run_id: str) -> None:
    """As two pages do, but until the commands have ended on a machine however busy."""
    store = await open_store("", folder)
    for viewer, name in (("p1", "ann"), ("p2", "bo")):
        since, until = "2026-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
        await store.viewers.announce(Viewer(run_id, viewer, name, since, until))
    await store.aclose()


def printed(*command: str) -> str:
    return subprocess.run(
        [BIN / "crew", *command],
        env=clean_environment() | {"CREW_TOKEN": "b" * 32},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
