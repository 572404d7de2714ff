"""What people do with schedules, hooks and channels of a server, and what is shown of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.notices.receivers import receiver
from tests.support.crews import write_crew
from tests.support.forked import crew
from tests.support.processes import client, serving, until

BOSS = "boss-0123456789abcdef"
READER = "read-0123456789abcdef"
HOOK = "hook-0123456789abcdef"
TOKENS = f"boss+admin:{BOSS},reader+read+run:{READER},alerts+hook:{HOOK}"
YEARLY = {"cron": "0 6 1 1 *", "query": "all well?"}
EACH_MINUTE = {"cron": "* * * * *", "query": "again?"}


@pytest.fixture
def telling() -> Iterator[Any]:
    with receiver() as heard:
        yield heard


@pytest.fixture
def folder(tmp_path: Path, telling: Any) -> Path:
    channels = {
        "chat": {"kind": "webhook", "url": f"http://127.0.0.1:{telling.port}/x"},
        "dead": {"kind": "webhook", "url": "http://127.0.0.1:9/x"},
    }
    return write_crew(
        tmp_path / "crew",
        {"a": {"is_terminal": True}},
        [{"say": "{{heard}}"}],
        schedules={"yearly": YEARLY, "often": EACH_MINUTE},
        hooks={"tickets": {"kind": "json", "query": "{/title}"}},
        notify=channels,
    )


def asking(server: Any, token: str) -> httpx2.Client:
    made: httpx2.Client = client(server, headers={"Authorization": f"Bearer {token}"})
    return made


def named(http: httpx2.Client, kind: str, name: str) -> dict[str, Any]:
    """One of them, as the API has it."""
    found = http.get(f"/api/crew/{kind}").json()[kind]
    (one,) = (one for one in found if one["name"] == name)
    assert isinstance(one, dict)
    return one


def has_status(http: httpx2.Client, run_id: str, status: str) -> bool:
    """Whether a run has come so far."""
    return bool(http.get(f"/api/crew/runs/{run_id}").json()["status"] == status)


def kept(http: httpx2.Client, name: str) -> bool:
    """Whether the schedule has begun."""
    body = {"paused": False}
    return http.post(f"/api/crew/schedules/{name}/pause", json=body).status_code == 200


def test_a_schedule_is_run_now(folder: Path):
    """Its run is one of the schedule's; not beside one that has not ended; only by an administrator."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with asking(server, READER) as reader:
            assert reader.post("/api/crew/schedules/yearly/run").status_code == 403
        with asking(server, BOSS) as http:
            until(lambda: kept(http, "yearly"))
            started = http.post("/api/crew/schedules/yearly/run")
            assert started.status_code == 202
            run_id = started.json()["run_id"]
            until(lambda: has_status(http, run_id, "completed"))
            shown = named(http, "schedules", "yearly")
            assert [one["run_id"] for one in shown["recent"]] == [run_id]
            (ended,) = shown["ended"]
            assert (ended["outcome"], ended["run_id"]) == ("by_hand", run_id)
            assert shown["last"] == {"run_id": run_id, "status": "completed"}
            row = http.get(f"/api/crew/runs/{run_id}").json()
            assert (row["source"], row["source_name"]) == ("schedule", "yearly")
            assert http.post("/api/crew/schedules/nix/run").status_code == 404
            (entry,) = http.get("/api/crew/audit?action=start").json()["entries"]
            assert (entry["name"], entry["run_id"]) == ("boss", run_id)
            assert entry["detail"] == "schedule yearly, by hand"


def test_a_schedule_that_waits_is_not_run_beside(folder: Path):
    write_crew(
        folder,
        {"a": {}},
        [{"say": "which?"}],
        schedules={"yearly": YEARLY},
        routing={"agent_behaviors": {"a": {"wait_for_signal": True}}},
    )
    with serving(folder) as server, client(server) as http:
        until(lambda: kept(http, "yearly"))
        run_id = http.post("/api/crew/schedules/yearly/run").json()["run_id"]
        until(lambda: has_status(http, run_id, "paused"))
        busy = http.post("/api/crew/schedules/yearly/run")
        assert (busy.status_code, busy.json()["run_id"]) == (409, run_id)


