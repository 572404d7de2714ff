"""Alerts that start runs: once for each matter, by a token that may do nothing else."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.server.http.test_hooks import alert, sent
from tests.server.notices.receivers import receiver
from tests.support.crews import ROOT, write_crew
from tests.support.processes import ServerProcess, client, serving, until
from tests.support.served_crew import until_status

HOOK = "hook-0123456789abcdef"
BOSS = "boss-0123456789abcdef"
TOKENS = f"alerts@5+hook:{HOOK},{BOSS}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("crew")
    hooks = {
        "alerts": {"kind": "alertmanager", "agent": "b"},
        "tickets": {
            "kind": "json",
            "query": "{/title}",
            "fingerprint": ["/id"],
            "again_after_seconds": 1,
        },
    }
    rules = [{"say": "{{heard}}"}]
    write_crew(folder, {"a": {}, "b": {"is_terminal": True}}, rules, hooks=hooks)
    with serving(folder, CREW_API_TOKENS=TOKENS) as started:
        yield started


def post(http: httpx2.Client, name: str, document: Any, token: str = HOOK) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return http.post(f"/api/crew/hooks/{name}", json=document, headers=headers)


def test_an_alert_starts_one_run(server: ServerProcess):
    """However often, and at once, it is sent; resolved ones start none."""
    with client(server) as http:
        document = sent(alert("slow"))
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: post(http, "alerts", document), range(8)))
        assert {answer.status_code for answer in answers} == {202}
        (run_id,) = {answer.json()["run_id"] for answer in answers}
        assert sum("idempotency-replayed" in answer.headers for answer in answers) == 7
        resolved = post(http, "alerts", sent(alert("slow", status="resolved")))
        assert (resolved.status_code, "ignored" in resolved.json()) == (200, True)
        admin = {"Authorization": f"Bearer {BOSS}"}
        run = http.get(f"/api/crew/runs/{run_id}", headers=admin).json()
        assert run["query"].startswith("x: 1 firing\n- alertname=slow")
        assert run["owner"] == "alerts"
        events = http.get(f"/api/crew/runs/{run_id}/events", headers=admin).text
        assert '"entry_agent":"b"' in events


def test_the_same_matter_later_is_another_run(server: ServerProcess):
    """After `again_after_seconds`."""
    with client(server) as http:
        first = post(http, "tickets", {"id": 1, "title": "slow"}).json()["run_id"]
        found = {first}
        while len(found) == 1:
            found.add(post(http, "tickets", {"id": 1, "title": "still slow"}).json()["run_id"])
        other = post(http, "tickets", {"id": 2, "title": "slow"}).json()["run_id"]
        assert other not in found


def test_its_token_does_nothing_else(server: ServerProcess):
    """And others do not do its work; what is wrong is told."""
    with client(server) as http:
        headers = {"Authorization": f"Bearer {HOOK}"}
        assert http.get("/api/crew/runs", headers=headers).status_code == 403
        refused = http.post("/api/crew/runs", json={"query": "x"}, headers=headers)
        assert refused.status_code == 403
        assert http.post("/api/crew/hooks/alerts", json={}).status_code == 401
        assert post(http, "nothing", {}).status_code == 404
        wrong = post(http, "alerts", {"alerts": "no"})
        assert (wrong.status_code, "alerts" in wrong.json()["detail"]) == (400, True)
        assert post(http, "tickets", {"title": "x"}).status_code == 400
        assert post(http, "tickets", ["x"]).status_code == 400


def test_what_cannot_be_taken_now_is_sent_again(tmp_path: Path):
    """Alertmanager tries again after a 503, not after a 429: too many requests, too many that wait."""
    hooks = {"any": {"kind": "json", "query": "{/n}"}}
    settings = {"max_concurrent_runs": 1, "max_waiting_runs_per_owner": 1}
    rules = [{"say": "well", "delay_seconds": 60}]
    write_crew(tmp_path, {"a": {}}, rules, hooks=hooks, settings=settings)
    with serving(tmp_path) as server, client(server) as http:
        answers = [http.post("/api/crew/hooks/any", json={"n": n}) for n in range(4)]
    assert [answer.status_code for answer in answers] == [202, 202, 503, 503]
    assert "retry-after" in answers[-1].headers
    with serving(tmp_path, CREW_REQUESTS_PER_MINUTE="10") as server, client(server) as http:
        answers = [http.post("/api/crew/hooks/none", json={}) for _ in range(4)]
    assert {answer.status_code for answer in answers} == {404, 503}
    assert all("retry-after" in one.headers for one in answers if one.status_code == 503)


def test_without_tokens_it_is_open_on_this_machine(tmp_path: Path):
    """As all else is; the run survives its server."""
    hooks = {"any": {"kind": "json", "query": "{/text}"}}
    write_crew(tmp_path, {"a": {}}, [{"say": "well", "delay_seconds": 1}], hooks=hooks)
    with serving(tmp_path) as server, client(server) as http:
        run_id = http.post("/api/crew/hooks/any", json={"text": "go"}).json()["run_id"]
        server.kill()
    with serving(tmp_path) as server:
        assert until_status(server, run_id, "completed")["answer"] == "well"


# as Grafana's contact point of type webhook sends it
GRAFANA = {
    "receiver": "crew",
    "status": "firing",
    "orgId": 1,
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "High latency", "grafana_folder": "web"},
            "annotations": {"summary": "p99 is 4 s"},
            "startsAt": "2026-11-24T21:30:00+00:00",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://grafana.example.com/alerting/1/edit",
            "fingerprint": "c6eadffa33fcdf37",
            "silenceURL": "http://grafana.example.com/alerting/silence/new",
            "dashboardURL": "",
            "panelURL": "",
            "values": {"B": 4.1},
            "valueString": "[ var='B' value=4.1 ]",
        }
    ],
    "groupLabels": {"alertname": "High latency"},
    "commonLabels": {"alertname": "High latency", "grafana_folder": "web"},
    "commonAnnotations": {},
    "externalURL": "http://grafana.example.com/",
    "version": "1",
    "groupKey": "{}:{alertname='High latency'}",
    "truncatedAlerts": 0,
    "title": "[FIRING:1] High latency",
    "state": "alerting",
    "message": "**Firing**",
}


def test_an_alert_in_a_diagnosis_out(tmp_path: Path):
    """Grafana tells of a slow site; whoever is to know gets what the crew has found."""
    with receiver() as programs:
        channel = {"kind": "slack", "url": f"http://127.0.0.1:{programs.port}/chat", "on": ["done"]}
        rules = [{"hears": "p99 is 4 s", "say": "One upstream is away: restart web-1."}]
        folder = write_crew(
            tmp_path,
            {"a": {}},
            rules,
            hooks={"grafana": {"kind": "grafana"}},
            notify={"chat": channel},
        )
        with serving(folder) as server, client(server) as http:
            answer = http.post("/api/crew/hooks/grafana", json=GRAFANA)
            assert answer.status_code == 202, answer.text
            until(lambda: len(programs.told) == 1)
        (told,) = programs.at("/chat")
        assert "High latency" in told.body.decode()
        assert "One upstream is away: restart web-1." in told.body.decode()


def test_the_receiver_for_alertmanager():
    """Sends what the hook of that kind takes, to its address, with a token."""
    config = yaml.safe_load((ROOT / "configs" / "alertmanager.yml").read_text())
    (named,) = config["receivers"]
    assert config["route"]["receiver"] == named["name"]
    (webhook,) = named["webhook_configs"]
    assert webhook["url"].endswith("/api/crew/hooks/alerts")
    assert webhook["http_config"]["authorization"]["type"] == "Bearer"
    crew = yaml.safe_load((ROOT / "examples" / "on-call" / "crew.yaml").read_text())
    assert crew["hooks"]["alerts"]["kind"] == "alertmanager"
