"""Runs that no process can play: they are told, and wait, and fail in the end."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, status
from tests.support.postgres import needs_postgres
from tests.support.processes import client, serving, until


@pytest.mark.parametrize("comes_back", [False, True])
def test_what_nobody_can_play(tmp_path: Path, *, comes_back: bool):
    """A run is told, and goes on when its files come back; else it fails."""
    tools = {"look": {"kind": "python", "function": "look.py:look"}}
    rules = [{"say": "late", "delay_seconds": 2}]
    agents: dict[str, dict[str, Any]] = {"a": {"tools": ["look"]}}
    folder = write_crew(tmp_path / "crew", agents, rules, tools)
    (folder / "look.py").write_text("def look() -> str: ...\n")
    with serving(folder) as server, client(server) as http:
        run_id = begin(http)
        server.kill()
    (folder / "look.py").unlink()
    (folder / "tools.yaml").unlink()
    patience = 100 if comes_back else 1
    write_crew(folder, {"a": {}}, [], settings={"unplayable_after_seconds": patience})
    with serving(folder) as server, client(server) as http:
        events = f"/api/crew/runs/{run_id}/events"
        # its second event may not have been stored
        with http.stream("GET", events, params={"after": 1}) as stream:
            lines = stream.iter_lines()
            told = next(line for line in lines if "unplayable" in line)
            if comes_back:
                (folder / "look.py").write_text("def look() -> str: ...\n")
            *_, end = (line for line in lines if line.startswith("data: "))
        assert "look.py" in told
        row = http.get(f"/api/crew/runs/{run_id}").json()
        if comes_back:
            assert (row["status"], row["answer"]) == ("completed", "late")
            assert http.get("/ready").json()["runs_unplayable"] == 0
        else:
            assert (row["status"], row["reason"]) == ("failed", "unplayable")
            assert "nobody could play this run for 1 s" in end


@needs_postgres
def test_a_run_that_cannot_go_on_anywhere_fails(fleet: Fleet):
    """After a while, with a reason of its own."""
    tools = {"shout": {"kind": "python", "function": "own.py:shout"}}
    rules = [{"say": "x"}]
    write_crew(fleet.folder, {"a": {"tools": ["shout"]}}, rules, tools)
    (fleet.folder / "own.py").write_text('def shout() -> str:\n    """Shout."""\n    return ""\n')
    http = fleet.replica()
    lacking = fleet.folder.parent / "lacking"
    write_crew(lacking, {"a": {}}, rules, settings={"unplayable_after_seconds": 0.1})
    with serving(lacking, command="worker", CREW_DATABASE_URL=fleet.database):
        run_id = begin(http)
        until(lambda: status(http, run_id) == "failed")
    *_, last = events(http, run_id)
    assert (last["type"], last["metadata"]["reason"]) == ("error", "unplayable")
    assert "own.py" in last["content"]
