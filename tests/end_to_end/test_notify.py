"""People and programs are told of runs: after a kill -9 too, and once for each event."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.crew.costs.test_budgets import PRICES, SAY, WRITER
from tests.server.notices.receivers import Receiver, receiver
from tests.support import forked
from tests.support.crews import write_crew
from tests.support.postgres import Postgres, needs_postgres
from tests.support.processes import client, serving, start_server, until
from tests.support.served_crew import until_status

ALL = ["pause", "failed", "done", "deadline"]
RULES = [
    {"hears": "ask", "say": "which one?"},
    {"hears": "break", "fail": "refused"},
    {"say": "the first one [END]"},
]
ROUTING = {
    "signals": {"a": [{"signal": "[END]", "target": ""}]},
    "agent_behaviors": {"a": {"wait_for_signal": True}},
}


def write(folder: Path, port: int, *, seconds: float | None = None, **more: Any) -> Path:
    """A crew of one who asks, with a channel at this port."""
    behavior: dict[str, Any] = {"wait_for_signal": True}
    if seconds is not None:
        behavior |= {"wait_timeout_seconds": seconds}
    routing = {**ROUTING, "agent_behaviors": {"a": behavior}}
    hook = {"kind": "webhook", "url": f"http://127.0.0.1:{port}/in", "secret": "${KEY}", "on": ALL}
    notify = {"hook": hook, **more}
    return write_crew(folder / "crew", {"a": {}}, RULES, routing=routing, notify=notify)


def told(programs: Receiver, path: str = "/in") -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in programs.at(path)]


def test_a_run_is_told_of(tmp_path: Path):
    """Its pause, that nobody has answered in time, its end; not to whom another event matters."""
    with receiver() as programs:
        url = f"http://127.0.0.1:{programs.port}/slack"
        folder = write(tmp_path, programs.port, chat={"kind": "slack", "url": url})
        settings = {"KEY": "k" * 16, "CREW_PUBLIC_URL": "https://crew.example.com"}
        with serving(folder, **settings) as server, client(server) as http:
            asked = http.post("/api/crew/runs", json={"query": "ask"}).json()["run_id"]
            until(lambda: len(programs.told) == 2)
            (pause,) = told(programs)
            assert (pause["event"], pause["run_id"], pause["text"]) == (
                "pause",
                asked,
                "which one?",
            )
            assert pause["url"] == f"https://crew.example.com/runs/{asked}"
            headers = programs.at("/in")[0].headers
            assert headers["idempotency-key"] == headers["webhook-id"] == pause["id"]
            assert http.get(pause["url"].partition(".com")[2]).status_code == 200
            http.post(f"/api/crew/runs/{asked}/resume", json={"query": "any"})
            until(lambda: len(programs.told) == 3)
            assert (told(programs)[1]["event"], told(programs)[1]["text"]) == (
                "done",
                "the first one [END]",
            )
            http.post("/api/crew/runs", json={"query": "break"})
            until(lambda: len(programs.told) == 5)
            assert told(programs)[2]["event"] == "failed"
            assert [one["text"].split("\n")[0] for one in told(programs, "/slack")] == [
                "test-crew waits for an answer",
                "test-crew has failed",
            ]
            metrics = http.get("/metrics").text
            assert 'crew_notices_total{channel="hook",outcome="sent"} 3.0' in metrics


@pytest.mark.parametrize(
    ("host", "tokens"), [("127.0.0.1", ""), ("0.0.0.0", "boss-0123456789abcdef")]
)
def test_a_link_without_an_address_of_its_own(tmp_path: Path, host: str, tokens: str):
    """On loopback the server's own; on another one the start says that there is none."""
    with receiver() as programs:
        folder = write(tmp_path, programs.port)
        settings = {"KEY": "k" * 16, "CREW_API_TOKENS": tokens} if tokens else {"KEY": "k" * 16}
        with serving(folder, "--host", host, **settings) as server:
            local = server.url.replace("0.0.0.0", "127.0.0.1")
            headers = {"Authorization": f"Bearer {tokens}"} if tokens else {}
            asked = httpx2.post(f"{local}/api/crew/runs", json={"query": "ask"}, headers=headers)
            run_id = asked.json()["run_id"]
            until(lambda: len(programs.told) == 1)
            (pause,) = told(programs)
            assert pause["path"] == f"/runs/{run_id}"
            if tokens:
                assert pause["url"] is None
                assert "CREW_PUBLIC_URL is not set" in server.log.read_text()
            else:
                assert pause["url"] == f"{server.url}/runs/{run_id}"


def test_what_is_asked_about_calls_is_told(tmp_path: Path):
    """Each call with its arguments, and that nobody has decided in time."""
    with receiver() as programs:
        hook = {"kind": "webhook", "url": f"http://127.0.0.1:{programs.port}/in", "on": ALL}
        pay = {"kind": "python", "function": "acts.py:pay"}
        asks = {"requires_approval": {"deadline_seconds": 1, "on_deadline": "refuse"}}
        rules = [
            {"after": "pay", "say": "well then"},
            {"say": "I pay", "calls": [{"tool": "pay", "arguments": {"to": "bob"}}]},
        ]
        folder = write_crew(
            tmp_path, {"a": {"tools": ["pay"]}}, rules, {"pay": pay | asks}, notify={"hook": hook}
        )
        (folder / "acts.py").write_text("def pay(to: str) -> str:\n    return to\n")
        with serving(folder) as server, client(server) as http:
            http.post("/api/crew/runs", json={"query": "go"})
            until(lambda: len(programs.told) == 3)
            # two messages may be on their way at once
            texts = {one["event"]: one["text"] for one in told(programs)}
            assert texts["pause"] == 'I pay\n\napprove?\npay {"to":"bob"}'
            assert texts["deadline"].startswith("nobody answered until 20")
            assert texts["done"] == "well then"