def test_a_schedule_is_paused(folder: Path):
    """By whom and since when, over a restart; nothing is started at its times; then it goes on."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server, asking(server, BOSS) as http:
        until(lambda: kept(http, "often"))
        shown = http.post("/api/crew/schedules/often/pause", json={"paused": True}).json()
        assert shown["paused"]["by"] == "boss"
        since = shown["paused"]["at"]
        # again is no news
        again = http.post("/api/crew/schedules/often/pause", json={"paused": True}).json()
        assert again["paused"] == {"by": "boss", "at": since}
        wrong = http.post("/api/crew/schedules/often/pause", json={"paused": "yes"})
        assert wrong.status_code == 400
        missing = http.post("/api/crew/schedules/nix/pause", json={"paused": True})
        assert missing.status_code == 404
    with serving(folder, CREW_API_TOKENS=TOKENS) as server, asking(server, BOSS) as http:
        assert named(http, "schedules", "often")["paused"] == {"by": "boss", "at": since}
        assert f"paused by boss since {since}" in crew("schedules", folder).stdout
        by_hand = http.post("/api/crew/schedules/often/run")
        assert by_hand.status_code == 202
        shown = http.post("/api/crew/schedules/often/pause", json={"paused": False}).json()
        assert shown["paused"] is None
        details = [
            one["detail"] for one in http.get("/api/crew/audit?action=schedule").json()["entries"]
        ]
        assert details[0] == "schedule often goes on"
        assert "schedule often paused" in details


def test_by_commands(folder: Path):
    """The same at a server; in a folder a schedule is paused, too."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server, asking(server, BOSS) as http:
        until(lambda: kept(http, "yearly"))
        at = ("--server", server.url)

        def asked(*words: str) -> Any:
            return crew("schedules", *words, *at, CREW_TOKEN=BOSS)

        paused = asked("--pause", "often")
        assert "paused by boss since" in paused.stdout
        run_id = asked("--run", "yearly").stdout.strip()
        assert named(http, "schedules", "yearly")["last"]["run_id"] == run_id
        assert "there is no schedule 'nix'" in asked("--run", "nix").stderr
        assert json.loads(asked("--resume", "often", "--json").stdout)["paused"] is None
        assert asked("--run", "yearly", "--pause", "often").returncode == 2
        http.post("/api/crew/hooks/tickets", json={"text": "x"})
        until(lambda: len(named(http, "hooks", "tickets")["refused"]) == 1)
        hooks = crew("hooks", *at, CREW_TOKEN=BOSS).stdout
        assert "refused: " in hooks
        assert "its pointers name nothing" in hooks
    here = crew("schedules", folder, "--pause", "often")
    assert "often" in here.stdout
    assert "paused" in here.stdout
    assert "it is for a server" in " ".join(
        crew("schedules", folder, "--run", "often").stderr.split()
    )
    assert "paused" not in crew("schedules", folder, "--resume", "often").stdout


def test_what_a_hook_refuses_is_shown(folder: Path):
    """With why; a test by hand is a run each time, and is allowed to administrators alone."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with asking(server, HOOK) as sender:
            assert sender.post("/api/crew/hooks/tickets", json={"text": "x"}).status_code == 400
            assert sender.post("/api/crew/hooks/tickets", json=[1]).status_code == 400
            assert sender.post("/api/crew/hooks/tickets/test", json={}).status_code == 403
        with asking(server, "x" * 20) as nobody:
            assert nobody.post("/api/crew/hooks/tickets", json={}).status_code == 401
        with asking(server, READER) as reader:
            assert reader.post("/api/crew/hooks/tickets", json={}).status_code == 403
        with asking(server, BOSS) as http:
            until(lambda: len(named(http, "hooks", "tickets")["refused"]) == 4)
            scope, token, newest, oldest = named(http, "hooks", "tickets")["refused"]
            assert scope["why"] == "the token needs hook"
            assert token["why"] == "the token is none of the server"
            assert "its pointers name nothing" in oldest["why"]
            assert newest["at"] >= oldest["at"]
            address = "/api/crew/hooks/tickets/test"
            runs = [http.post(address, json={"title": "broken"}).json()["run_id"] for _ in range(2)]
            assert runs[0] != runs[1]
            shown = [one["run_id"] for one in named(http, "hooks", "tickets")["recent"]]
            assert set(shown) == set(runs)
            assert http.get(f"/api/crew/runs/{runs[0]}").json()["query"] == "broken"
            assert http.post(address, json={"text": "x"}).status_code == 400
            assert http.post("/api/crew/hooks/nix/test", json={}).status_code == 404


def test_channels_are_tried(folder: Path, telling: Any):
    """What was sent, what could not be and why, without the address."""
    with serving(folder, CREW_API_TOKENS=TOKENS) as server:
        with asking(server, READER) as reader:
            assert reader.post("/api/crew/channels/chat/test").status_code == 403
        with asking(server, BOSS) as http:
            assert named(http, "channels", "chat")["sent_at"] is None
            assert http.post("/api/crew/channels/chat/test").json() == {"sent": True, "error": None}
            failed = http.post("/api/crew/channels/dead/test").json()
            assert failed["sent"] is False
            assert "cannot be reached" in failed["error"]
            shown, dead = (named(http, "channels", name) for name in ("chat", "dead"))
            assert (shown["sent"], shown["waiting"], shown["error"]) == (1, 0, None)
            assert shown["sent_at"] is not None
            assert (dead["sent"], dead["given_up"], dead["error"]) == (0, 0, failed["error"])
            assert "127.0.0.1:9" not in http.get("/api/crew/channels").text
            assert http.post("/api/crew/channels/nix/test").status_code == 404
    assert len(telling.told) == 1
