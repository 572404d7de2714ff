"""Servers and workers as processes that share one PostgreSQL database."""

import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import (
    ServerProcess,
    client,
    serving,
    sse,
)


@dataclass
class Fleet:
    """Processes that share a database."""

    folder: Path
    database: str
    stack: ExitStack
    processes: list[ServerProcess] = field(default_factory=list)

    def start(self, command: str, *options: str, **environment: str) -> ServerProcess:
        made: ServerProcess = self.stack.enter_context(
            serving(
                self.folder,
                *options,
                command=command,
                CREW_DATABASE_URL=self.database,
                **environment,
            )
        )
        self.processes.append(made)
        return made

    def replica(self, **environment: str) -> httpx2.Client:
        """A client of a new `crew serve`."""
        return self.stack.enter_context(client(self.start("serve", **environment)))

    def worker(self, *options: str, **environment: str) -> ServerProcess:
        return self.start("worker", *options, **environment)


def begin(http: httpx2.Client, query: str = "x") -> str:
    """Start a run and leave."""
    with http.stream("POST", "/api/crew/stream", json={"query": query}) as stream:
        begun = next(line for line in stream.iter_lines() if line.startswith("id: "))
    return begun.removeprefix("id: ").partition(":")[0]


def status(http: httpx2.Client, run_id: str) -> Any:
    return http.get(f"/api/crew/runs/{run_id}").json()["status"]


def events(http: httpx2.Client, run_id: str) -> list[dict[str, Any]]:
    return sse(http.get(f"/api/crew/runs/{run_id}/events").text)


SLOW = [{"turn": 3, "say": "there"}, {"say": "", "calls": ["GetSystemInfo"], "delay_seconds": 1}]


def slow_crew(folder: Path) -> None:
    write_crew(
        folder, {"a": {"tools": ["GetSystemInfo"]}}, SLOW, settings={"disconnect_grace_seconds": -1}
    )


def pausing_crew(folder: Path) -> None:
    routing = {
        "agent_behaviors": {"a": {"wait_for_signal": True}},
        "signals": {"a": [{"signal": "[B]", "target": "b"}]},
    }
    rules = [
        {"agent": "a", "hears": "go on", "say": "on [B]"},
        {"agent": "a", "say": "what now?"},
        {"agent": "b", "say": "done"},
    ]
    write_crew(folder, {"a": {}, "b": {"is_terminal": True}}, rules, routing=routing)


def records(fleet: Fleet, run_id: str) -> list[Any]:
    with psycopg.connect(fleet.database.partition("?")[0]) as connection:
        return connection.execute(
            "SELECT seq FROM crew_events WHERE run_id = %s", (run_id,)
        ).fetchall()


def command(fleet: Fleet, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return crew(*arguments, CREW_DATABASE_URL=fleet.database)