def test_a_kill_loses_no_notice(tmp_path: Path):
    """What could not be sent before is sent by the next process, under the same key."""
    with receiver() as programs:
        port = programs.port
    folder = write(tmp_path, port)
    server = start_server(folder, KEY="k" * 16)
    with client(server) as http:
        asked = http.post("/api/crew/runs", json={"query": "ask"}).json()["run_id"]
    until_status(server, asked, "paused")
    server.kill()
    with receiver(port, 503) as programs, serving(folder, KEY="k" * 16):
        until(lambda: len(programs.told) == 2)
        assert {one["id"] for one in told(programs)} == {told(programs)[0]["id"]}
        assert told(programs)[0]["run_id"] == asked


def test_nobody_has_answered_in_time(tmp_path: Path):
    """Which is told besides the pause."""
    with receiver() as programs:
        folder = write(tmp_path, programs.port, seconds=1)
        with serving(folder, KEY="k" * 16) as server, client(server) as http:
            http.post("/api/crew/runs", json={"query": "ask"})
            until(lambda: len(programs.told) >= 3)
    assert {one["event"] for one in told(programs)} == {"pause", "deadline", "done"}


@needs_postgres
def test_of_several_processes_one_tells(tmp_path: Path, postgres: Postgres):
    """Whichever of replicas and workers is the first."""
    settings = {"KEY": "k" * 16, "CREW_DATABASE_URL": postgres.database()}
    with receiver() as programs:
        folder = write(tmp_path, programs.port)
        with (
            serving(folder, **settings) as server,
            serving(folder, command="worker", **settings),
            client(server) as http,
        ):
            runs = [
                http.post("/api/crew/runs", json={"query": f"q{n}"}).json()["run_id"]
                for n in range(12)
            ]
            until(lambda: len(programs.told) >= len(runs))
            for run_id in runs:
                until_status(server, run_id, "completed")
    assert sorted(one["run_id"] for one in told(programs)) == sorted(runs)


def notify(folder: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return forked.crew("notify", folder, *options, KEY="k" * 16, **environment)


def test_channels_are_tested_by_a_command(tmp_path: Path):
    """Without a word of their addresses but the host."""
    with receiver(0, 200, 404) as programs:
        folder = write(tmp_path, programs.port)
        done = notify(folder, CREW_PUBLIC_URL="https://crew.example.com/")
        assert (done.returncode, done.stdout) == (0, f"hook (127.0.0.1:{programs.port}): told\n")
        assert told(programs)[0]["event"] == "test"
        done = notify(folder, "--channel", "hook")
        assert done.returncode == 1
        assert done.stdout.splitlines() == [
            "without CREW_PUBLIC_URL, messages have no link to the run's page",
            f"hook (127.0.0.1:{programs.port}): not told: it answers with 404",
        ]
    assert notify(folder, "--channel", "chat").returncode == 2
    none = write_crew(tmp_path / "none", {"a": {}})
    assert "nobody is told" in notify(none).stderr


@pytest.mark.parametrize("url", ["crew.example.com", "https://x/?a=b"])
def test_a_public_address_is_checked(tmp_path: Path, url: str):
    """Before anybody gets a link that leads nowhere."""
    done = notify(write(tmp_path, 9), CREW_PUBLIC_URL=url)
    assert (done.returncode, "expected an address" in done.stderr) == (2, True)


def test_budgets_are_told_of_once(tmp_path: Path):
    """Parts of a pot, and that it is full: to the channels that a budget names, or that want it."""
    models = {"large": {"provider": "scripted", "prices": PRICES}}
    night = {"scope": "crew", "per": "total", "tokens": 60, "warn": ["40%", "80%"]}
    with receiver() as programs:
        address = f"http://127.0.0.1:{programs.port}"
        notify = {
            "phone": {"kind": "webhook", "url": f"{address}/phone", "on": ["failed"]},
            "all": {"kind": "webhook", "url": f"{address}/all", "on": ["budget"]},
            "none": {"kind": "webhook", "url": f"{address}/none", "on": ["pause"]},
        }
        folder = write_crew(
            tmp_path,
            {"writer": WRITER},
            SAY,
            models=models,
            notify=notify,
            budgets={"night": {**night, "notify": ["phone"]}},
        )
        with serving(folder) as server, client(server) as http:
            for _ in range(3):
                http.post("/api/crew/run", json={"query": "x"})
            http.post("/api/crew/run", json={"query": "y"})
            until(lambda: len(budgets_of(programs, "/phone")) == 2)
            until(lambda: len(budgets_of(programs, "/all")) == 2)
        # they are sent side by side
        part, full = sorted(budgets_of(programs, "/all"), key=lambda text: "43 %" not in text)
        assert "budget night: 43 % of its limit is used (crew.yaml:" in part
        assert "26 tokens of 60 tokens used" in full
        assert {*budgets_of(programs, "/phone")} == {part, full}
        assert told(programs, "/none") == []
        # by another process: nothing is said again
        with serving(folder) as server, client(server) as http:
            answer = http.post("/api/crew/run", json={"query": "x"})
            assert answer.status_code == 402
            assert "26 tokens of 60 tokens used" in answer.json()["detail"]
            assert http.get("/metrics").status_code == 200
        assert len(told(programs, "/all")) == 2


def budgets_of(programs: Receiver, path: str) -> list[str]:
    return [one["text"] for one in told(programs, path) if one["event"] == "budget"]
