"""Clocks that jump under a server, or are days off; of several machines the database's decides."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.clocks import LIBRARY, needs_faketime, skewed
from tests.support.crews import write_crew
from tests.support.fleet import Fleet, begin, events, status
from tests.support.postgres import needs_postgres
from tests.support.processes import client, serving, sse, until

pytestmark = needs_faketime


def test_a_clock_that_jumps(tmp_path: Path):
    """Deadlines, durations, streams and the order of events do not care; the process lives, and ends in time."""
    jumps = tmp_path / "jumps"
    days = ("+1d", "-1d", "+400d", "+0")
    rules = [
        {
            "turn": turn,
            "say": "",
            "calls": [{"tool": "jump", "arguments": {"to": to}}],
            "delay_seconds": 0.5,
        }
        for turn, to in enumerate(days, 1)
    ]
    tools = {
        "jump": {
            "kind": "python",
            "function": "clocks.py:jump",
        }
    }
    folder = write_crew(
        tmp_path / "crew", {"a": {"tools": ["jump"]}}, [*rules, {"say": "there"}], tools
    )
    code = f"""
import pathlib

def jump(to: str) -> None:
    '''Set the clock.'''
    pathlib.Path({str(jumps)!r}).write_text(to)
"""
    (folder / "clocks.py").write_text(code)
    jumps.write_text("+0")
    faked = {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(jumps),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
    }
    with serving(folder, **faked) as server, client(server) as http:
        began = time.monotonic()
        events = sse(http.post("/api/crew/stream", json={"query": "x"}).text)
        taken = time.monotonic() - began
        assert [event["metadata"]["seq"] for event in events] == list(range(1, len(events) + 1))
        assert len({event["timestamp"][:10] for event in events}) == 4
        assert events[-1]["metadata"]["reason"] == "no_next_agent"
        assert 2 <= events[-1]["metadata"]["duration_seconds"] <= taken
        jumps.write_text("-400d")
        assert http.post("/api/crew/run", json={"query": "y"}).json()["status"] == "completed"
        assert len(http.get("/api/crew/runs").json()["runs"]) == 2
        assert server.stop() == 0


RULES = [{"agent": "a", "hears": "go on", "say": "on [B]"}, {"say": "what now?"}]
WAITS = {"wait_for_signal": True, "on_wait_timeout": "e"}


@needs_postgres
@pytest.mark.parametrize("skew", ["+3d", "-3d"])
def test_a_pause_lasts_as_long_as_it_says(fleet: Fleet, skew: str):
    """An hour is an hour, and nothing is purged, though the machines are days off."""
    write_crew(
        fleet.folder,
        {"a": {}, "b": {}, "e": {"is_terminal": True}},
        [{"agent": "e", "say": "nobody came"}, *RULES],
        routing={
            "signals": {"a": [{"signal": "[B]", "target": "b"}]},
            "agent_behaviors": {
                "a": {**WAITS, "wait_timeout_seconds": 3600},
                "b": {**WAITS, "wait_timeout_seconds": 1},
            },
        },
    )
    http = fleet.replica(**skewed(skew))
    fleet.worker(**skewed(skew))
    long = begin(http)
    until(lambda: status(http, long) == "paused")
    row = http.get(f"/api/crew/runs/{long}").json()
    lasts = datetime.fromisoformat(row["paused_until"]) - datetime.now(UTC)
    assert timedelta(minutes=58) < lasts < timedelta(minutes=61)
    short = http.post("/api/crew/run", json={"query": "x"}).json()["run_id"]
    http.post(f"/api/crew/runs/{short}/resume", json={"query": "go on"})
    # rounds of maintenance, which also purge, have been made then
    until(lambda: status(http, short) == "completed")
    assert status(http, long) == "paused"
    assert [event["type"] for event in events(http, short)][-1] == "done"
    assert http.get(f"/api/crew/runs/{short}").json()["answer"] == "nobody came"
