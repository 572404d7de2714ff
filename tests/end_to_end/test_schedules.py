"""Servers and workers ask the crew at set times: over kill -9, and once however many there are."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from crew.database import open_store
from crew.journal.records.schedules import ScheduleState, key_of
from tests.server.notices.receivers import receiver
from tests.support import forked
from tests.support.clocks import needs_faketime, skewed
from tests.support.crews import write_crew
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import client, serving, start_server, until
from tools.clock import rfc3339

# in about three hours
FIRST = (datetime.now(UTC) + timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)
VIETNAM = timedelta(hours=7)
CRON = f"0 {(FIRST + VIETNAM).hour} * * *"
NIGHTLY = {"cron": CRON, "time_zone": "Asia/Ho_Chi_Minh", "query": "all well?"}


def write(folder: Path, **crew: Any) -> Path:
    return write_crew(
        folder / "crew", {"a": {"is_terminal": True}}, schedules={"nightly": NIGHTLY}, **crew
    )


def rows(http: Any) -> list[dict[str, Any]]:
    return [row for row in http.get("/api/crew/runs").json()["runs"] if row["status"] != "running"]


def schedules(folder: Path, *options: str, **environment: str) -> str:
    done = forked.crew("schedules", folder, *options, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_faketime
def test_what_is_due_while_nobody_is_there(tmp_path: Path):
    """Is told, but for what was due a few seconds before; that is started."""
    offset = FIRST + timedelta(days=1, seconds=5) - datetime.now(UTC)
    later = skewed(f"+{offset.total_seconds():.0f}s")
    with receiver() as programs:
        hook = {"kind": "webhook", "url": f"http://127.0.0.1:{programs.port}/in"}
        folder = write(tmp_path, notify={"hook": hook})
        server = start_server(folder)
        until(lambda: asyncio.run(states(None, folder)) != {})
        server.kill()
        with serving(folder, **later) as server, client(server) as http:
            until(lambda: [one["status"] for one in rows(http)] == ["completed"])
            (row,) = rows(http)
            assert (row["source"], row["source_name"]) == ("schedule", "nightly")
            assert row["query"] == "all well?"
            metrics = http.get("/metrics").text
            assert 'crew_schedules_total{outcome="started",schedule="nightly"} 1.0' in metrics
            assert 'crew_schedules_total{outcome="missed",schedule="nightly"} 1.0' in metrics
            shown = http.get("/api/crew").json()["schedules"]["nightly"]
            assert shown == NIGHTLY | {"overlap": "skip", "agent": None, "priority": None}
            until(lambda: len(programs.told) == 1)
        with serving(folder, **later) as server, client(server) as http:
            assert [one["run_id"] for one in rows(http)] == [row["run_id"]]
    told = json.loads(programs.told[0].body)
    assert (told["event"], told["run_id"], told["status"]) == ("missed", "", None)
    assert told["at"] == rfc3339(FIRST)
    due = f"next: {FIRST + timedelta(days=2) + VIETNAM:%a %Y-%m-%d %H}:00, "
    text = schedules(folder, **later)
    assert text.startswith(f"nightly  {CRON}  Asia/Ho_Chi_Minh\n  asks: all well?\n")
    assert due in text
    assert f"last run: {row['run_id']} completed" in text
    document = json.loads(schedules(folder, "--json"))
    assert document["last"] == {"run_id": row["run_id"], "status": "completed"}


async def states(url: str | None, folder: Path) -> Any:
    store = await open_store(url, folder)
    try:
        return await store.schedules.states()
    finally:
        await store.aclose()


@needs_postgres
def test_of_several_processes_one_starts_it(tmp_path: Path, postgres: Postgres):
    """The run that a killed process had yet to start."""
    url = postgres.database()
    folder = write(tmp_path)

    async def make_due() -> None:
        store = await open_store(url, folder)
        definition = f"{NIGHTLY['cron']} {NIGHTLY['time_zone']}"
        state = ScheduleState(definition, rfc3339(store.now()), pending=True)
        assert await store.schedules.move(key_of("test-crew", "nightly"), state, None)
        await store.aclose()

    asyncio.run(make_due())
    settings = {"CREW_DATABASE_URL": url}
    with (
        serving(folder, **settings) as server,
        serving(folder, **settings) as other,
        serving(folder, command="worker", **settings) as worker,
        client(server) as http,
    ):
        until(lambda: len(rows(http)) == 1)
        until(
            lambda: not any(state.pending for state, _ in asyncio.run(states(url, folder)).values())
        )
        started = 0.0
        for process in (server, other, worker):
            with client(process) as one:
                for line in one.get("/metrics").text.splitlines():
                    if line.startswith('crew_schedules_total{outcome="started"'):
                        started += float(line.rpartition(" ")[2])
        assert started == 1
        assert len(http.get("/api/crew/runs").json()["runs"]) == 1
